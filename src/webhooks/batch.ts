/**
 * Stores what becomes of claimed endpoints, several in one transaction: all that arrived while the previous
 * transaction was committed. A commit waits for the disk, and on the embedded store it blocks the whole
 * process.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EndpointId } from '#kernel/ids.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { Store, StoreRows } from '#store/ports/store.ts'

/** What concerns one endpoint. */
interface Item {
  readonly endpointId: EndpointId
}

export interface BatchOptions<Saved extends Item, Result> {
  /**
   * Transactions at once: one where the store has one writer; several where each statement waits for the
   * network. One endpoint's items are always stored by the same one, so that its transactions never wait for
   * each other.
   */
  readonly writers: number
  /**
   * Stores all of them, and returns their results in order; the items are ordered by endpoint, those of one
   * endpoint as they came. It may run more than once, so it must have no other effects.
   */
  readonly work: (tx: StoreRows, items: readonly Saved[]) => Promise<readonly Result[]>
  /** True for items that a crash of the machine may undo (`TransactOptions`). Absent: none may be lost. */
  readonly mayBeLost?: (item: Saved) => boolean
}

interface Entry<Saved, Result> {
  readonly item: Saved
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Bounds how long one transaction locks the endpoints, and on SQLite blocks the process. */
const maxAtOnce = 64

/**
 * Makes a function that stores one item, possibly with others, and resolves when it is committed.
 * @throws the error of `work` for this item alone, or of the store.
 */
export function makeBatch<Saved extends Item, Result>(
  store: Pick<Store, 'transact'>,
  options: BatchOptions<Saved, Result>,
): (item: Saved) => Promise<Result> {
  const { writers } = options
  const queues = Array.from({ length: writers }, () => makeQueue(store, options))
  return (item) => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const add = queues[Number.parseInt(item.endpointId.slice(-4), 16) % writers]
    if (add === undefined) throw new Error('attempts are saved by at least one writer')
    add({ item, resolve, reject })
    return promise
  }
}

function makeQueue<Saved extends Item, Result>(
  store: Pick<Store, 'transact'>,
  { work, mayBeLost = () => false }: BatchOptions<Saved, Result>,
): (entry: Entry<Saved, Result>) => void {
  const waiting: Entry<Saved, Result>[] = []
  let isBusy = false

  /** Never rejects. When one entry fails, all are stored again one by one, so that the others succeed. */
  async function saveAll(entries: readonly Entry<Saved, Result>[]): Promise<void> {
    const items = entries.map(({ item }) => item)
    try {
      const results = await store.transact((tx) => work(tx, items), {
        mayBeLost: items.every(mayBeLost),
      })
      for (const [index, entry] of entries.entries()) entry.resolve(results[index] as Result)
    } catch (error) {
      if (entries.length > 1 && !(error instanceof StoreUnavailableError)) {
        for (const entry of entries) await saveAll([entry])
      } else for (const entry of entries) entry.reject(error)
    }
  }

  async function drain(): Promise<void> {
    isBusy = true
    while (waiting.length > 0) {
      // Whatever arrives in this turn of the event loop is saved together.
      await nextTurn()
      const entries = waiting.splice(0, maxAtOnce)
      // Endpoints are locked in the order of their ids, so that transactions do not deadlock.
      await saveAll(entries.sort((one, other) => compare(one.item, other.item)))
    }
    isBusy = false
  }
  return (entry) => {
    waiting.push(entry)
    if (!isBusy) void drain()
  }
}

function compare(one: Item, other: Item): number {
  if (one.endpointId === other.endpointId) return 0
  return one.endpointId < other.endpointId ? -1 : 1
}
