/**
 * Readings R10 and R27 between two processes on one Redis: once whoever made a change has its answer, neither
 * process answers from before it, at no instant, through neither door. Redis may be emptied, or be out of
 * reach of one process.
 */
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { demoCredentials } from '#sandbox/snaptrade/index.ts'
import { toolCall } from '#tests/support/agent.ts'
import { type CutLine, makeCutLine } from './cut-line.ts'
import { type Fleet, type FleetUser, startFleet } from './fleet.ts'
import type { ServerProcess } from './server-process.ts'

let fleet: Fleet
/** The line of a third process to Redis. */
let line: CutLine
let three: ServerProcess
before(async () => {
  fleet = await startFleet()
  line = await makeCutLine({ host: '127.0.0.1', port: Number(new URL(fleet.redis.url).port) })
  three = await fleet.start({ REDIS_URL: `redis://127.0.0.1:${line.port}` })
})
after(async () => {
  await fleet?.close()
  await line?.close()
})

const rounds = 25

/** What a user's answers say between one change and the next one. Times are those of this process. */
interface State {
  sentAt: number
  ackedAt: number
  /** Known once the change is acknowledged. */
  shown: string
}

interface Sight {
  readonly startedAt: number
  readonly endedAt: number
  readonly shown: string
  readonly isHit: boolean
}

/** A user whose answers are read all the time. */
interface Watched {
  readonly sights: Sight[]
  change(make: () => Promise<unknown>, shown: () => string | Promise<string>): Promise<void>
  /**
   * Fails for an answer that was from before a change that had been acknowledged when its request was sent.
   */
  end(): Promise<void>
}

type Look = (server: ServerProcess) => Promise<{ readonly shown: string; readonly isHit: boolean }>

/** `looks`: the ways to see what the user's answers say. */
function watch(context: TestContext, looks: readonly Look[], first: string): Watched {
  const states: State[] = [{ sentAt: 0, ackedAt: 0, shown: first }]
  const sights: Sight[] = []
  let isOver = false
  async function see(look: Look, server: ServerProcess): Promise<void> {
    const startedAt = performance.now()
    const seen = await look(server)
    sights.push({ ...seen, startedAt, endedAt: performance.now() })
  }
  const each = [fleet.one, fleet.two].flatMap((server) =>
    looks.map((look) => ({ look, server }) as const),
  )
  const readers = each.map(async ({ look, server }) => {
    while (!isOver) await see(look, server)
  })
  context.after(() => {
    isOver = true
  })
  return {
    sights,
    async change(make, shown) {
      const state: State = {
        sentAt: performance.now(),
        ackedAt: Number.POSITIVE_INFINITY,
        shown: '',
      }
      states.push(state)
      await make()
      state.ackedAt = performance.now()
      const seen = Promise.all(each.map(({ look, server }) => see(look, server)))
      state.shown = await shown()
      await seen
    },
    async end() {
      isOver = true
      await Promise.all(readers)
      for (const { startedAt, endedAt, shown } of sights) {
        const from = states.findLastIndex(({ ackedAt }) => ackedAt <= startedAt)
        const to = states.findLastIndex(({ sentAt }) => sentAt <= endedAt)
        const possible = states.slice(from, to + 1).map((state) => state.shown)
        const ms = Math.round(startedAt - (states[from]?.ackedAt ?? 0))
        assert.ok(possible.includes(shown), `${shown}, ${ms} ms after ${possible.join(' or ')}`)
      }
    },
  }
}

const byRest =
  (user: FleetUser, path: string, shownBy: (body: Body) => string): Look =>
  async (server) => {
    const answer = await server.get(path, user.key)
    assert.equal(answer.status, 200, answer.text)
    return { shown: shownBy(answer.body), isHit: answer.headers['x-cache'] === 'HIT' }
  }

const byAgent =
  (user: FleetUser, shownBy: (body: Body) => string): Look =>
  async (server) => {
    const { status, body } = await callTool(server, user.key)
    assert.equal(status, 200)
    return { shown: shownBy(body.result.structuredContent), isHit: false }
  }

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects, and fails when they are absent.
type Body = any

async function callTool(
  server: ServerProcess,
  key: string,
): Promise<{ status: number; body: Body }> {
  const answer = await request(`${server.baseUrl}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(toolCall('list_connections')),
  })
  return { status: answer.statusCode, body: await answer.body.json() }
}

const statusesOf = ({ data }: Body) =>
  data
    .map((row: { status: string }) => row.status)
    .sort()
    .join()
const idsOf = ({ data }: Body) => data.map((row: { id: string }) => row.id).join()
const datesOf = ({ data }: Body) => data.map((row: { date: string }) => row.date).join()

let lastWebhookAt = 0
async function sendWebhook(server: ServerProcess, fields: object): Promise<void> {
  lastWebhookAt = Math.max(Date.now(), lastWebhookAt + 1)
  const eventTimestamp = new Date(lastWebhookAt).toISOString()
  const body = JSON.stringify({ webhookId: randomUUID(), eventTimestamp, ...fields })
  const signature = createHmac('sha256', demoCredentials.consumerKey).update(body).digest('base64')
  const answer = await request(`${server.baseUrl}/providers/snaptrade/webhook`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', signature },
    body,
  })
  await answer.body.dump()
  assert.equal(answer.statusCode, 200)
}

/** Changes of one kind; `next` makes one on this process. */
interface Changing extends Watched {
  next(server: ServerProcess): Promise<void>
}

/** A provider reports that a connection is broken, then that it is mended. */
async function changeStatus(t: TestContext): Promise<Changing> {
  const user = await fleet.createUser()
  const { userId, userSecret, connections } = fleet.sandbox.snaptrade.people.healthy
  const body = { provider: 'snaptrade', snaptradeUserId: userId, userSecret }
  await fleet.one.admin('POST', `/users/${user.id}/connections`, body)
  const [held] = connections
  assert.ok(held !== undefined)
  const statuses = (first: string) => [first, ...connections.slice(1).map(() => 'active')]
  const shown = (first: string) => statuses(first).sort().join()
  const looks = [byRest(user, '/v1/connections', statusesOf), byAgent(user, statusesOf)]
  const watched = watch(t, looks, shown('active'))
  let isBroken = false
  return {
    ...watched,
    next(server) {
      isBroken = !isBroken
      const eventType = isBroken ? 'CONNECTION_BROKEN' : 'CONNECTION_FIXED'
      return watched.change(
        () => sendWebhook(server, { userId, brokerageAuthorizationId: held.id, eventType }),
        () => shown(isBroken ? 'invalidated' : 'active'),
      )
    },
  }
}

/** A user moves from one side of the date line to the other. */
async function changeZone(t: TestContext): Promise<Changing> {
  const user = await fleet.createLinked()
  const zones = ['Pacific/Auckland', 'America/Los_Angeles']
  const move = (server: ServerProcess, timezone = '') =>
    server.admin('PUT', `/users/${user.id}/profile`, { timezone })
  const dates: string[] = []
  for (const zone of zones) {
    await move(fleet.one, zone)
    dates.push(datesOf((await fleet.one.get(user.transactions(), user.key)).body))
  }
  assert.notEqual(dates[0], dates[1])
  const watched = watch(t, [byRest(user, user.transactions(), datesOf)], dates[1] ?? '')
  let at = 1
  return {
    ...watched,
    next(server) {
      at = 1 - at
      return watched.change(
        () => move(server, zones[at]),
        () => dates[at] ?? '',
      )
    },
  }
}

/** A user links a bank, removes it, links it again. */
async function changeLink(t: TestContext): Promise<Changing> {
  const user = await fleet.createUser()
  const { fiskil } = fleet.sandbox
  const { endUserId } = fiskil.people.history
  const path = `/users/${user.id}/connections`
  const looks = [byRest(user, '/v1/connections', idsOf), byAgent(user, idsOf)]
  const watched = watch(t, looks, '')
  let id = ''
  return {
    ...watched,
    next(server) {
      if (id !== '') {
        const gone = id
        id = ''
        return watched.change(
          () => server.admin('DELETE', `/connections/${gone}`),
          () => '',
        )
      }
      fiskil.faultControls.consent.renew('history')
      return watched.change(
        () => server.admin('POST', path, { provider: 'fiskil', endUserId }),
        async () => {
          id = idsOf((await fleet.two.admin('GET', path)).body)
          return id
        },
      )
    },
  }
}

/** Changes of every kind at the same time, made on both processes in turns. */
async function changeAll(t: TestContext): Promise<void> {
  for (const make of [changeStatus, changeZone, changeLink]) {
    const changing = await make(t)
    for (let round = 0; round < rounds; round += 1) {
      await changing.next(round % 2 === 0 ? fleet.one : fleet.two)
    }
    await changing.end()
    const hits = changing.sights.filter(({ isHit }) => isHit).length
    assert.ok(hits > rounds, `${hits} hits`)
    t.diagnostic(`${make.name}: ${changing.sights.length} answers, ${hits} hits`)
  }
}

test(
  'R10: an acknowledged change is in every later answer of both processes, through both doors',
  changeAll,
)

test('R10: and so it is while Redis is emptied again and again', async (t) => {
  let isOver = false
  const emptying = (async () => {
    while (!isOver) {
      await fleet.redis.call('FLUSHALL')
      await sleep(Math.random() * 30)
    }
  })()
  try {
    await changeAll(t)
  } finally {
    isOver = true
    await emptying
  }
})

test('R10: and so it is when the process that makes the change cannot reach Redis', async (t) => {
  const changing = await changeStatus(t)
  for (let round = 0; round < 4; round += 1) {
    await line.cut()
    const startedAt = performance.now()
    await changing.next(three)
    assert.ok(performance.now() - startedAt >= 1000, 'it waits until nobody remembers earlier rows')
    await line.mend()
    await changing.next(fleet.one)
  }
  await changing.end()
})

test('R27: a key that was revoked, or whose user was deleted, is refused at once by both processes', async () => {
  for (let round = 0; round < 20; round += 1) {
    const user = await fleet.createUser()
    const [making, other] = round % 2 === 0 ? [fleet.one, fleet.two] : [fleet.two, fleet.one]
    for (const server of [making, other, making, other]) {
      assert.equal((await server.get('/v1/connections', user.key)).status, 200)
    }
    const path = round % 4 < 2 ? `/keys/${user.keyId}` : `/users/${user.id}`
    await making.admin('DELETE', path)
    const answers = await Promise.all(
      [making, other].flatMap((server) => [
        server.get('/v1/connections', user.key),
        callTool(server, user.key),
      ]),
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      [401, 401, 401, 401],
    )
  }
})
