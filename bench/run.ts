/**
 * Runs the benchmarks that are named, or all of them, and prints their figures. After a run of all of them the table of
 * docs/performance.md is written anew.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type Figure, toLine, toTable } from './figures.ts'
import { measureHits } from './hit.ts'
import { measureTools } from './mcp.ts'
import { measureMemory } from './memory.ts'
import { measureMisses } from './miss.ts'
import { measurePeers } from './peers.ts'
import { measureStart } from './start.ts'
import { measureWalk } from './walk.ts'

const benches: Readonly<Record<string, () => Promise<Figure[]>>> = {
  hit: measureHits,
  miss: measureMisses,
  walk: measureWalk,
  mcp: measureTools,
  memory: measureMemory,
  start: measureStart,
  peers: measurePeers,
}
const page = fileURLToPath(new URL('../docs/performance.md', import.meta.url))
const [begin, end] = ['<!-- figures: written by `npm run bench` -->', '<!-- figures end -->']

const asked = process.argv.slice(2)
const unknown = asked.find((name) => !Object.hasOwn(benches, name))
if (unknown !== undefined) {
  throw new Error(
    `there is no benchmark "${unknown}"; there are ${Object.keys(benches).join(', ')}`,
  )
}
const figures: Figure[] = []
for (const [name, measure] of Object.entries(benches)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  for (const figure of await measure()) {
    figures.push(figure)
    console.log(toLine(figure))
  }
}
if (asked.length === 0) writeFileSync(page, replaceTable(readFileSync(page, 'utf8')))

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
