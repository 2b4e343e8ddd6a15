/**
 * What the sandbox commands can do to a person or a provider, in terms that fit all emulators; each folder
 * defines the meaning for its provider. Names and amounts are already validated; an impossible command is a
 * FaultControlError.
 */
import type { Decimal } from '#kernel/decimal.ts'
import type { EmulatorReply, EmulatorRequest } from './emulator.ts'
import type { SentWebhook, WebhookManner } from './webhook-sender.ts'

/** A command that makes no sense at this provider or for this person. */
export class FaultControlError extends Error {
  override readonly name = 'FaultControlError'
}

export interface NewRow {
  /** The account's name or the provider's id of it; null: the first one. */
  readonly account: string | null
  /** Signed: money out is negative. */
  readonly amount: Decimal
  readonly description: string
  /** Milliseconds since the epoch; at a bank a row of the future is pending until then. */
  readonly at: number
  /** What was traded; at brokers only. */
  readonly trade: {
    readonly type: string
    readonly symbol: string | null
    readonly units: Decimal | null
    readonly price: Decimal | null
  }
}

/** What is null stays as it is. */
export interface RowChange {
  /** The provider's id of the row; null: the newest one of the account. */
  readonly row: string | null
  readonly account: string | null
  readonly amount: Decimal | null
  readonly description: string | null
  readonly at: number | null
}

export interface TouchedRow {
  /** The provider's id of the row; at banks also the id in the REST API. */
  readonly id: string
  /** The account's name there. */
  readonly account: string
}

/** Webhooks by command: what they report need not have happened. */
export interface WebhookControls {
  /** The provider's names of what it reports. */
  readonly kinds: readonly string[]
  /** Sends one for each object of this person that the kind concerns; none without a receiver. */
  fire(
    name: string,
    order: { readonly kind: string; readonly account: string | null },
    manner: WebhookManner,
  ): readonly SentWebhook[]
  /** Null where nothing rotates. */
  readonly rotateKey: (() => void) | null
}

/** What people do to apps of their own at a provider. */
export interface OwnAppControls {
  /** The permission to read transactions. */
  withdrawPermission(name: string): void
  grantPermission(name: string): void
  /** Requests come from an address that the app does not allow, until `admit`. */
  bar(name: string): void
  admit(name: string): void
}

export interface FaultControls {
  /** Who a person is at the provider, as our logins name them. */
  upstreamUserId(name: string): string
  addRow(name: string, row: NewRow): TouchedRow
  changeRow(name: string, change: RowChange): TouchedRow
  /** Null where people have no login to break (Fiskil: consents alone; Up: tokens alone). */
  readonly login: { breakIt(name: string): void; mend(name: string): void } | null
  readonly consent: {
    expire(name: string): void
    revoke(name: string): void
    renew(name: string): void
  }
  /** Absent where people have no apps of their own. */
  readonly ownApp?: OwnAppControls
  /** Null where the emulator sends none. */
  readonly webhooks: WebhookControls | null
  /** A refusal in the provider's own form. */
  refusal(status: number, retryAfterSeconds: number | null): EmulatorReply
  /** Whether a commanded failure applies to this request: sign-in and the pages of a browser are excluded. */
  isApiCall(request: EmulatorRequest): boolean
  /** Resets all people to their initial state; those who were linked or registered since are not changed. */
  reset(): void
}

/** Those of an emulator that sends webhooks. */
export interface SendingFaultControls extends FaultControls {
  readonly webhooks: WebhookControls
}

/** The one that was asked for by name or id, without regard to case; null asks for the first. */
export function chooseAccount<Account>(
  accounts: readonly Account[],
  wanted: string | null,
  names: (account: Account) => readonly unknown[],
): Account {
  const text = wanted?.toLowerCase()
  const found = accounts.find(
    (account) =>
      text === undefined || names(account).some((name) => String(name).toLowerCase() === text),
  )
  if (found !== undefined) return found
  if (wanted === null) throw new FaultControlError('this person has no account there at present')
  const known = accounts.map((account) => `"${String(names(account)[0])}"`).join(', ')
  throw new FaultControlError(`no account is called "${wanted}"; there are ${known}`)
}

/** The entry of this name. */
export function findPerson<Person>(
  people: Readonly<Record<string, Person | undefined>>,
  name: string,
): Person {
  const person = Object.hasOwn(people, name) ? people[name] : undefined
  if (person === undefined) throw new FaultControlError(`nobody is called "${name}" there`)
  return person
}
