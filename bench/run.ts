/**
 * Runs the benchmarks that are named, or all of them, and prints their figures. After a run in which all of
 * them were measured at their usual sizes the table of docs/performance.md is written anew. `--connections`,
 * `--endpoints`, `--minutes` and `--workers` set the sizes of `fleet`. `--profile FOLDER` leaves a CPU
 * profile of each round of `ledger` and `deliver` there.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { measureClients } from './clients.ts'
import { measureDeliveries } from './deliver.ts'
import { type Figure, toLine, toTable } from './figures.ts'
import { measureFleet, toFleetSizes } from './fleet/fleet.ts'
import { measureScale } from './fleet/scale.ts'
import { measureHits } from './hit.ts'
import { measureSharedHits } from './hit-shared.ts'
import { measureLedger } from './ledger.ts'
import { measureTools } from './mcp.ts'
import { measureMemory } from './memory.ts'
import { measureMisses } from './miss.ts'
import { measureNarrow } from './narrow.ts'
import { measureReadings } from './readings.ts'
import { measureSimplefin } from './simplefin.ts'
import { measureStart } from './start.ts'
import { measureStoreCopy } from './store-copy.ts'
import { measureWaits } from './waits.ts'
import { measureWalk } from './walk.ts'

const size = { type: 'string' } as const
const { values: flags, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: { connections: size, endpoints: size, minutes: size, workers: size, profile: size },
})
// Read by the measured processes (span.ts).
if (flags.profile !== undefined) process.env.BENCH_PROFILE = resolve(flags.profile)
const benches: Readonly<Record<string, () => Promise<Figure[]>>> = {
  hit: measureHits,
  'hit-shared': measureSharedHits,
  narrow: measureNarrow,
  miss: measureMisses,
  readings: measureReadings,
  walk: measureWalk,
  mcp: measureTools,
  simplefin: measureSimplefin,
  clients: measureClients,
  waits: () => measureWaits(),
  memory: measureMemory,
  start: measureStart,
  ledger: () => measureLedger(),
  deliver: () => measureDeliveries(),
  copy: measureStoreCopy,
  scale: measureScale,
  fleet: () => measureFleet(toFleetSizes(flags)),
}
const page = fileURLToPath(new URL('../docs/performance.md', import.meta.url))
const [begin, end] = ['<!-- figures: written by `npm run bench` -->', '<!-- figures end -->']

const unknown = asked.find((name) => !Object.hasOwn(benches, name))
if (unknown !== undefined) {
  const names = Object.keys(benches).join(', ')
  process.stderr.write(`there is no benchmark "${unknown}"; there are ${names}\n`)
  process.exit(2)
}
const figures: Figure[] = []
const unmeasured: string[] = []
for (const [name, measure] of Object.entries(benches)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  const measured = await measure()
  if (measured.length === 0) unmeasured.push(name)
  for (const figure of measured) {
    figures.push(figure)
    console.log(toLine(figure))
  }
}
console.log(
  `load average: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(', ')}`,
)
if (asked.length === 0 && Object.keys(flags).length === 0) {
  // Their rows, which are of another run, would be lost.
  if (unmeasured.length > 0)
    console.log(`${page} stays as it is: ${unmeasured.join(', ')} could not be measured`)
  else writeFileSync(page, replaceTable(readFileSync(page, 'utf8')))
}

function replaceTable(text: string): string {
  const [before, rest] = text.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined)
    throw new Error(`${page} has no place for figures`)
  const model = cpus()[0]?.model.trim() || 'unknown processor'
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GB`
  const machine = `${model}, ${cpus().length} cores, ${memory}, ${process.platform} ${process.arch}`
  const day = new Date().toISOString().slice(0, 10)
  const origin = `Taken on ${day} with Node ${process.versions.node} on: ${machine}.`
  return `${before}${begin}\n${origin}\n\n${toTable(figures)}\n${end}${after}`
}
