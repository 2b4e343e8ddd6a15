/**
 * Protects what this process stores in Redis from anyone who can read Redis: names are keyed hashes, cached answers
 * are encrypted and bound to their name. This file owns the formats and stores nothing.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import type { CachedAnswer } from '../ports/kv.ts'

export interface Seal {
  /** The Redis key of `key`: deterministic, and it reveals nothing about the key. */
  name(concern: string, key: string): string
  /** Encrypts an answer, bound to its cache key. */
  seal(key: string, answer: CachedAnswer): Buffer
  /** The answer, or null when it was sealed with another secret or for another key, or was changed. */
  open(key: string, sealed: Buffer): CachedAnswer | null
}

const cipherName = 'aes-256-gcm'
const layoutVersion = 1
const saltBytes = 16
const nonceBytes = 12
const tagBytes = 16
const headerBytes = 1 + saltBytes + nonceBytes
const nameBytes = 18

/**
 * Derives the keys for names and values from one 32-byte secret. `prefix` starts every name. Throws for a secret of
 * another length.
 */
export function makeSeal(secret: Uint8Array, prefix: string): Seal {
  if (secret.byteLength !== 32) throw new Error('the cache key must have 32 bytes')
  const nameKey = derive(secret, 'tributary kv names')
  const valueKey = derive(secret, 'tributary kv values')

  // One key per value: with a single key and random nonces, a busy service would reach the GCM bound of 2^32 values
  // within weeks.
  const keyOf = (salt: Uint8Array) => createHmac('sha256', valueKey).update(salt).digest()

  return {
    name(concern, key) {
      const digest = createHmac('sha256', nameKey).update(`${concern}\0${key}`).digest()
      return `${prefix}${concern}:${digest.toString('base64url', 0, nameBytes)}`
    },

    seal(key, answer) {
      const random = randomBytes(saltBytes + nonceBytes)
      const salt = random.subarray(0, saltBytes)
      const nonce = random.subarray(saltBytes)
      const cipher = createCipheriv(cipherName, keyOf(salt), nonce, { authTagLength: tagBytes })
      cipher.setAAD(Buffer.from(key))
      return Buffer.concat([
        Buffer.of(layoutVersion),
        random,
        cipher.update(Buffer.of(answer.truncated ? 1 : 0)),
        cipher.update(answer.body),
        cipher.final(),
        cipher.getAuthTag(),
      ])
    },

    open(key, sealed) {
      const bodyEnd = sealed.byteLength - tagBytes
      if (sealed[0] !== layoutVersion || bodyEnd <= headerBytes) return null
      const salt = sealed.subarray(1, 1 + saltBytes)
      const nonce = sealed.subarray(1 + saltBytes, headerBytes)
      const cipher = createDecipheriv(cipherName, keyOf(salt), nonce, { authTagLength: tagBytes })
      cipher.setAAD(Buffer.from(key))
      cipher.setAuthTag(sealed.subarray(bodyEnd))
      const plain = cipher.update(sealed.subarray(headerBytes, bodyEnd))
      try {
        cipher.final()
      } catch {
        // `final` throws only when the authentication tag does not match; no decrypted bytes are used then.
        return null
      }
      return { truncated: plain[0] === 1, body: plain.subarray(1) }
    },
  }
}

function derive(secret: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, new Uint8Array(0), purpose, 32))
}
