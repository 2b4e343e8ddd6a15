/**
 * The identity of a row by its content, where a provider issues its ids anew or repeats them (reading R37):
 * the account, the day, what the bank says of the row, and its number among equal rows of that day. The same
 * content has the same id whenever it is read, and another one for another user.
 */
import { createHmac } from 'node:crypto'
import type { Provider } from '#contract/resources.ts'
import type { AccountId, UserId } from '#kernel/ids.ts'

type Parts = readonly (string | number | null | undefined)[]

/** What equal rows have in common, and what tells them apart where they differ in anything else. */
export interface RowLook<Row> {
  /** In an order that never changes. */
  readonly contentOf: (row: Row) => Parts
  /** Equal rows are numbered by it; absent, or where it is equal too: in the order in which they come. */
  readonly placeOf?: (row: Row) => Parts
}

/**
 * A key for each row, in the order of the rows: its content with its number among equal ones, 1 for the
 * first. All rows with equal contents must be given at once. The same rows have the same keys at every read.
 */
export function keyRows<Row>(
  rows: readonly Row[],
  { contentOf, placeOf = () => [] }: RowLook<Row>,
): readonly string[] {
  const contents = rows.map((row) => JSON.stringify(contentOf(row)))
  const ordinals = numberEqual(contents, (index) => placeOf(rows[index] as Row))
  return contents.map((content, index) => `${ordinals[index]} ${content}`)
}

/**
 * The number of each row among those with the same content, 1 for the first.
 * @param placeOf tells equal rows apart by anything else, by their index; where it is equal too, they are
 *   numbered in the order in which they come.
 */
export function numberEqual(
  contents: readonly string[],
  placeOf: (index: number) => Parts,
): Uint32Array {
  const ordinals = new Uint32Array(contents.length)
  for (const equal of Map.groupBy(contents.keys(), (index) => contents[index]).values()) {
    const ordered = equal.length === 1 ? equal : toFixedOrder(equal, placeOf)
    for (const [at, index] of ordered.entries()) ordinals[index] = at + 1
  }
  return ordinals
}

function toFixedOrder(rows: readonly number[], placeOf: (index: number) => Parts) {
  return rows
    .map((index) => ({ index, place: JSON.stringify(placeOf(index)) }))
    .toSorted((one, other) => (one.place < other.place ? -1 : one.place > other.place ? 1 : 0))
    .map(({ index }) => index)
}

/** Letters and digits without those that look alike (RFC 4648 has others): 32 of them. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const idLength = 26

/** What a row is known by. */
export interface RowContent {
  /** Ours, because the provider's ids of accounts change too. */
  readonly account: AccountId
  /** `YYYY-MM-DD`: the provider's own day of the row, not that of the user's zone. */
  readonly day: string
  /** Amount, currency and the bank's text, in an order that never changes. */
  readonly parts: readonly string[]
}

/** The content for `keyRows`. */
export const toRowContent = ({ account, day, parts }: RowContent): Parts => [account, day, ...parts]

/**
 * The key that `keyRows` makes of an account's row whose number is known.
 * @param content the day and the parts as a list in JSON.
 */
export const keyContent = (account: AccountId, content: string, ordinal: number): string =>
  `${ordinal} [${JSON.stringify(account)},${content.slice(1)}`

/** The public id of the row with this key: `<provider>_tx_` and 26 letters and digits (130 bits). */
export function toTransactionId(provider: Provider, userId: UserId, key: string): string {
  return `${provider}_tx_${toText(createHmac('sha256', userId).update(key).digest())}`
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

/** Five bits of each of the first 26 bytes: any of them is as random as another. */
function toText(digest: Uint8Array): string {
  let text = ''
  for (let index = 0; index < idLength; index += 1) text += alphabet[(digest[index] ?? 0) & 31]
  return text
}
