/**
 * The origin of a request, stored with rows that unauthenticated clients create. Keyed fingerprints let us
 * count addresses without storing them in readable form. Pure.
 */
import { createHmac } from 'node:crypto'
import { toAddressGroup } from '#kernel/addresses.ts'
import { networkBytes } from '#store/ports/oauth.ts'

/**
 * The fingerprints of its network, then of the address.
 * @param addressGroup as limits count it (`toAddressGroup`).
 */
export function toOriginDigest(addressGroup: string, secret: Uint8Array): Uint8Array {
  const [address = ''] = addressGroup.split('/')
  const parts = [`network:${toAddressGroup(address, 56)}`, `address:${addressGroup}`]
  const digests = parts.map((text) => createHmac('sha256', secret).update(text).digest())
  return new Uint8Array(Buffer.concat(digests.map((digest) => digest.subarray(0, networkBytes))))
}
