/**
 * One request's window, places and cached answer in this process's memory, in the order of reading R3. It is
 * also what the Redis driver does while Redis is unavailable, without the cache.
 */

import type { Acquired } from './memory-leases.ts'
import type { AdmitRequest, Admitted, CacheLookup, Unsure, WindowState } from './port.ts'

/** The steps, synchronous. */
export interface LocalSteps {
  take(key: string, limit: number, windowMs: number): WindowState
  isFull(key: string, limit: number): boolean
  acquire(key: string, limit: number): Acquired
  get(key: string): CacheLookup | Unsure
}

/** The time after which a place may be free: `Retry-After` cannot say less. */
export const placeRetryMs = 1000

export function admitLocally(steps: LocalSteps, admission: AdmitRequest): Admitted {
  const { window: counted, places, answer: key } = admission
  const window = counted === null ? null : steps.take(counted.key, counted.limit, counted.windowMs)
  if (window !== null && !window.allowed) return { kind: 'refused', window }
  if (key === null) return { kind: 'counted', window }
  if (places !== null && steps.isFull(places.key, places.limit)) {
    return { kind: 'full', window, retryMs: placeRetryMs }
  }
  const found = steps.get(key)
  if (found.kind === 'hit') return { kind: 'hit', window, answer: found.answer }
  if (found.kind === 'unsure') return { ...found, window }
  if (places === null) return { kind: found.kind, window, lease: null }
  const grant = steps.acquire(places.key, places.limit)
  if (grant.lease === null) return { kind: 'full', window, retryMs: grant.retryMs }
  return { kind: found.kind, window, lease: grant.lease }
}
