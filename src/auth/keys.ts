/**
 * API keys: `trib_live_` + 33 base62 characters (192 random bits) + 6 base62 characters of CRC-32 over
 * everything before. Only the SHA-256 is stored; a key whose checksum is wrong is refused before any lookup.
 * The brand prefix has ten characters, so that the pre-auth bucket, which counts the first 16 characters,
 * includes six random ones (contract, Limits).
 */

import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Millis } from '#kernel/time.ts'

const prefix = 'trib_live_'
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 33
const checksumLength = 6
const keyPattern = /^trib_live_[0-9A-Za-z]{39}$/

export interface MintedKey {
  /** The whole key: shown once, never stored. */
  readonly key: string
  /** The first characters, safe to show. */
  readonly prefix: string
  readonly hash: Uint8Array
}

const secretBytes = 24

/** Makes a key of the first 24 of these bytes; absent: of the operating system's random generator. */
export function mintKey(bytes: Uint8Array = randomBytes(secretBytes)): MintedKey {
  const hex = Buffer.from(bytes.subarray(0, secretBytes)).toString('hex')
  const secret = base62(BigInt(`0x${hex}`), secretLength)
  const body = prefix + secret
  const key = body + checksum(body)
  return { key, prefix: key.slice(0, prefix.length + 6), hash: hashKey(key) }
}

/** True when the text has the key prefix, valid or not. It is never looked up as another kind of token. */
export function isMeantAsKey(text: string): boolean {
  return text.startsWith('trib_')
}

/**
 * True when the text has the format of a key and a correct checksum; does not show whether the key exists.
 */
export function isKeyShaped(text: string): boolean {
  if (!keyPattern.test(text)) return false
  const body = text.slice(0, -checksumLength)
  return checksum(body) === text.slice(-checksumLength)
}

/** SHA-256 of the whole key: 192 random bits need no slow hash. */
export function hashKey(key: string): Uint8Array {
  return hash('sha256', key, 'buffer')
}

/** An instant of expiry belongs to the time after it. `null`: never. */
export function hasKeyExpired(expiresAt: Millis | null, now: Millis): boolean {
  return expiresAt !== null && expiresAt <= now
}

export type KeyStatus = 'active' | 'expired' | 'revoked'

/** What a key is worth at `now`; only an active one is accepted, and counts towards the maximum. */
export function toKeyStatus(
  {
    revokedAt,
    expiresAt,
  }: { readonly revokedAt: number | null; readonly expiresAt: number | null },
  now: number,
): KeyStatus {
  if (revokedAt !== null) return 'revoked'
  return hasKeyExpired(expiresAt, now) ? 'expired' : 'active'
}

function checksum(body: string): string {
  return base62(BigInt(crc32(body)), checksumLength)
}

function base62(value: bigint, length: number): string {
  let rest = value
  let text = ''
  for (let index = 0; index < length; index += 1) {
    text = alphabet[Number(rest % 62n)] + text
    rest /= 62n
  }
  return text
}
