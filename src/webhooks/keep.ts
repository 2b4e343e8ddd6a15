/**
 * Stores the results of attempts, several in one transaction: all that arrived while the previous transaction was
 * committed. A commit waits for the disk, and on the embedded store it blocks the whole process.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EndpointId } from '#kernel/ids.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { Store, StoreRows } from '#store/ports/store.ts'

/**
 * Runs `work` in a transaction, possibly with others; resolves when it is committed. `work` may run more than once, so it
 * must have no other effects. @throws the error of `work` itself, or of the store.
 */
export type Keep = <Result>(
  endpointId: EndpointId,
  work: (tx: StoreRows) => Promise<Result>,
) => Promise<Result>

interface Entry {
  readonly endpointId: EndpointId
  /** Resolves to a function that notifies the caller; it is called after the commit. */
  run(tx: StoreRows): Promise<() => void>
  fail(error: unknown): void
}

/** Bounds how long one transaction locks the endpoints, and on SQLite blocks the process. */
const maxAtOnce = 16

/**
 * @param writers transactions at once: one where the store has one writer; several where each statement waits for the
 * network. One endpoint's attempts are always kept by the same one, so that its transactions never wait for each other.
 */
export function makeKeep(store: Pick<Store, 'transact'>, writers: number): Keep {
  const queues = Array.from({ length: writers }, () => makeQueue(store))
  return (endpointId, work) => {
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof work>>>()
    const add = queues[Number.parseInt(endpointId.slice(-4), 16) % writers]
    if (add === undefined) throw new Error('attempts are kept by at least one writer')
    add({
      endpointId,
      async run(tx) {
        const result = await work(tx)
        return () => resolve(result)
      },
      fail: reject,
    })
    return promise
  }
}

function makeQueue(store: Pick<Store, 'transact'>): (entry: Entry) => void {
  const waiting: Entry[] = []
  let isBusy = false
  async function drain(): Promise<void> {
    isBusy = true
    while (waiting.length > 0) {
      // Whatever arrives in this turn of the event loop is kept together.
      await nextTurn()
      await keepAll(store, waiting.splice(0, maxAtOnce))
    }
    isBusy = false
  }
  return (entry) => {
    waiting.push(entry)
    if (!isBusy) void drain()
  }
}

/** Never rejects. When one entry fails, all are stored again one by one, so that the others succeed. */
async function keepAll(store: Pick<Store, 'transact'>, entries: readonly Entry[]): Promise<void> {
  // Endpoints are locked in the order of their ids, so that transactions do not deadlock.
  const ordered = entries.toSorted((one, other) => (one.endpointId < other.endpointId ? -1 : 1))
  try {
    const kept = await store.transact(async (tx) => {
      const tell: (() => void)[] = []
      for (const entry of ordered) tell.push(await entry.run(tx))
      return tell
    })
    for (const tell of kept) tell()
  } catch (error) {
    if (ordered.length > 1 && !(error instanceof StoreUnavailableError)) {
      for (const entry of ordered) await keepAll(store, [entry])
    } else for (const entry of ordered) entry.fail(error)
  }
}
