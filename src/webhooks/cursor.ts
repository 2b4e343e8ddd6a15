/**
 * Cursors of a user's feed (reading R42): the feed and a position in it, with a keyed hash over both and the
 * user, so that garbled text and cursors of other people are told from those that are no longer kept.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { type FeedId, parseUuid, type UserId } from '#kernel/ids.ts'

export interface FeedCursor {
  readonly feedId: FeedId
  /** Everything up to it was received. */
  readonly position: number
}

export interface Cursors {
  write(userId: UserId, cursor: FeedCursor): string
  /** Null: it is no cursor of this user, or none of these secrets signed it. */
  read(userId: UserId, text: string): FeedCursor | null
  /** The feed that a text of the right form names, whoever signed it; null: it has another form. */
  readFeed(text: string): FeedId | null
}

const uuidBytes = 16
const plainBytes = uuidBytes + 4
const macBytes = 12

/** `secrets`: the first one signs, each is accepted. */
export function makeCursors(secrets: readonly Uint8Array[]): Cursors {
  const [current] = secrets
  if (current === undefined) throw new RangeError('cursors need a secret')
  return {
    write(userId, { feedId, position }) {
      const plain = Buffer.alloc(plainBytes)
      plain.write(feedId.replaceAll('-', ''), 'hex')
      plain.writeUInt32BE(position, uuidBytes)
      return Buffer.concat([plain, sign(current, userId, plain)]).toString('base64url')
    },
    read(userId, text) {
      const bytes = toBytes(text)
      if (bytes === null) return null
      const plain = bytes.subarray(0, plainBytes)
      const mac = bytes.subarray(plainBytes)
      const isOurs = secrets.some((secret) => timingSafeEqual(sign(secret, userId, plain), mac))
      const feedId = isOurs ? toFeedId(plain) : null
      return feedId === null ? null : { feedId, position: plain.readUInt32BE(uuidBytes) }
    },
    readFeed(text) {
      const bytes = toBytes(text)
      return bytes === null ? null : toFeedId(bytes)
    },
  }
}

function toBytes(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  // Other texts may decode to the same bytes.
  const isWhole = bytes.length === plainBytes + macBytes && bytes.toString('base64url') === text
  return isWhole ? bytes : null
}

function sign(secret: Uint8Array, userId: UserId, plain: Uint8Array): Buffer {
  const hash = createHmac('sha256', secret).update(userId).update('\0').update(plain)
  return hash.digest().subarray(0, macBytes)
}

function toFeedId(bytes: Uint8Array): FeedId | null {
  const hex = Buffer.from(bytes).toString('hex', 0, uuidBytes)
  const ends = [8, 12, 16, 20, 32]
  return parseUuid<FeedId>(ends.map((end, index) => hex.slice(ends[index - 1] ?? 0, end)).join('-'))
}
