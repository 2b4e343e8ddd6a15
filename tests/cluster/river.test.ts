/**
 * The event river of real processes: two of them on one PostgreSQL, without their Redis, and one whose disk
 * is full. What receivers got is judged as after kills.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import type { Child } from '#tests/faults/kills/child.ts'
import { type Ground, makeSqliteGround } from '#tests/faults/kills/ground.ts'
import {
  isEverythingSent,
  openStage,
  passTime,
  type Stage,
  settle,
  setUp,
  startLife,
  syncAll,
  waitUntil,
} from '#tests/faults/kills/stage.ts'
import { makeSharedGround } from './kills-ground.ts'
import { makeRedisServer } from './redis-server.ts'

/** Everything is made, and receivers answer 200. */
async function live(t: TestContext, ground: Ground) {
  t.after(() => ground.remove())
  const stage = await openStage(ground, 'river')
  t.after(() => stage.close())
  stage.receiver.behave()
  const children = Array.from({ length: ground.processes }, () =>
    startLife(stage, { EVENT_RETENTION_HOURS: '72' }),
  )
  t.after(() => Promise.all(children.map((child) => child.kill())))
  const [first] = children
  assert(first !== undefined)
  await setUp(stage, first)
  await Promise.all(children.map(({ ready }) => ready))
  return { stage, children, first }
}

const waitUntilDelivered = (stage: Stage, child: Child) =>
  waitUntil('everything is delivered', () => isEverythingSent(stage, child))

const firstArrivals = ({ receiver }: Stage) =>
  receiver.endpoints.reduce((sum, { arrivals }) => sum + arrivals.length, 0)

test('two processes on one PostgreSQL, asked for the same syncs at once, read no connection together and send each event once', async (t) => {
  const { stage, children, first } = await live(t, await makeSharedGround())
  for (let round = 0; round < 6; round += 1) {
    stage.bank.change()
    const all = stage.connections.flatMap((id) =>
      children.map((child) => child.ask('POST', `/admin/connections/${id}/sync`)),
    )
    await Promise.all(all)
    for (const bank of stage.connections.keys()) stage.bank.owe(bank)
  }
  await waitUntilDelivered(stage, first)
  assert.equal(stage.receiver.count(), firstArrivals(stage))
  await Promise.all(children.map((child) => child.stop()))
  const together = await stage.ground.ask(
    `select one.id from sync_runs one join sync_runs other
      on other.connection_id = one.connection_id and other.id <> one.id
      where one.started_at <= other.started_at and one.ended_at > other.started_at`,
  )
  assert.deepEqual(together, [])
  const [runs] = await stage.ground.ask(
    "select count(*) as n from sync_runs where state = 'succeeded'",
  )
  assert.ok(Number(runs?.n) >= 12, 'each round read both banks')
  assert.deepEqual(await settle(stage), [])
})

test('without Redis connections are synced and events are sent, and when it is back', async (t) => {
  const redis = await makeRedisServer()
  t.after(() => redis.close())
  await redis.start()
  const ground = await makeSharedGround()
  Object.assign(ground.environment, { REDIS_URL: redis.url })
  const { stage, children, first } = await live(t, ground)
  for (const turn of [() => redis.kill(), () => redis.start()]) {
    await turn()
    stage.bank.change()
    for (const child of children) await syncAll(stage, child)
    await waitUntilDelivered(stage, first)
  }
  assert.equal(stage.receiver.count(), firstArrivals(stage))
  await Promise.all(children.map((child) => child.stop()))
  assert.deepEqual(await settle(stage), [])
})

test('on a full disk a sync stores nothing and events sent meanwhile are sent again; with free space every event arrives once', async (t) => {
  const { stage, first } = await live(t, await makeSqliteGround())
  const limit = (bytes: string) =>
    execFileSync('prlimit', ['--pid', String(first.pid), `--fsize=${bytes}:`])
  await syncAll(stage, first)
  await waitUntilDelivered(stage, first)
  // The disk is full before what was answered can be kept.
  const full = Promise.withResolvers<void>()
  stage.receiver.onMessage = () => full.promise
  const sent = stage.receiver.count()
  stage.bank.change()
  await syncAll(stage, first)
  await waitUntil('a message is under way', async () => stage.receiver.count() > sent)
  limit('4096')
  full.resolve()
  stage.bank.change()
  for (const id of stage.connections)
    await assert.rejects(first.ask('POST', `/admin/connections/${id}/sync`), /503|500/)
  passTime(stage, [first], 600_000)
  await waitUntil('background work has met the full disk', async () =>
    /^tributary_background_failures_total\{.*\} [1-9]/m.test(
      String(await first.ask('GET', '/metrics')),
    ),
  )
  const meanwhile = stage.receiver.count()
  limit('unlimited')
  // Leases were neither kept nor given back: they are over by now.
  passTime(stage, [first], 130_000)
  await waitUntilDelivered(stage, first)
  assert.ok(meanwhile <= sent + 4, 'nobody was flooded')
  await syncAll(stage, first)
  await waitUntilDelivered(stage, first)
  await first.stop()
  assert.deepEqual(await settle(stage), [])
})
