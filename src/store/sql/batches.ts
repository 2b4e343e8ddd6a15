/** Long lists in statements of bounded length: SQLite takes 32,766 parameters, PostgreSQL 65,535. */

const batchRows = 500

/** Runs `work` over the list, some hundred at once, one after another; its results in order. */
export async function inBatches<Item, Result>(
  items: readonly Item[],
  work: (batch: readonly Item[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (let from = 0; from < items.length; from += batchRows)
    for (const result of await work(items.slice(from, from + batchRows))) results.push(result)
  return results
}
