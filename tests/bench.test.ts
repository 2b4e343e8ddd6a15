/**
 * The benchmarks of the event river run to their end at tiny sizes; what they measure is no concern of a
 * test.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { measureDeliveries } from '../bench/deliver.ts'
import type { Figure } from '../bench/figures.ts'
import { measureFleet } from '../bench/fleet/fleet.ts'
import { measureLedger } from '../bench/ledger.ts'

// On PostgreSQL tables as small as these are read as a whole, and rightly so.
delete process.env.TEST_DATABASE_URL

function assertFigures(figures: readonly Figure[], least: number): void {
  assert.ok(figures.length >= least)
  for (const { what, figure, ratio } of figures)
    assert.doesNotMatch(`${figure} ${ratio}`, /NaN|undefined|Infinity|^ *$/, what)
}

test('the name of no benchmark is one line with those that there are, exit 2', () => {
  const program = fileURLToPath(new URL('../bench/run.ts', import.meta.url))
  const args = ['--disable-warning=ExperimentalWarning', program, 'nonsense']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  assert.deepEqual([status, stdout], [2, ''])
  assert.match(stderr, /^there is no benchmark "nonsense"; there are hit, .*copy.*\n$/)
})

test('the benchmark of the ledger has its figures', async () => {
  const sizes = { rounds: 1, warmUp: 1, rows: [1000], accounts: 5, rowsOfMonth: [20] }
  assertFigures(await measureLedger(sizes), 4)
})

test('the benchmark of deliveries has its figures', async () => {
  assertFigures(await measureDeliveries({ rounds: 1, perRound: 32, timed: 3 }), 7)
})

test('the benchmark of a fleet has its figures, and its statements find their rows by an index', async () => {
  const size = { connections: 2000, endpoints: 200 }
  const sizes = { sqlite: size, postgres: size, items: 10, minutes: 2, workers: 1 }
  const figures = await measureFleet(sizes)
  assertFigures(figures, 8)
  for (const { what, met } of figures)
    if (what.startsWith('tables read as a whole')) assert.equal(met, true, what)
})
