/**
 * The people of the Akahu emulator who each show one state: a login that needs its user, a slow or failing
 * bank, unusual rows and accounts. `magic-users.ts` of the sandbox says what each name shows.
 */
import { type Clock, dayMs } from '#kernel/time.ts'
import type { RowFaults } from '../row-faults.ts'
import { account, type Grow, institutions, person } from './factories.ts'
import { type AkahuAccount, type AkahuPerson, bringUpToDate } from './people.ts'
import { everyday, savings } from './recipes.ts'
import type { Recipe } from './rows.ts'
import {
  broken,
  conversions,
  fils,
  identical,
  mills,
  pendingThenBooked,
  yen,
} from './states-recipes.ts'

export interface StateOptions {
  readonly clock: Clock
  readonly grow: Grow
}

type Make = (key: string, options: StateOptions) => AkahuAccount[]

const plain: Make = (key, { grow }) => oneBank(key, grow, everyday)
const daysAsleep = 12

const lives = {
  expired(key, options) {
    const accounts = plain(key, options)
    // Rows from before the login broke are still served; later days are missing.
    bringUpToDate(accounts, { now: () => options.clock.now() - daysAsleep * dayMs })
    for (const one of accounts) one.status = 'INACTIVE'
    return accounts
  },
  revoked: plain,
  mfa: plain,
  slow: plain,
  throttled: plain,
  outage: plain,
  malformed: (key, { grow }) => oneBank(key, grow, broken),
  pending: (key, { grow }) => oneBank(key, grow, pendingThenBooked),
  foreign: (key, { grow }) =>
    purses(key, grow, [
      { name: 'US Dollar Account', currency: 'USD', recipe: conversions },
      { name: 'Aussie Dollar Account', currency: 'AUD', recipe: conversions },
      { name: 'Sterling Account', currency: 'GBP', recipe: conversions },
    ]),
  decimals: (key, { grow }) =>
    purses(key, grow, [
      { name: 'Yen Account', currency: 'JPY', balance: '184200', recipe: yen },
      { name: 'Dinar Account', currency: 'KWD', balance: '1250.375', recipe: fils },
      { name: 'Bahrain Account', currency: 'BHD', balance: '-0.005', recipe: fils },
      { name: 'Fine Account', currency: 'NZD', balance: '10.0000', recipe: mills },
    ]),
  twins: (key, { grow }) => oneBank(key, grow, identical),
  numbers: makeNumbers,
} as const satisfies Readonly<Record<string, Make>>

type StateName = keyof typeof lives
export const stateNames = Object.keys(lives) as StateName[]

const rowFaults: Partial<Record<StateName, RowFaults>> = {
  slow: { rowsLatencyMs: 1_500 },
  throttled: {
    rowsFailure: {
      status: 429,
      headers: { 'retry-after': '17' },
      body: { success: false, message: 'Too many requests' },
    },
  },
  outage: {
    rowsFailure: { status: 500, body: { success: false, message: 'Internal server error' } },
  },
}

/** Makes everyone of this file. */
export function makeStates(options: StateOptions): Record<StateName, AkahuPerson> {
  const people = stateNames.map((name) => {
    const makeAccounts = () => lives[name](name, options)
    const made = person(name, `${name} (sandbox)`, { clock: options.clock, makeAccounts })
    return [name, Object.assign(made, rowFaults[name])] as const
  })
  return Object.fromEntries(people) as Record<StateName, AkahuPerson>
}

function oneBank(key: string, grow: Grow, recipe: Recipe): AkahuAccount[] {
  return [
    account(`${key}.everyday`, {
      connection: institutions.kiwibank,
      name: 'Everyday',
      type: 'CHECKING',
      formatted_account: '38-9000-0123456-00',
      balance: { currency: 'NZD', current: '0', available: '500' },
      ...grow({ style: 'nz-midnight', recipe, openingCents: 320_000 }),
    }),
  ]
}

interface Purse {
  readonly name: string
  readonly currency: string
  /** The token of its balance; absent: it follows the rows. */
  readonly balance?: string
  readonly recipe: Recipe
}

function purses(key: string, grow: Grow, plans: readonly Purse[]): AkahuAccount[] {
  return plans.map(({ name, currency, balance, recipe }) =>
    account(`${key}.${currency}`, {
      connection: institutions.asb,
      name,
      type: 'FOREIGN',
      formatted_account: '12-3022-0456789-40',
      balance: { currency, current: '0' },
      ...grow({
        style: 'nz-midnight',
        recipe,
        openingCents: 250_000,
        ...(balance === undefined ? {} : { balanceToken: () => balance }),
      }),
    }),
  )
}

/** The name of each account and its number as Akahu sends it. */
const shapes: readonly (readonly [string, string | undefined])[] = [
  ['NZ number', '38-9000-0123456-00'],
  ['NZ number with a long suffix', '03-0123-0456789-001'],
  ['Masked card', '****-****-****-0194'],
  ['Three digits', '007'],
  ['Masked entirely', '****-****-****-****'],
  ['Number in words', 'MEMBER 12-ABC-3456'],
  ['No number', undefined],
  ['Savings 38-9000-0123456-07', '38-9000-0123456-07'],
]

function makeNumbers(key: string, { grow }: StateOptions): AkahuAccount[] {
  return shapes.map(([name, number]) =>
    account(`${key}.${name}`, {
      connection: institutions.kiwibank,
      name,
      type: 'SAVINGS',
      ...(number === undefined ? {} : { formatted_account: number }),
      balance: { currency: 'NZD', current: '0' },
      ...grow({ style: 'nz-midnight', recipe: savings, openingCents: 100_000 }),
    }),
  )
}
