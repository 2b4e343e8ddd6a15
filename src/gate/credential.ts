/**
 * The credential of a request, read and hashed once per connection. Raw tokens are kept nowhere else, and
 * only while the connection is open (ARCHITECTURE.md, The reading river).
 */
import { hashKey } from '#auth/keys.ts'
import { type BearerReading, readBearer } from './bearer.ts'

export interface Credential {
  readonly bearer: BearerReading
  /** SHA-256 of the token; null without a token. */
  readonly hash: Uint8Array | null
  /** The hash as a string, for map keys; empty without a token. */
  readonly digest: string
}

/** Reads an Authorization header; `undefined` means a request without one. */
export function toCredential(authorization: string | undefined): Credential {
  const bearer = readBearer(authorization)
  if (bearer.kind !== 'token') return { bearer, hash: null, digest: '' }
  const hash = hashKey(bearer.token)
  return { bearer, hash, digest: Buffer.from(hash).toString('latin1') }
}
