/** The service is killed a few times at random moments; `npm run faults` does it hundreds of times. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeSqliteGround } from './kills/ground.ts'
import { runKills } from './kills/run.ts'

test('killed at random moments the service loses and changes no event and reports each row as new once', async (t) => {
  const ground = await makeSqliteGround()
  t.after(() => ground.remove())
  const result = await runKills({ ground, rounds: 4, seed: process.env.KILLS_SEED ?? '1' })
  assert.deepEqual(result.problems, [])
  assert.ok(result.events > 3, JSON.stringify(result))
})
