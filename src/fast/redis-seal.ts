/**
 * Protects what this process stores in Redis from anyone who can read Redis: names are keyed hashes, cached
 * answers are encrypted and bound to their name. This file owns the formats and stores nothing.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { CachedAnswer } from './port.ts'

export interface SealedAnswer extends CachedAnswer {
  /** How long Redis may hold it, in milliseconds. */
  readonly lifeMs: number
}

export interface Seal {
  /**
   * The Redis key of `key`: deterministic, and it reveals nothing about the key. Names of one owner (see
   * `ownerOf`) have one hash tag, so that one script may use them on a cluster. Another `scope` gives another
   * name.
   */
  name(concern: string, key: string, scope?: string): string
  /** Encrypts an answer, bound to its cache key. */
  seal(key: string, answer: SealedAnswer): Buffer
  /** The answer, or null when it was sealed with another secret or for another key, or was changed. */
  open(key: string, sealed: Buffer): SealedAnswer | null
}

const cipherName = 'aes-256-gcm'
/** The layout and the salt are text, so that a command that contains them is sent as text. */
const layout = '4'
const saltBytes = 16
/** The length of the salt as base64url. */
const saltLength = 22
const nonceBytes = 12
const tagBytes = 16
/** The first bytes of a sealed value: no two values have the same. */
export const versionLength = layout.length + saltLength
const headerBytes = versionLength + nonceBytes
/** Before the body, encrypted with it: the mark of a truncated answer, its life, and its age or 0. */
const factBytes = 13
const nameBytes = 18
/** Names remembered of each concern; one takes two digests to compute. */
const maxRemembered = 4096
/** Clients choose what is in some keys: long ones are not remembered. */
const maxRememberedLength = 1024

/** Derives the keys for names and values from a 32-byte secret; throws for another length. */
export function makeSeal(secret: Uint8Array, prefix: string): Seal {
  if (secret.byteLength !== 32) throw new Error('the cache key must have 32 bytes')
  const nameKey = derive(secret, 'tributary kv names')
  const valueKey = derive(secret, 'tributary kv values')

  // One key per value: one key with random nonces would reach the GCM bound of 2^32 values within weeks.
  const keyOf = (salt: string) => createHmac('sha256', valueKey).update(salt).digest()

  const digest = (text: string) =>
    createHmac('sha256', nameKey).update(text).digest().toString('base64url', 0, nameBytes)
  function toName(concern: string, key: string, scope: string): string {
    const owner = ownerOf(key)
    const tag = owner === null ? '' : `{${digest(`owner\0${owner}`)}}:`
    return `${prefix}${concern}:${tag}${digest(`${concern}\0${scope}${key}`)}`
  }

  return {
    name: rememberNames(toName),

    seal(key, answer) {
      const salt = randomBytes(saltBytes).toString('base64url')
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(cipherName, keyOf(salt), nonce, { authTagLength: tagBytes })
      cipher.setAAD(Buffer.from(key))
      const facts = Buffer.alloc(factBytes)
      facts.writeUInt8(answer.truncated ? 1 : 0)
      facts.writeUIntBE(answer.lifeMs, 1, 6)
      facts.writeUIntBE(answer.asOf ?? 0, 7, 6)
      return Buffer.concat([
        Buffer.from(layout + salt),
        nonce,
        cipher.update(facts),
        cipher.update(answer.body),
        cipher.final(),
        cipher.getAuthTag(),
      ])
    },

    open(key, sealed) {
      const bodyEnd = sealed.byteLength - tagBytes
      const version = versionOf(sealed)
      if (!version.startsWith(layout) || bodyEnd < headerBytes + factBytes) return null
      const salt = version.slice(layout.length)
      const nonce = sealed.subarray(versionLength, headerBytes)
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
      const asOf = plain.readUIntBE(7, 6)
      return {
        truncated: plain[0] === 1,
        lifeMs: plain.readUIntBE(1, 6),
        ...(asOf === 0 ? {} : { asOf }),
        body: plain.subarray(factBytes),
      }
    },
  }
}

/** The version of a sealed value: its first bytes as text. */
export function versionOf(sealed: Buffer): string {
  return sealed.toString('latin1', 0, versionLength)
}

/**
 * The owner whose keys belong together, in braces after a key's first colon (`key:{user}:…`); null for keys
 * without. A name that an outsider chose cannot contain one there, because an owner is the first thing after
 * the purpose of a key.
 */
function ownerOf(key: string): string | null {
  const start = key.indexOf(':') + 1
  if (start === 0 || key[start] !== '{') return null
  const end = key.indexOf('}', start)
  return end === -1 ? null : key.slice(start + 1, end)
}

/** A name is computed once while it is in use: a busy key needs the same few names at every request. */
function rememberNames(
  toName: (concern: string, key: string, scope: string) => string,
): Seal['name'] {
  interface Known {
    readonly scope: string
    readonly name: string
  }
  const concerns = new Map<string, LRUCache<string, Known>>()
  return (concern, key, scope = '') => {
    let known = concerns.get(concern)
    if (known === undefined) {
      known = new LRUCache({ max: maxRemembered })
      concerns.set(concern, known)
    }
    const found = known.get(key)
    if (found?.scope === scope) return found.name
    const name = toName(concern, key, scope)
    if (key.length <= maxRememberedLength) known.set(key, { scope, name })
    return name
  }
}

function derive(secret: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, new Uint8Array(0), purpose, 32))
}
