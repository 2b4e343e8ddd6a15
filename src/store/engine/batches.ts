/**
 * Long lists in statements of bounded length: SQLite takes 32,766 parameters, PostgreSQL 65,535. The event
 * loop turns between two batches: statements of SQLite are synchronous, and other requests would otherwise
 * wait for all of them.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'

const batchRows = 500

/** Runs `work` over the list, some hundred at once, one after another; its results in order. */
export async function inBatches<Item, Result>(
  items: Iterable<Item>,
  work: (batch: readonly Item[]) => Promise<readonly Result[]>,
  rows = batchRows,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (const batch of toBatches(items, rows)) {
    for (const result of await work(batch)) results.push(result)
    // Before the items of the next batch are taken, since they may be made then.
    if (batch.length === rows) await nextTurn()
  }
  return results
}

/** Takes the items of a batch when the batch is asked for. */
function* toBatches<Item>(items: Iterable<Item>, rows: number): Generator<readonly Item[], void> {
  let batch: Item[] = []
  for (const item of items) {
    batch.push(item)
    if (batch.length < rows) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
