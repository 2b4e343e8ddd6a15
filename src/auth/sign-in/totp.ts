/**
 * Codes that change with time: TOTP (RFC 6238) with SHA-1, six digits and steps of 30 seconds, which is what
 * every authenticator app knows. It computes and compares; what was used before is known to the store.
 */
import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import type { TOTP } from 'otpauth'

/** RFC 4226 §4: a shared secret should have 160 bits. */
const secretBytes = 20
const stepMs = 30_000
/** RFC 6238 §5.2: one step to either side, for clocks that differ and for slow typing. */
const windowSteps = 1
const issuer = 'Tributary'

/** Loaded at the first code: most sign-ins have none. */
const loadLibrary = (): typeof import('otpauth') => createRequire(import.meta.url)('otpauth')

export function makeTotpSecret(): Uint8Array {
  return new Uint8Array(randomBytes(secretBytes))
}

/** The step whose code this is, at most one away from the present one; null when the code is wrong. */
export function findStep(secret: Uint8Array, code: string, now: number): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const delta = makeTotp(secret).validate({ token: code, timestamp: now, window: windowSteps })
  return delta === null ? null : Math.floor(now / stepMs) + delta
}

/** The secret as a person types it into an app: base32 (RFC 4648 §6) without padding. */
export function toTotpText(secret: Uint8Array): string {
  const { Secret } = loadLibrary()
  return new Secret({ buffer: toBuffer(secret) }).base32
}

/** The address that an app reads from a QR code; it contains the secret. */
export function toTotpUri(secret: Uint8Array, email: string): string {
  return makeTotp(secret, email).toString()
}

function makeTotp(secret: Uint8Array, label = ''): TOTP {
  const library = loadLibrary()
  return new library.TOTP({
    issuer,
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: stepMs / 1000,
    secret: new library.Secret({ buffer: toBuffer(secret) }),
  })
}

function toBuffer(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer
}
