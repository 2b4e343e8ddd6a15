/**
 * The identity of a row by its content, where a provider issues its ids anew or repeats them (reading R37):
 * the account, the day, what the bank says of the row, and its number among equal rows of that day. The same
 * content has the same id whenever it is read, and another one for another user.
 */
import { createHmac } from 'node:crypto'
import type { Provider } from '#contract/resources.ts'
import type { AccountId, UserId } from '#kernel/ids.ts'

/** What a row is known by. */
export interface RowContent {
  /** Ours, because the provider's ids of accounts change too. */
  readonly account: AccountId
  /** `YYYY-MM-DD`: the provider's own day of the row, not that of the user's zone. */
  readonly day: string
  /** Amount, currency and the bank's text, in an order that never changes. */
  readonly parts: readonly string[]
}

export interface RowIdentity {
  /**
   * The id of the next row with this content: `<provider>_tx_` and 26 letters and digits (130 bits). Equal
   * rows are numbered in the order in which they are given, so all rows of a day must be given to one
   * identity, in an order that is the same at every read (`toFixedOrder`).
   */
  next(content: RowContent): string
}

/** Letters and digits without those that look alike (RFC 4648 has others): 32 of them. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const idLength = 26

export function makeRowIdentity(provider: Provider, userId: UserId): RowIdentity {
  const seen = new Map<string, number>()
  return {
    next({ account, day, parts }) {
      const content = JSON.stringify([account, day, ...parts])
      const ordinal = (seen.get(content) ?? 0) + 1
      seen.set(content, ordinal)
      const digest = createHmac('sha256', userId).update(`${ordinal} ${content}`).digest()
      return `${provider}_tx_${toText(digest)}`
    },
  }
}

type ToPlace<Row> = (row: Row) => readonly (string | number | null | undefined)[]

/**
 * The same rows in an order that the provider has no part in: equal rows that differ in what is no part of
 * their identity keep their numbers at every read.
 */
export function toFixedOrder<Row>(rows: readonly Row[], toPlace: ToPlace<Row>): readonly Row[] {
  return rows
    .map((row) => ({ row, place: JSON.stringify(toPlace(row)) }))
    .toSorted((one, other) => (one.place < other.place ? -1 : one.place > other.place ? 1 : 0))
    .map(({ row }) => row)
}

/** What `name` gives each row, in the order of the rows; it is called in the fixed order. */
export function nameInOrder<Row, Name>(
  rows: readonly Row[],
  toPlace: ToPlace<Row>,
  name: (row: Row) => Name,
): readonly (readonly [Row, Name])[] {
  const numbered = rows.map((row, index) => ({ row, index }))
  return toFixedOrder(numbered, ({ row }) => toPlace(row))
    .map(({ row, index }) => ({ index, pair: [row, name(row)] as const }))
    .toSorted((one, other) => one.index - other.index)
    .map(({ pair }) => pair)
}

/** Whose pending row it is. */
export interface PendingOwner {
  readonly userId: UserId
  readonly accountId: AccountId
}

/**
 * The id of a pending row, of a kind of its own: the same while `key` is. It is made with a secret, because
 * what was announced is stored (reading R35) and contents can be guessed.
 */
export function makePendingId(
  secret: Uint8Array,
  { userId, accountId }: PendingOwner,
  key: string,
): string {
  const content = JSON.stringify(['pending', userId, accountId, key])
  return `pending_${toText(createHmac('sha256', secret).update(content).digest())}`
}

/** Keys of rows that have no id: all of their content, with a number among equal ones. */
export function makeContentKeys(): (content: readonly (string | number | null)[]) => string {
  const seen = new Map<string, number>()
  return (content) => {
    const text = JSON.stringify(content)
    const ordinal = (seen.get(text) ?? 0) + 1
    seen.set(text, ordinal)
    return `${ordinal} ${text}`
  }
}

/** Five bits of each of the first 26 bytes: any of them is as random as another. */
function toText(digest: Uint8Array): string {
  let text = ''
  for (let index = 0; index < idLength; index += 1) text += alphabet[(digest[index] ?? 0) & 31]
  return text
}
