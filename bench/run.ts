/**
 * `npm run bench`: runs the benchmarks that are named, or all of them, prints their figures, and writes the table of
 * docs/performance.md when all ran. Nothing here is a test: a figure that missed its goal is printed, not failed.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { type Figure, toLine, toTable } from './figures.ts'
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
const page = new URL('../docs/performance.md', import.meta.url)
const begin = '<!-- figures: written by `npm run bench` -->'
const end = '<!-- end of figures -->'

const asked = process.argv.slice(2)
const found: Figure[] = []
for (const [name, measure] of Object.entries(benches)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  for (const figure of await measure()) {
    console.log(toLine(figure))
    found.push(figure)
  }
}
if (asked.length === 0) writeTable(found)

function writeTable(figures: readonly Figure[]): void {
  const text = readFileSync(page, 'utf8')
  const [head, rest] = [text.slice(0, text.indexOf(begin)), text.slice(text.indexOf(end))]
  const day = new Date().toISOString().slice(0, 10)
  const where = `Node ${process.version}, ${process.platform} ${process.arch}, ${cpus().length} cores, ${day}`
  writeFileSync(page, `${head}${begin}\n\n${where}\n\n${toTable(figures)}\n\n${rest}`)
}
