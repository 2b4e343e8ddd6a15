/**
 * Factories for the data of the Akahu emulator: institutions, accounts and persons, with generated values for
 * all fields that are not given. It does not decide who exists.
 */
import type { Clock } from '#kernel/time.ts'
import { defer } from '../defer.ts'
import {
  type AkahuAccount,
  type AkahuInstitution,
  type AkahuPerson,
  bringUpToDate,
} from './people.ts'
import { makePersonalApp } from './personal-app.ts'
import { centsText, centsToken, digest, type GrowthOptions } from './rows.ts'

function institution(name: string, type: AkahuInstitution['connection_type']): AkahuInstitution {
  const _id = `conn_${digest(name)}`
  return { _id, name, logo: `https://cdn.akahu.nz/logos/connections/${_id}`, connection_type: type }
}

/** Every institution that this Akahu knows. */
export const institutions = {
  kiwibank: institution('Kiwibank', 'official'),
  asb: institution('ASB', 'official'),
  amex: institution('American Express', 'classic'),
  sharesies: institution('Sharesies', 'classic'),
  airpoints: institution('Airpoints', 'classic'),
  heartland: institution('Heartland Bank', 'classic'),
} as const

/** Takes no new links at present. */
export const closedInstitutions: ReadonlySet<string> = new Set([institutions.heartland._id])

export type AccountOptions = Pick<AkahuAccount, 'connection' | 'name' | 'type' | 'balance'> &
  Partial<AkahuAccount>

/** An account with defaults for fields not given: ACTIVE, with transactions, refreshed as it grows. */
export function account(key: string, options: AccountOptions): AkahuAccount {
  return {
    _id: `acc_${digest(key)}`,
    ...(options._credentials === undefined
      ? { _authorisation: `auth_${digest(`${key.split('.')[0]}.${options.connection._id}`)}` }
      : {}),
    status: 'ACTIVE',
    attributes: ['TRANSACTIONS', 'TRANSFER_FROM', 'TRANSFER_TO'],
    refreshed: {},
    rows: [],
    pending: [],
    ...options,
  }
}

/** Generates an account's rows by a recipe, from eighteen months or more ago. */
export type Grow = (options: Omit<GrowthOptions, 'seed' | 'since'>) => Pick<AkahuAccount, 'growth'>

/** A person whose accounts are generated, up to the clock's day, at their first use. */
export function person(
  name: string,
  called: string,
  life: { readonly clock: Clock; readonly makeAccounts: () => AkahuAccount[] },
): AkahuPerson {
  const made: AkahuPerson = {
    user: {
      _id: `user_${digest(name)}`,
      email: `${name}@example.test`,
      preferred_name: called,
      access_granted_at: '2026-01-12T02:30:00.000Z',
    },
    userToken: toUserToken(name),
    personal: makePersonalApp(name),
    accounts: [],
    enriched: true,
    emptyPageEvery: null,
  }
  defer(made, 'accounts', () => {
    const accounts = life.makeAccounts()
    bringUpToDate(accounts, life.clock)
    return accounts
  })
  return made
}

/** The user token of the person of this name. */
export function toUserToken<Name extends string>(name: Name): string {
  return `user_token_ck${name.padEnd(24, '0')}`
}

/** A balance with binary noise, as recorded from a bank that adds up floats. */
export function noisyToken(cents: number): string {
  return cents > 0 ? `${centsText(cents - 1)}9999999997` : centsToken(cents)
}
