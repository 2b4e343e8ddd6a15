/**
 * Two processes on one PostgreSQL are killed a few times; `npm run faults -- --store postgres` does it
 * hundreds of times.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runKills } from '#tests/faults/kills/run.ts'
import { makeSharedGround } from './kills-ground.ts'

test('two processes on one PostgreSQL, killed at random moments, lose and change no event and report each row as new once', async (t) => {
  const ground = await makeSharedGround()
  t.after(() => ground.remove())
  const result = await runKills({ ground, rounds: 4, seed: '2' })
  assert.deepEqual(result.problems, [])
  assert.ok(result.events > 3, JSON.stringify(result))
})
