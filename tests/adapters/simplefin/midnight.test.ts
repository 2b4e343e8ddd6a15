/** The first day of the newest window is another one after midnight UTC. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { toMicros } from '#kernel/time.ts'
import { accountOf, dayMs, loginFor, makeGround, queryFor, startOfTests, walk } from './harness.ts'

test('R17: a walk that waits over midnight for the reading of another process has the rows of every day', async () => {
  await using ground = await makeGround()
  const midnight = Math.ceil(startOfTests / dayMs) * dayMs
  const account = accountOf(ground, 'healthy')
  const [row] = account.rows
  assert.ok(row !== undefined)
  account.rows = Array.from({ length: 100 }, (_, days) => ({
    ...row,
    id: `${days} days ago`,
    posted: (midnight - (days + 1) * dayMs) / 1000 + 43_200,
  }))
  const window = { from: toMicros(midnight - 100 * dayMs), to: toMicros(midnight), isOpen: true }
  const query = queryFor(ground, 'healthy', { window, login: loginFor(ground, 'healthy') })
  ground.clock.ms = midnight - 300
  ground.isReadElsewhere = true
  const before = walk(ground.adapter, query)
  await sleep(100)
  ground.clock.ms = midnight + 100
  ground.isReadElsewhere = false
  const after = walk(ground.adapter, query)
  const ids = ({ rows }: Awaited<typeof after>) => new Set(rows.map(({ id }) => id))
  assert.deepEqual(ids(await before), ids(await after))
})
