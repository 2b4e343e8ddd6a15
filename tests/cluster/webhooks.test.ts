/**
 * Deliveries of several processes on one PostgreSQL: each event is sent by one of them at a time, and none is
 * lost.
 */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { type ConnectionId, newId } from '#kernel/ids.ts'
import { aWhile, openStage, type StageOptions, withStatus } from '#tests/request/webhooks/stage.ts'
import { makeBare } from '#tests/support/notices.ts'
import { until } from '#tests/support/until.ts'
import { makePostgresGround } from './postgres-place.ts'

const ground = await makePostgresGround()
after(() => ground.remove())

const open = async (t: TestContext, options: StageOptions = {}) =>
  openStage(t, { place: await ground.makePlace(), workers: 3, ...options })

const rows = (count: number) => Array.from({ length: count }, (_, index) => `{"id":"${index}"}`)

test('three processes never send one event, nor two of one connection, at the same time, and send each once', async (t) => {
  const stage = await open(t)
  const inFlight = new Map<string, number>()
  const problems: string[] = []
  const laneOf = new Map<string, string>()
  const receiver = await stage.receive((response, { id }) => {
    const lane = laneOf.get(id) ?? id
    if (inFlight.has(lane)) problems.push(`${id} while its lane was in flight`)
    inFlight.set(lane, 1)
    setTimeout(() => {
      inFlight.delete(lane)
      response.end()
    }, 30)
  })
  const { id } = await stage.addEndpoint(receiver.url)
  const connections = Array.from({ length: 6 }, () => newId<ConnectionId>())
  const wanted = new Map<string, string[]>()
  for (let run = 0; run < 3; run += 1) {
    for (const connectionId of connections) {
      const ids = await stage.emit(rows(150), { connectionId })
      for (const one of ids) laneOf.set(one, connectionId)
      wanted.set(connectionId, [...(wanted.get(connectionId) ?? []), ...ids])
    }
  }
  await until('all are delivered', async () =>
    (await stage.deliveries(id)).every(({ status }) => status === 'succeeded'),
  )
  assert.deepEqual(problems, [])
  assert.equal(receiver.received.length, 36)
  for (const [connectionId, ids] of wanted) {
    const arrived = receiver.received.map((one) => one.id)
    assert.deepEqual(
      arrived.filter((one) => laneOf.get(one) === connectionId),
      ids,
    )
  }
  assert.deepEqual(stage.failures, [])
})

test('what a process held when it ended is sent by another once its lease is over', async (t) => {
  const stage = await open(t, { workers: 0 })
  const receiver = await stage.receive()
  const { id } = await stage.addEndpoint(receiver.url)
  await stage.emit()
  // By a process that never returns.
  const options = { now: stage.now(), leaseMs: 60_000, limit: 9, unhealthy: false }
  assert.equal((await stage.store.deliveries.claimEndpoints(options)).length, 1)
  await stage.addWorker()
  await stage.addWorker()
  await aWhile()
  assert.equal(receiver.received.length, 0)
  stage.pass(60_001)
  await until('it is delivered', async () =>
    (await stage.deliveries(id)).every(({ status }) => status === 'succeeded'),
  )
  assert.equal(receiver.received.length, 1)
})

test('an endpoint that is degraded for one process is degraded for all', async (t) => {
  const stage = await open(t)
  const receiver = await stage.receive(withStatus(500))
  const { id } = await stage.addEndpoint(receiver.url)
  for (let count = 0; count < 12; count += 1) await stage.emit()
  await until('it is paused', async () => {
    stage.pass(2000)
    return (await stage.store.endpoints.find(id))?.health === 'paused'
  })
  // Four at a time: the fifth failure in a row pauses it, and those of the same round were under way.
  const { length } = receiver.received
  assert.ok(length >= 5 && length <= 8, `${length} attempts`)
})

test('endpoints that are made and removed at once leave a ledger exactly when one is left', async (t) => {
  const stage = await open(t, { workers: 1 })
  const { store, webhooks, userId } = stage
  const url = 'http://127.0.0.1:9/'
  for (let round = 0; round < 10; round += 1) {
    const { row } = await webhooks.createEndpoint(byOperator, userId, { url })
    const [made] = await Promise.all([
      webhooks.createEndpoint(byOperator, userId, { url }),
      webhooks.removeEndpoint(byOperator, row.id),
    ])
    assert.ok((await store.ledgers.readKey(userId)) !== null, `round ${round}`)
    await webhooks.removeEndpoint(byOperator, made.row.id)
    assert.equal(await store.ledgers.readKey(userId), null)
  }
})

test('an endpoint with very many deliveries is removed, and so is a user with one, not all in one statement', async (t) => {
  const place = await ground.makePlace()
  const stage = await open(t, { place, workers: 0 })
  const { store, webhooks, userId } = stage
  await place.ask(`
    create function refuse_many() returns trigger language plpgsql as $$ begin
      if (select count(*) from deliveries where endpoint_id = old.id) > 5500 then
        raise exception 'too many rows for one statement';
      end if;
      return old;
    end $$`)
  await place.ask(`create trigger few before delete on webhook_endpoints
    for each row execute function refuse_many()`)
  async function addMany() {
    const { id } = await stage.addEndpoint('http://127.0.0.1:9/')
    await stage.emit()
    await place.ask(`insert into deliveries (id, event_id, endpoint_id, user_id, lane, position, status,
      attempts, is_replay, is_test, created_at)
      select gen_random_uuid(), event_id, endpoint_id, user_id, lane, position + n, 'succeeded',
      1, true, false, created_at from deliveries, generate_series(1, 6000) as n
      where endpoint_id = '${id}'`)
    return id
  }
  const id = await addMany()
  await webhooks.removeEndpoint(byOperator, id)
  assert.equal(await store.endpoints.find(id), null)
  await addMany()
  assert.equal(await makeBare(store, {}).deleteUser(byOperator, userId), true)
  assert.deepEqual(await place.ask('select id from deliveries'), [])
})
