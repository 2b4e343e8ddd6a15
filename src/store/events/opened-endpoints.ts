/**
 * The address and the secrets of leased endpoints in plain text, so that an attempt does not decrypt them
 * again: its endpoint's row is read under a lock each time, and what was decrypted before is used while the
 * row holds the same ciphertexts. Other processes and operators may change them, or the keys they are under,
 * at any time. In memory only, for the life of a lease.
 */
import type { EndpointState } from '../ports/deliveries.ts'
import type { Sealer } from '../seal.ts'
import {
  type OpenedEndpoint,
  openEndpoint,
  type ReadEndpoint,
  toEndpointState,
} from './endpoint-rows.ts'

export interface OpenedEndpoints {
  /** The endpoint of a row that was read under this lease. */
  open(lease: string, row: ReadEndpoint): EndpointState
  /** The lease has ended. */
  forget(lease: string): void
}

type Sealed = Pick<ReadEndpoint, 'sealedUrl' | 'secret' | 'previousSecret' | 'previousUntil'>

interface Known {
  readonly sealed: Sealed
  readonly opened: OpenedEndpoint
}

/** Twice as many as one process sends to at once: a lease that is lost is not forgotten by itself. */
const mostLeases = 128

/** Makes the memory of one store. */
export function makeOpenedEndpoints(sealer: Sealer): OpenedEndpoints {
  const leases = new Map<string, Known>()
  return {
    open(lease, row) {
      const known = leases.get(lease)
      if (known !== undefined && isSame(known.sealed, row))
        return toEndpointState(row, known.opened)
      const opened = openEndpoint(sealer, row)
      leases.delete(lease)
      // What does not open is tried again each time.
      if (opened.secrets !== null) leases.set(lease, { sealed: row, opened })
      const [oldest] = leases.keys()
      if (leases.size > mostLeases && oldest !== undefined) leases.delete(oldest)
      return toEndpointState(row, opened)
    },
    forget: (lease) => {
      leases.delete(lease)
    },
  }
}

function isSame(one: Sealed, other: Sealed): boolean {
  return (
    isSameBytes(one.sealedUrl, other.sealedUrl) &&
    isSameBytes(one.secret, other.secret) &&
    isSameBytes(one.previousSecret, other.previousSecret) &&
    one.previousUntil === other.previousUntil
  )
}

function isSameBytes(one: Uint8Array | null, other: Uint8Array | null): boolean {
  return one === null || other === null ? one === other : Buffer.compare(one, other) === 0
}
