/**
 * The secret of a login: its application where a person brought one, the session at the bank, and what the
 * bank told of the accounts when it was opened, because it tells that once (docs/providers/enable-banking.md,
 * Linking). Account ids of a session end with it; ours are made of what identifies an account for good.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { AccountType } from '#contract/resources.ts'
import type { Login } from '../port.ts'
import type { Application } from './application.ts'
import { ended } from './failures.ts'

const KeptAccount = z.object({
  /** `UpstreamId` of the account. */
  id: z.string(),
  /** In this session; null: it cannot be read. */
  uid: z.string().nullable(),
  /** Every hash by which the account may be known. */
  hashes: z.array(z.string()),
  /** Null: the bank told none; or it could not be asked when the session was adopted. */
  name: z.string().nullable(),
  type: z.string().nullable(),
  /** The last four characters of its number. */
  tail: z.string().nullable(),
  currency: z.string().nullable(),
  /** A hash of its holder's name, who is no merchant. */
  holder: z.string().nullable(),
})
export type KeptAccount = Omit<z.output<typeof KeptAccount>, 'type'> & {
  readonly type: AccountType | null
}

const Secret = z.object({
  application: z.object({ id: z.string(), privateKey: z.string() }).nullable(),
  /** Null: no consent has been given yet. */
  session: z
    .object({
      id: z.string(),
      /** ISO 8601; null: not told. */
      validUntil: z.string().nullable(),
      /** Milliseconds since the epoch; null: it was adopted, and its first hour may be over. */
      authorizedAt: z.number().nullable(),
      accounts: z.array(KeptAccount),
    })
    .nullable(),
  bank: z
    .object({
      name: z.string(),
      country: z.string(),
      logo: z.string().nullable(),
      /** In lower case: sent all or not at all. */
      requiredHeaders: z.array(z.string()),
    })
    .nullable(),
})
export type EnableBankingSecret = Omit<z.output<typeof Secret>, 'session'> & {
  readonly session: KeptSession | null
}
export interface KeptSession {
  readonly id: string
  readonly validUntil: string | null
  readonly authorizedAt: number | null
  readonly accounts: readonly KeptAccount[]
}
export type Bank = NonNullable<EnableBankingSecret['bank']>

/** Null: there is none, or it is none of ours. */
export function readSecret({ secret }: Pick<Login, 'secret'>): EnableBankingSecret | null {
  if (secret === null || !secret.startsWith('{')) return null
  const parsed = Secret.safeParse(JSON.parse(secret))
  // The types of accounts are ours: nothing else was ever written.
  return parsed.success ? (parsed.data as EnableBankingSecret) : null
}

export const writeSecret = (secret: EnableBankingSecret): string => JSON.stringify(secret)

/** What ends a session, without its bank and accounts; null: there is none. */
export function toBareSecret(secret: EnableBankingSecret | null): string | null {
  if (!secret?.session) return null
  const session = { ...secret.session, accounts: [] }
  return writeSecret({ application: secret.application, session, bank: null })
}

/** What a login with a consent has. */
export interface OpenSession {
  readonly session: KeptSession
  readonly bank: Bank
}

/** @throws UpstreamError `consent_lost` for a login without one. */
export function sessionOf(login: Pick<Login, 'secret'>): OpenSession {
  const { session = null, bank = null } = readSecret(login) ?? {}
  if (session === null || bank === null) throw ended('invalidated')
  return { session, bank }
}

/** Exactly one login, and one connection, for each bank of an application. */
export const nameBank = (
  application: Pick<Application, 'id'>,
  { country, name }: Pick<Bank, 'country' | 'name'>,
): string => hash('sha256', JSON.stringify([application.id, country, name, 'personal']))

/** A login that holds an application, before a bank is chosen. */
export const nameApplication = ({ id }: Pick<Application, 'id'>): string =>
  hash('sha256', JSON.stringify([id]))

export const nameAccount = (identificationHash: string): string =>
  `sha256:${hash('sha256', identificationHash, 'base64url')}`

export const nameHolder = (name: string): string =>
  hash('sha256', name.toLowerCase().replace(/\s+/g, ' ').trim(), 'base64url')
