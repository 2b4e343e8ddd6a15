/**
 * The event river of a process of its own while the clock is set, the master key is replaced and a user is
 * deleted. What receivers got is judged as after kills.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { Child } from './kills/child.ts'
import { makeSqliteGround } from './kills/ground.ts'
import {
  isEverythingSent,
  openStage,
  passTime,
  readMetric,
  type Stage,
  settle,
  setUp,
  startLife,
  syncAll,
  waitUntil,
} from './kills/stage.ts'

const succeeded = 'tributary_syncs_total{provider="fiskil",result="succeeded"}'
const hourMs = 3_600_000
const dayMs = 24 * hourMs

interface Living {
  readonly stage: Stage
  readonly child: Child
}

/** Makes everything; the service sends its events to receivers that answer 200. */
async function live(t: TestContext, environment: Record<string, string> = {}): Promise<Living> {
  const ground = await makeSqliteGround()
  t.after(() => ground.remove())
  Object.assign(ground.environment, environment)
  const stage = await openStage(ground, 'river')
  t.after(() => stage.close())
  stage.receiver.behave()
  const child = startLife(stage, { EVENT_RETENTION_HOURS: '72' })
  t.after(() => child.kill())
  await setUp(stage, child)
  await syncAll(stage, child)
  await waitUntilDelivered(stage, child)
  return { stage, child }
}

const waitUntilDelivered = (stage: Stage, child: Child): Promise<void> =>
  waitUntil('everything is delivered', () => isEverythingSent(stage, child))

const firstArrivals = ({ receiver }: Stage): number =>
  receiver.endpoints.reduce((sum, { arrivals }) => sum + arrivals.length, 0)

test('after the clock is set forwards and backwards all due work is done and nothing is sent twice', async (t) => {
  const { stage, child } = await live(t)
  for (const jumpMs of [5 * hourMs, -3 * dayMs, 2 * dayMs, -5 * hourMs, 10 * dayMs]) {
    stage.bank.change()
    passTime(stage, [child], jumpMs)
    await syncAll(stage, child)
    await waitUntilDelivered(stage, child)
  }
  // Without a request, too: the schedule was not lost.
  const runs = async () => Number(await readMetric(child, succeeded))
  const before = await runs()
  passTime(stage, [child], dayMs)
  await waitUntil('both banks are read again', async () => (await runs()) >= before + 2)
  assert.equal(await runs(), before + 2, 'once each, however many intervals have passed')
  await waitUntilDelivered(stage, child)
  assert.equal(stage.receiver.count(), firstArrivals(stage))
  await child.stop()
  assert.deepEqual(await settle(stage), [])
})

test('a service that is killed while the clock is days ahead continues as soon as the clock is right again', async (t) => {
  const { stage, child } = await live(t)
  passTime(stage, [child], 3 * dayMs)
  stage.receiver.behave(500)
  stage.bank.change()
  await syncAll(stage, child)
  const tried = stage.receiver.count()
  await waitUntil('it was tried', async () => stage.receiver.count() > tried)
  await child.kill()
  stage.receiver.behave()
  passTime(stage, [], -3 * dayMs)
  const next = startLife(stage, { SYNC_INTERVAL_MINUTES: '1' })
  t.after(() => next.kill())
  await next.ready
  const runs = async () => Number(await readMetric(next, succeeded))
  const isDoneOrLater = async () => {
    // Leases of the killed process end within two minutes.
    const isDone = (await runs()) >= 2 && (await isEverythingSent(stage, next))
    if (!isDone) passTime(stage, [next], 5000)
    return isDone
  }
  await waitUntil('everything is sent and the schedule goes on', isDoneOrLater, 500)
  assert.ok(stage.aheadMs < hourMs, 'the clock did not have to catch up')
  await next.stop()
  // Payloads that were accepted ahead are kept until their retention has ended by the right clock.
  passTime(stage, [], 3 * dayMs)
  assert.deepEqual(await settle(stage), [])
})

test('with another encryption key pending events are delivered and verified, and no known row is reported again', async (t) => {
  const [former, next] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
  const { stage, child } = await live(t, { ENCRYPTION_KEY: former })
  stage.receiver.behave(500)
  stage.bank.change()
  await syncAll(stage, child)
  const tried = stage.receiver.count()
  await waitUntil('it was tried', async () => stage.receiver.count() > tried)
  await child.stop()
  stage.receiver.behave()
  passTime(stage, [], hourMs)
  const both = startLife(stage, { ENCRYPTION_KEY: `${next},${former}` })
  t.after(() => both.kill())
  await both.ready
  await waitUntilDelivered(stage, both)
  // Its process seals in the background; a start without the former key is refused until that is done.
  await waitUntil('everything is sealed under the new key', async () =>
    JSON.stringify(await both.ask('GET', '/admin/doctor')).includes(
      'every sealed row is encrypted with the first key of 2',
    ),
  )
  await both.stop()
  Object.assign(stage.ground.environment, { ENCRYPTION_KEY: next })
  const alone = startLife(stage)
  t.after(() => alone.kill())
  stage.bank.change()
  await syncAll(stage, alone)
  await alone.stop()
  assert.deepEqual(await settle(stage), [])
})

test('a user who is deleted during a sync and a delivery is sent nothing more, and nothing of theirs is left', async (t) => {
  const { stage, child } = await live(t)
  const { receiver, sandbox, ground } = stage
  const held = Promise.withResolvers<void>()
  const isHeld = Promise.withResolvers<void>()
  // Several events wait behind the one that is held at each endpoint.
  receiver.onMessage = () => {
    isHeld.resolve()
    return held.promise
  }
  for (let count = 0; count < 3; count += 1) {
    stage.bank.change()
    await syncAll(stage, child)
  }
  await isHeld.promise
  sandbox.fiskil.addFault({
    when: ({ path }) => path.endsWith('/banking/transactions'),
    does: { kind: 'delay', ms: 1000 },
  })
  const read = sandbox.fiskil.requests.length
  const syncs = stage.connections.map((id) =>
    child.ask('POST', `/admin/connections/${id}/sync`).then(
      () => 'done',
      () => 'refused',
    ),
  )
  await waitUntil('they read', async () => sandbox.fiskil.requests.length > read)
  await child.ask('DELETE', `/admin/users/${stage.userId}`)
  const sent = receiver.count()
  held.resolve()
  assert.deepEqual(new Set(await Promise.all(syncs)), new Set(['refused']))
  passTime(stage, [child], 2 * hourMs)
  await child.stop()
  // Once more, with whatever the sweeps find.
  const next = startLife(stage)
  t.after(() => next.kill())
  await next.ready
  const swept = 'tributary_background_last_success_seconds{task="event-retention"}'
  await waitUntil('retention has run', async () =>
    String(await next.ask('GET', '/metrics')).includes(swept),
  )
  await next.stop()
  assert.equal(receiver.count(), sent)
  assert.deepEqual(receiver.problems, [])
  for (const table of tables) {
    assert.deepEqual(await ground.ask(`select * from ${table}`), [], table)
  }
  assert.equal(await ground.countKeys(), 0)
})

/** Everything but the audit, which names the deletion, and what the store knows of itself. */
const tables = [
  'users',
  'api_keys',
  'logins',
  'connections',
  'accounts',
  'sessions',
  'second_factors',
  'recovery_codes',
  'passkeys',
  'used_challenges',
  'oauth_grants',
  'syncs',
  'sync_runs',
  'ledger_keys',
  'ledger_months',
  'webhook_endpoints',
  'events',
  'deliveries',
  'attempts',
]
