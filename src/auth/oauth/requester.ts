/**
 * Carries facts of the current request through the engine, whose callbacks do not say for which request they
 * run: the client's address, and why the request may not wait.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Why a request may not wait for a person: too many of its address do, or too many in all; or too many
 * documents of clients were fetched for its address, or are being fetched.
 */
export type ReachedBound = 'address' | 'all' | 'documents'

interface Requester {
  readonly address: string
  bound: ReachedBound | null
}

const requesters = new AsyncLocalStorage<Requester>()

/** Runs `work`; everything that it calls can read the address. */
export function runFor<Result>(address: string, work: () => Result): Result {
  return requesters.run({ address, bound: null }, work)
}

/** The address of the current request; null outside of one. */
export function requesterAddress(): string | null {
  return requesters.getStore()?.address ?? null
}

/** Marks the request as refused because too many wait: the edge answers so, whatever the engine answers. */
export function noteReachedBound(bound: ReachedBound): void {
  const requester = requesters.getStore()
  if (requester !== undefined) requester.bound = bound
}

/** The mark that `noteReachedBound` set on the current request, or null. */
export function reachedBound(): ReachedBound | null {
  return requesters.getStore()?.bound ?? null
}
