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
  /** Null: it is no cursor of this user. */
  read(userId: UserId, text: string): FeedCursor | null
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
      const bytes = Buffer.from(text, 'base64url')
      // Other texts may decode to the same bytes.
      const isWhole = bytes.length === plainBytes + macBytes && bytes.toString('base64url') === text
      if (!isWhole) return null
      const plain = bytes.subarray(0, plainBytes)
      const mac = bytes.subarray(plainBytes)
      const isOurs = secrets.some((secret) => timingSafeEqual(sign(secret, userId, plain), mac))
      const feedId = isOurs ? parseUuid<FeedId>(toUuid(plain)) : null
      return feedId === null ? null : { feedId, position: plain.readUInt32BE(uuidBytes) }
    },
  }
}

function sign(secret: Uint8Array, userId: UserId, plain: Uint8Array): Buffer {
  const hash = createHmac('sha256', secret).update(userId).update('\0').update(plain)
  return hash.digest().subarray(0, macBytes)
}

function toUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex', 0, uuidBytes)
  const ends = [8, 12, 16, 20, 32]
  return ends.map((end, index) => hex.slice(ends[index - 1] ?? 0, end)).join('-')
}
