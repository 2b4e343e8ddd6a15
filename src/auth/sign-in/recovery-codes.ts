/**
 * Recovery codes: ten at a time, each valid once, for a person without their authenticator app. A code has 80
 * random bits, so that its SHA-256 cannot be guessed from a stolen store. The characters 0, 1, l and o are
 * not used: they look like others.
 */
import { hash, randomBytes } from 'node:crypto'

const count = 10
/** 32 characters: five bits of a random byte choose one. */
const alphabet = '23456789abcdefghijkmnpqrstuvwxyz'
const length = 16
const shape = new RegExp(`^[${alphabet}]{${length}}$`)

/** Ten new codes as they are shown, and the hashes to store. */
export function makeRecoveryCodes(): {
  readonly codes: readonly string[]
  readonly hashes: readonly Uint8Array[]
} {
  const plain = Array.from({ length: count }, () =>
    Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]).join(''),
  )
  return {
    codes: plain.map((code) => code.replace(/(.{4})(?=.)/g, '$1-')),
    hashes: plain.map(toHash),
  }
}

/**
 * The hash of a code as typed, without its separators and in any case; null when it has not the form of one.
 */
export function readRecoveryCode(typed: string): Uint8Array | null {
  const plain = typed.toLowerCase()
  return shape.test(plain) ? toHash(plain) : null
}

function toHash(plain: string): Uint8Array {
  return hash('sha256', `recovery-code:${plain}`, 'buffer')
}
