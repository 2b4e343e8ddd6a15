/** Runs the benchmarks that are named, or all of them, and prints their figures. */
import { type Figure, toLine } from './figures.ts'
import { measureHits } from './hit.ts'
import { measureMemory } from './memory.ts'
import { measureMisses } from './miss.ts'
import { measureStart } from './start.ts'
import { measureWalk } from './walk.ts'

const benches: Readonly<Record<string, () => Promise<Figure[]>>> = {
  hit: measureHits,
  miss: measureMisses,
  walk: measureWalk,
  memory: measureMemory,
  start: measureStart,
}

const asked = process.argv.slice(2)
for (const [name, measure] of Object.entries(benches)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  for (const figure of await measure()) console.log(toLine(figure))
}
