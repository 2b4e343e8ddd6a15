/**
 * The book of deliveries: the page of an endpoint, the admin API and the receiver itself count the same
 * events, attempts and replays.
 */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { request } from 'undici'
import { type ConnectionId, newId, type SyncRunId } from '#kernel/ids.ts'
import { startReceiver, startWorker, withStatus } from '#tests/request/webhooks/stage.ts'
import { until } from '#tests/support/until.ts'
import { makeEvents } from '#webhooks/envelope.ts'
import { type PagesWorld, startPages } from './world.ts'

let world: PagesWorld
let worker: ReturnType<typeof startWorker>
before(async () => {
  world = await startPages()
  const failed = (_task: string, error: unknown) => assert.fail(String(error))
  const report = { attempt: () => {}, warning: () => {}, shredded: () => {}, failed }
  worker = startWorker(world.service.app.store, { clock: world.service.clock, report })
})
after(async () => {
  await worker.stop()
  await world.close()
})

/**
 * What is told of one delivery: its event, whether it is a replay, its state, and what each attempt was
 * answered.
 */
interface Told {
  readonly eventId: string
  readonly isReplay: boolean
  readonly status: string
  readonly answers: readonly string[]
}

const states: Readonly<Record<string, string>> = {
  delivered: 'succeeded',
  'failed for good': 'exhausted',
  'not sent: the endpoint was disabled': 'missed',
}

function readPage(text: string): Told[] {
  const table = text.slice(text.indexOf('aria-label="Deliveries"'))
  return table
    .split('<tr role="row">')
    .slice(2)
    .map((row) => {
      const state = /data-label="State">(.*?)<\/td>/s.exec(row)?.[1] ?? ''
      return {
        eventId: /<code>([^<]*)<\/code>/.exec(row)?.[1] ?? '',
        isReplay: row.includes('(replayed)'),
        status: states[state] ?? 'pending',
        answers: [
          ...row.matchAll(/<li>.*?<\/time>: (?:the endpoint answered )?(\d+|no answer)[, ]/gs),
        ].map(([, of = '']) => of),
      }
    })
}

interface Listed extends Omit<Told, 'answers'> {
  readonly attempts: readonly { readonly status: number | null }[]
}

async function readAdmin(id: string): Promise<Told[]> {
  const { adminUrl, adminToken } = world.service
  const answer = await request(`${adminUrl}/admin/webhooks/${id}/deliveries?limit=100`, {
    headers: { authorization: `Bearer ${adminToken}` },
  })
  const { data } = (await answer.body.json()) as { data: Listed[] }
  return data.map(({ eventId, isReplay, status, attempts }) => ({
    eventId,
    isReplay,
    status,
    answers: attempts.map((one) => `${one.status ?? 'no answer'}`),
  }))
}

async function settle(t: TestContext) {
  const receiver = await startReceiver(t, withStatus(200))
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const given = { url: receiver.url, events: ['transactions.synced'] }
  await jar.post('/webhooks', { ...(await jar.get('/webhooks')).hidden, ...given })
  const { store } = world.service.app
  const [endpoint] = await store.endpoints.list(person.id)
  assert.ok(endpoint !== undefined)
  const { id } = endpoint
  const path = `/webhooks/${id}`
  const press = async (verb: string) => jar.post(`${path}/${verb}`, (await jar.get(path)).hidden)
  return {
    receiver,
    press,
    /** Presses the button of the event's first delivery. */
    async replay(eventId: string) {
      const rows = await store.deliveries.list(id, { after: null, limit: 100 })
      const row = rows.find((one) => one.eventId === eventId && !one.isReplay)
      const answer = await press(`deliveries/${row?.id}/replay`)
      assert.equal(answer.location, `${path}?done=replayed`)
    },
    async emit(connectionId: ConnectionId) {
      const events = makeEvents({
        ...{ userId: person.id, connectionId, runId: newId<SyncRunId>() },
        ...{ type: 'transactions.synced', createdAt: world.service.clock.now() },
        ...{ new: ['{"description":"x"}'], updated: [] },
      })
      const sealed = await store.events.seal(events)
      await store.events.accept(sealed)
      return sealed[0]?.id ?? assert.fail('no event')
    },
    /** Waits until so many attempts were made and stored. */
    async settled(attempts: number) {
      await until(`${attempts} attempts`, async () => {
        const rows = await store.deliveries.list(id, { after: null, limit: 100 })
        return rows.reduce((sum, row) => sum + row.attempts.length, 0) >= attempts
      })
    },
    /** The same from both, and as many attempts of each event as the receiver got. */
    async read(): Promise<Told[]> {
      const [shown, listed] = [readPage((await jar.get(path)).text), await readAdmin(id)]
      assert.deepEqual(shown, listed)
      const told = shown.flatMap(({ eventId, answers }) => answers.map(() => eventId))
      assert.deepEqual(told.sort(), receiver.received.map((one) => one.id).sort())
      return shown
    },
  }
}

test('a test event, an event in time, one that is tried again, and replays: three books say the same', async (t) => {
  const { receiver, press, emit, settled, read, replay } = await settle(t)
  const { clock } = world.service
  await press('test')
  assert.deepEqual(
    (await read()).map(({ answers }) => answers),
    [['200']],
  )
  const bank = newId<ConnectionId>()
  const first = await emit(bank)
  await settled(2)
  receiver.answer = withStatus(503)
  clock.advance(1000)
  const second = await emit(bank)
  await settled(3)
  // It waits behind the one that failed.
  const third = await emit(bank)
  const waiting = await read()
  assert.deepEqual(
    waiting.map(({ eventId, status, answers }) => [eventId, status, answers.length]),
    [
      [third, 'pending', 0],
      [second, 'pending', 1],
      [first, 'succeeded', 1],
      [waiting[3]?.eventId, 'succeeded', 1],
    ],
  )
  receiver.answer = withStatus(204)
  clock.advance(20_000)
  worker.wake()
  await settled(5)
  const done = await read()
  assert.deepEqual(
    done.map(({ status }) => status),
    Array(4).fill('succeeded'),
  )
  assert.deepEqual(done[1]?.answers, ['503', '204'])
  for (const count of [6, 7]) {
    clock.advance(1000)
    await replay(second)
    await settled(count)
  }
  const replayed = await read()
  assert.deepEqual(
    replayed.filter(({ isReplay }) => isReplay).map(({ eventId, answers }) => [eventId, answers]),
    [second, second].map((id) => [id, ['204']]),
  )
  assert.equal(replayed.length, 6)
})

test('what an endpoint missed while it was disabled is told as not sent, by all, and arrives once when it is sent again', async (t) => {
  const { receiver, press, emit, settled, read, replay } = await settle(t)
  await press('disable')
  const missed = await emit(newId<ConnectionId>())
  assert.deepEqual(await read(), [
    { eventId: missed, isReplay: false, status: 'missed', answers: [] },
  ])
  await press('enable')
  await replay(missed)
  await settled(1)
  assert.deepEqual(
    (await read()).map(({ status, isReplay, answers }) => [status, isReplay, answers.length]),
    [
      ['succeeded', true, 1],
      ['missed', false, 0],
    ],
  )
  assert.equal(receiver.received.length, 1)
})
