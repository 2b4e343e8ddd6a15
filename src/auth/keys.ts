/**
 * API keys: `trib_live_` + 33 base62 characters (192 random bits) + 6 base62 characters of CRC-32 over everything
 * before. Only the SHA-256 is stored; a key that fails its checksum is refused before any look-up. The brand prefix has
 * ten characters so that six random ones fall into the pre-auth bucket (specification, Limits: first 16 characters).
 */
import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

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

/** Makes a new key from the system's randomness. */
export function mintKey(): MintedKey {
  const secret = base62(BigInt(`0x${randomBytes(24).toString('hex')}`), secretLength)
  const body = prefix + secret
  const key = body + checksum(body)
  return { key, prefix: key.slice(0, prefix.length + 6), hash: hashKey(key) }
}

/** True when the text was meant as a key, good or bad: it is looked for in no other table. */
export function isMeantAsKey(text: string): boolean {
  return text.startsWith('trib_')
}

/** True when the text has the form of a key and its checksum fits; says nothing about whether it exists. */
export function isKeyShaped(text: string): boolean {
  if (!keyPattern.test(text)) return false
  const body = text.slice(0, -checksumLength)
  return checksum(body) === text.slice(-checksumLength)
}

/** SHA-256 of the whole key: 192 random bits need no slow hash. */
export function hashKey(key: string): Uint8Array {
  return hash('sha256', key, 'buffer')
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
