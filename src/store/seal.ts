/**
 * Encryption of what must never be stored in the clear: AES-256-GCM with a fresh nonce, one HKDF-SHA256
 * subkey per purpose, and the row's identity as additional data, so that a ciphertext moved to another row or
 * column does not open. Of the list of keys, the first one seals and all of them open. This file keeps no
 * state except subkeys and knows no table.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

export interface Sealer {
  /** Fingerprint of the sealing key; it is stored beside each ciphertext as its key version. */
  readonly current: string
  /** True when the key with this fingerprint is on the list. */
  knows(fingerprint: string): boolean
  /**
   * Seals under the first key. `aad` is the row's identity. The result contains the fingerprint of its key.
   * At most 2^32 seals per key and purpose are safe with random nonces (NIST SP 800-38D §8.3).
   */
  seal(purpose: string, aad: string, plaintext: Uint8Array): Uint8Array
  /**
   * @param keyColumn the row's fingerprint of the key; null: the value has no such column.
   * @throws SealError for an unlisted key, another purpose or `aad`, or changed bytes; what `toLackError`
   * makes when the key column names the unlisted key, too.
   */
  open(purpose: string, aad: string, sealed: Uint8Array, keyColumn: string | null): Uint8Array
  /** The fingerprint of the key that sealed a ciphertext. */
  keyOf(sealed: Uint8Array): string
  /**
   * 32 bytes for another use (a MAC, a cookie signature), derived from the first key and this purpose only.
   */
  derive(purpose: string): Uint8Array
  /** Derives from every key in order, for values that were signed before a rotation. */
  deriveAll(purpose: string): readonly Uint8Array[]
}

/** What `open` throws for a value that another process sealed with a key that is not listed here. */
export type ToLackError = (fingerprint: string) => Error

/** A sealed column `secret` and the column of its key. */
export interface SealedSecret {
  readonly secret: Uint8Array
  readonly secretKey: string | null
}

/** A sealed column `payload` and the column of its key. */
export interface SealedPayload {
  readonly payload: Uint8Array
  readonly payloadKey: string | null
}

/** A ciphertext does not open. The message names the purpose and the key's fingerprint, never content. */
export class SealError extends Error {
  override readonly name = 'SealError'
}

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const fingerprintBytes = 8
const headerBytes = 1 + fingerprintBytes + nonceBytes
const format = 1
// Purposes are constants of the program; this bound only limits the damage of a mistake.
const maxPurposes = 64

interface Key {
  readonly fingerprint: string
  subkey(use: string): Uint8Array
}

/**
 * Makes the sealer of `ENCRYPTION_KEY`: keys of 32 bytes, the first encrypts, all decrypt.
 * @throws RangeError when the list is empty or a key has another length.
 */
export function makeSealer(keys: readonly Uint8Array[], toLackError?: ToLackError): Sealer {
  const made = keys.map(makeKey)
  const [first] = made
  if (first === undefined) throw new RangeError('at least one encryption key is needed')
  const byFingerprint = new Map(made.map((key) => [key.fingerprint, key]))
  return {
    current: first.fingerprint,
    knows: (fingerprint) => byFingerprint.has(fingerprint),
    seal: (purpose, aad, plaintext) => sealWith(first, purpose, aad, plaintext),
    open(purpose, aad, sealed, keyColumn) {
      const fingerprint = keyOf(sealed)
      const key = byFingerprint.get(fingerprint)
      if (key !== undefined) return openWith(key, purpose, aad, sealed)
      if (toLackError !== undefined && fingerprint === keyColumn) throw toLackError(fingerprint)
      throw new SealError(`no listed key opens this ${purpose}: it needs ${fingerprint}`)
    },
    keyOf,
    derive: (purpose) => Uint8Array.from(first.subkey(`derive:${purpose}`)),
    deriveAll: (purpose) => made.map((key) => Uint8Array.from(key.subkey(`derive:${purpose}`))),
  }
}

function makeKey(bytes: Uint8Array): Key {
  if (bytes.byteLength !== keyBytes)
    throw new RangeError(`an encryption key has ${keyBytes} bytes, not ${bytes.byteLength}`)
  const subkeys = new Map<string, Uint8Array>()
  return {
    fingerprint: Buffer.from(expand(bytes, 'fingerprint', fingerprintBytes)).toString('hex'),
    subkey(use) {
      const known = subkeys.get(use)
      if (known !== undefined) return known
      if (subkeys.size >= maxPurposes) subkeys.clear()
      const subkey = expand(bytes, use, keyBytes)
      subkeys.set(use, subkey)
      return subkey
    },
  }
}

/** HKDF-SHA256 (RFC 5869). The key is uniformly random, so a fixed salt is sufficient. */
function expand(key: Uint8Array, info: string, length: number): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, 'tributary', info, length))
}

function sealWith(key: Key, purpose: string, aad: string, plaintext: Uint8Array): Uint8Array {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key.subkey(`seal:${purpose}`), nonce)
  cipher.setAAD(boundTo(purpose, aad))
  return Buffer.concat([
    Buffer.of(format),
    Buffer.from(key.fingerprint, 'hex'),
    nonce,
    cipher.update(plaintext),
    cipher.final(),
    cipher.getAuthTag(),
  ])
}

function openWith(key: Key, purpose: string, aad: string, sealed: Uint8Array): Uint8Array {
  const nonce = sealed.subarray(1 + fingerprintBytes, headerBytes)
  const decipher = createDecipheriv('aes-256-gcm', key.subkey(`seal:${purpose}`), nonce, {
    authTagLength: tagBytes,
  })
  decipher.setAAD(boundTo(purpose, aad))
  const end = sealed.byteLength - tagBytes
  decipher.setAuthTag(sealed.subarray(end))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(headerBytes, end)), decipher.final()])
  } catch (cause) {
    throw new SealError(`a ${purpose} does not open: changed, or moved from another row`, { cause })
  }
}

/** The length prefix keeps (purpose, row) pairs distinct for any characters in them. */
function boundTo(purpose: string, aad: string): Buffer {
  return Buffer.from(`${purpose.length}:${purpose}:${aad}`)
}

function keyOf(sealed: Uint8Array): string {
  if (sealed.byteLength < headerBytes + tagBytes || sealed[0] !== format)
    throw new SealError('these bytes were not sealed by this program')
  return Buffer.from(sealed.subarray(1, 1 + fingerprintBytes)).toString('hex')
}

/** What `open` returns, or null: one row that cannot be decrypted must not affect the others. */
export function openOrNull<Secret>(open: () => Secret): Secret | null {
  try {
    return open()
  } catch (error) {
    if (error instanceof SealError) return null
    throw error
  }
}
