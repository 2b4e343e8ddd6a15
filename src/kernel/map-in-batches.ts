/** Runs `work` for each item, at most `size` at once. Returns what it made, in the order of the items. */
export async function mapInBatches<Item, Made>(
  items: readonly Item[],
  size: number,
  work: (item: Item) => Promise<Made>,
): Promise<Made[]> {
  const made: Made[] = []
  for (let start = 0; start < items.length; start += size) {
    made.push(...(await Promise.all(items.slice(start, start + size).map(work))))
  }
  return made
}
