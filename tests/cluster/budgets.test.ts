/**
 * The budget of an account at SnapTrade, over Valkey/Redis: two processes together make as many calls as one.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { openKv } from '#fast/open.ts'
import { systemClock } from '#kernel/time.ts'
import { makeBudget } from '#providers/budget.ts'
import { snaptradeFacts } from '#providers/snaptrade/facts.ts'
import { isShared, until } from './kv-stage.ts'
import { makeRedisServer } from './redis-server.ts'

test('two processes make nine calls a minute about an account together, and background work leaves two of them', async (t) => {
  const server = await makeRedisServer()
  await server.start()
  const cacheKey = randomBytes(32)
  const open = () =>
    openKv({
      redisUrl: server.url,
      clock: systemClock,
      cacheMaxBytes: 1024 * 1024,
      cacheMaxEntryBytes: 1024,
      cacheKey,
    })
  const processes = [await open(), await open()]
  t.after(async () => {
    for (const kv of processes) await kv.close()
    await server.close()
  })
  await until(() => processes.every((kv) => isShared(kv)))
  const budgets = processes.map((kv) =>
    makeBudget({
      windows: kv.budgets,
      clock: systemClock,
      name: 'snaptrade-account',
      ...snaptradeFacts.accountBudget,
      // Refused at once, so that the test need not wait for the next minute.
      backgroundWaitMs: 0,
    }),
  )
  const spend = async (priority: 'background' | 'user', of: string) => {
    const { signal } = new AbortController()
    let allowed = 0
    for (let call = 0; call < 12; call += 1) {
      const budget = budgets[call % budgets.length]
      if ((await budget?.({ priority, signal }, of))?.allowed) allowed += 1
    }
    return allowed
  }
  assert.deepEqual([await spend('background', 'a'), await spend('user', 'a')], [7, 2])
  assert.equal(await spend('user', 'b'), 9)
})
