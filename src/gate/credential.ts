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
  /** Where it comes from (reading R43); empty where that is not known. */
  readonly address: string
}

/**
 * Reads an Authorization header; `undefined` means a request without one.
 * @param address of the client, behind trusted proxies.
 */
export function toCredential(authorization: string | undefined, address = ''): Credential {
  const bearer = readBearer(authorization)
  if (bearer.kind !== 'token') return { bearer, hash: null, digest: '', address }
  const hash = hashKey(bearer.token)
  return { bearer, hash, digest: Buffer.from(hash).toString('latin1'), address }
}
