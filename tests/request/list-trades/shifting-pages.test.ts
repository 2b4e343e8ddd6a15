/**
 * Numbered pages whose rows move while they are read: the total of a page shows it, and no row is lost
 * (readings R17, R18).
 */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import type { EmulatorRequest } from '#sandbox/emulator.ts'
import { type Activity, activity, type Broker, linkBroker } from '#tests/support/broker.ts'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
after(() => service.close())
afterEach(() => {
  service.sandbox.snaptrade.clearFaults()
  service.clock.advance(660_000)
})

const end = Date.parse('2026-11-18T20:00:01Z')
const stream = (count: number): Activity[] =>
  Array.from({ length: count }, (_, index) =>
    activity({
      description: `${index}`,
      tradeDate: new Date(end - index * 60_000).toISOString(),
    }),
  )
const names = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `${from + index}`)

const ask = (broker: Broker, query: string) =>
  service.get(`/v1/trades?connectionId=${broker.connection.id}${query}`, user)

async function walk(broker: Broker, limit: number, from = 0): Promise<string[]> {
  const seen: string[] = []
  for (let offset = from; ; offset += limit) {
    const answer = await ask(broker, `&limit=${limit}&offset=${offset}`)
    assert.equal(answer.status, 200, answer.text)
    seen.push(...answer.body.data.map((row: { description: string }) => row.description))
    if (!answer.body.pagination.hasMore) return seen
  }
}

const isPage = ({ path }: EmulatorRequest) => path.endsWith('/activities')
const offsetsOf = (): (string | null)[] =>
  service.sandbox.snaptrade.requests.filter(isPage).map(({ query }) => query.get('offset'))

/** Changes the rows right after the first page was answered, so many times as it is asked for. */
function afterFirstPage(times: number, change: () => void): void {
  service.sandbox.snaptrade.addFault({
    times,
    when: (request) => isPage(request) && request.query.get('offset') === '0',
    does: {
      kind: 'edit',
      edit(reply) {
        const kept = JSON.parse(JSON.stringify(reply.body))
        change()
        return { ...reply, body: kept }
      },
    },
  })
}

test('R18: a row that is removed between two pages causes no other to be skipped: the walk starts over', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream(2_500) }])
  const rows = broker.upstream[0]?.activities ?? assert.fail()
  afterFirstPage(1, () => rows.splice(3, 1))
  const answer = await ask(broker, '&limit=500')
  assert.equal(answer.status, 200)
  const seen = await walk(broker, 500)
  assert.deepEqual(seen, [...names(0, 3), ...names(4, 2_500)])
  assert.equal((await ask(broker, '&limit=1&offset=2498')).body.pagination.total, 2_499)
})

test('R18: a row that arrives between two pages is read with the others: the reading starts over', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream(2_500) }])
  const rows = broker.upstream[0]?.activities ?? assert.fail()
  afterFirstPage(1, () => rows.unshift(activity({ description: 'new' })))
  assert.deepEqual(await walk(broker, 500), ['new', ...names(0, 2_500)])
})

test('R18: rows that move during every reading are 503, nothing is cached, and the next request is right', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream(2_500) }])
  const rows = broker.upstream[0]?.activities ?? assert.fail()
  afterFirstPage(4, () => rows.splice(0, 1))
  const answer = await ask(broker, '&limit=500')
  assert.deepEqual([answer.status, codeOf(answer)], [503, undefined])
  assert.equal(answer.headers['retry-after'], '30')
  assert.deepEqual(await walk(broker, 500), names(4, 2_500))
})

test('R18: a reader half-way goes on at its row although others arrived above and were removed behind it', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream(7_000) }])
  const rows = broker.upstream[0]?.activities ?? assert.fail()
  const first = await ask(broker, '&limit=500')
  assert.equal(first.headers['x-service-truncated'], 'true')
  rows.splice(5_600, 3)
  rows.unshift(activity({ description: 'new' }))
  assert.deepEqual(
    await walk(broker, 500, 500),
    names(500, 7_000).filter((name) => !['5600', '5601', '5602'].includes(name)),
  )
})

test('R17, R18: a reader half-way whose rows were removed is told to start again, and that walk is whole', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream(7_000) }])
  const rows = broker.upstream[0]?.activities ?? assert.fail()
  const seen: string[] = []
  let answer = await ask(broker, '&limit=500')
  for (let offset = 500; answer.status === 200 && offset < 7_000; offset += 500) {
    seen.push(...answer.body.data.map((row: { description: string }) => row.description))
    if (offset === 2_000) rows.splice(600, 3)
    answer = await ask(broker, `&limit=500&offset=${offset}`)
  }
  // The rows held are shown as they were; reading on finds that those before are others now.
  assert.deepEqual(seen, names(0, seen.length))
  assert.deepEqual([answer.status, codeOf(answer)], [503, undefined])
  assert.equal(answer.headers['retry-after'], '1')
  const message = 'the list changed while it was read: start again at offset 0'
  assert.equal(answer.body.error.message, message)
  const again = await ask(broker, `&limit=500&offset=${seen.length}`)
  assert.equal(again.body.error.message, message)
  const gone = new Set(['600', '601', '602'])
  assert.deepEqual(
    await walk(broker, 500),
    names(0, 7_000).filter((name) => !gone.has(name)),
  )
})

test('R18: a row that is added while another is removed keeps the total, and is detected anyway', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream(2_500) }])
  const rows = broker.upstream[0]?.activities ?? assert.fail()
  afterFirstPage(1, () => {
    rows.unshift(activity({ description: 'new' }))
    rows.pop()
  })
  assert.deepEqual(await walk(broker, 500), ['new', ...names(0, 2_499)])
  assert(offsetsOf().filter((offset) => offset === '0').length > 1)
})

test('R20b: a later page that is empty before the total is a changed total: once the right answer, else 503', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream(2_500) }])
  const empty = (times: number) =>
    service.sandbox.snaptrade.addFault({
      times,
      when: (request) => isPage(request) && request.query.get('offset') === '999',
      does: {
        kind: 'edit',
        edit: (reply) => ({ ...reply, body: { ...(reply.body as object), data: [] } }),
      },
    })
  empty(1)
  assert.deepEqual(await walk(broker, 500), names(0, 2_500))
  service.clock.advance(660_000)
  empty(4)
  const answer = await ask(broker, '&limit=500')
  assert.deepEqual([answer.status, codeOf(answer)], [503, undefined])
  assert.equal((await ask(broker, '&limit=500')).headers['x-cache'], 'MISS')
})

test('R20b: a broker whose connection ends between two pages is 400, also where it answers with nothing', async () => {
  for (const how of ['gone', 'disabled'] as const) {
    const broker = await linkBroker(service, user, [{ activities: stream(2_500) }])
    const connections = [...broker.person.connections]
    service.sandbox.snaptrade.addFault({
      when: (request) => isPage(request) && request.query.get('offset') !== '0',
      does: {
        kind: 'edit',
        edit() {
          if (how === 'gone') broker.person.connections = []
          for (const connection of connections) connection.disabled = true
          for (const account of broker.upstream) account.activities = []
          const pagination = { offset: 999, limit: 1000, total: 0 }
          return { status: 200, body: { data: [], pagination } }
        },
      },
    })
    const answer = await ask(broker, '&limit=500')
    assert.deepEqual([answer.status, codeOf(answer)], [400, 'upstream_bad_request'], how)
    service.sandbox.snaptrade.clearFaults()
  }
})

test('R20b: a disabled login whose pages are empty below their total says so, it is not unreadable for ever', async () => {
  const broker = await linkBroker(service, user, [{ activities: stream(1_500) }])
  for (const connection of broker.person.connections) connection.disabled = true
  service.sandbox.snaptrade.addFault({
    when: isPage,
    does: {
      kind: 'edit',
      edit: (reply) => ({ ...reply, body: { ...(reply.body as object), data: [] } }),
    },
  })
  const answer = await ask(broker, '&limit=500')
  assert.deepEqual([answer.status, codeOf(answer)], [400, 'upstream_bad_request'])
  assert.match(answer.body.error.message, /login disabled, reconnect$/)
})
