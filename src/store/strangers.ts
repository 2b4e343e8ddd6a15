/**
 * The share of the store that those have together who have shown nothing good yet: a few of the connections
 * to PostgreSQL, in turns that are fair by address. Whoever is known waits for none of them.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { makeFairQueue } from '#kernel/fair-queue.ts'
import { StoreUnavailableError } from './failure.ts'
import type { Store } from './ports/store.ts'

const limits = {
  /** A third of the connections (`engine/postgres-pool.ts`). */
  maxAtOnce: 3,
  maxAddresses: 1000,
  maxPerAddress: 100,
  /** As long as anybody waits for a connection. */
  maxWaitMs: 2_000,
} as const

export function makeForStranger(): Store['forStranger'] {
  const queue = makeFairQueue({
    ...limits,
    toBusyError: () =>
      new StoreUnavailableError('too many requests without a known key or session', {
        remedy: 'Let the proxy in front of the service limit the requests of an address',
      }),
  })
  const turn = new AsyncLocalStorage<true>()
  // A turn within a turn would wait for itself once all of them are taken.
  return (from, work) => {
    if (turn.getStore() === true) return work()
    return queue.run({ from, isKnown: false }, () => turn.run(true, work))
  }
}
