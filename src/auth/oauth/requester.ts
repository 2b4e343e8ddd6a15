/**
 * Who makes the request that the engine works on: the engine calls back without saying for whom, so the address is
 * carried along the asynchronous way.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

const addresses = new AsyncLocalStorage<string>()

/** Runs `work`; whatever it calls may ask for the address. */
export function runFor<Result>(address: string, work: () => Result): Result {
  return addresses.run(address, work)
}

/** The address of the request under way; null outside of one. */
export function requesterAddress(): string | null {
  return addresses.getStore() ?? null
}
