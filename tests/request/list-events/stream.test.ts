/** Events as a stream: each with its cursor, resumed by `Last-Event-ID`, ended when the process stops. */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { request } from 'undici'
import { type Service, type ServiceUser, specified, startService } from '#tests/support/service.ts'
import { emit, manyDigits, transactionText } from './emitted.ts'

const service = await startService({ env: specified })
after(() => service.close())

interface Block {
  readonly id: string
  readonly data: string | null
}

interface OpenStream {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Blocks with an id, in order. */
  readonly blocks: Block[]
  readonly ended: Promise<void>
  /** Resolves when the condition holds. */
  until(what: string, holds: (blocks: readonly Block[]) => boolean): Promise<void>
  close(): void
}

async function open(
  t: TestContext,
  of: Service,
  user: ServiceUser,
  { query = '', lastId }: { readonly query?: string; readonly lastId?: string } = {},
): Promise<OpenStream> {
  const leaving = new AbortController()
  const response = await request(`${of.baseUrl}/v1/events${query}`, {
    headers: {
      authorization: `Bearer ${user.key}`,
      accept: 'text/event-stream',
      ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
    },
    signal: leaving.signal,
  })
  const blocks: Block[] = []
  let text = ''
  let wake = () => {}
  const read = async () => {
    for await (const chunk of response.body) {
      text += String(chunk)
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) {
        const id = /^id: (.*)$/m.exec(part)?.[1]
        if (id !== undefined) blocks.push({ id, data: /^data: (.*)$/m.exec(part)?.[1] ?? null })
      }
      wake()
    }
  }
  const ended = read().catch(() => {})
  const close = () => leaving.abort()
  t.after(close)
  return {
    status: response.statusCode,
    headers: response.headers,
    blocks,
    ended,
    close,
    async until(what, holds) {
      const endsAt = performance.now() + 10_000
      while (!holds(blocks)) {
        if (performance.now() > endsAt) assert.fail(`${what}: ${JSON.stringify(blocks)}`)
        await new Promise<void>((resolve) => {
          wake = resolve
          setTimeout(resolve, 50)
        })
      }
    },
  }
}

const store = () => service.app.store
const dataOf = (blocks: readonly Block[]) => blocks.flatMap(({ data }) => data ?? [])

test('R42: a stream has what was kept and what comes, byte for byte, and its head is that of REST', async (t) => {
  const user = await service.createUser()
  await service.get('/v1/events', user)
  const bodies = [...(await emit(store(), user.id, { rows: [transactionText()] }))]
  const stream = await open(t, service, user)
  assert.equal(stream.status, 200)
  assert.equal(stream.headers['content-type'], 'text/event-stream')
  assert.equal(stream.headers['x-cache'], 'BYPASS')
  assert.equal(stream.headers['x-ratelimit-limit'], '60')
  assert.equal(stream.headers['content-length'], undefined)
  await stream.until('the kept event', (blocks) => dataOf(blocks).length === 1)
  bodies.push(...(await emit(store(), user.id)), ...(await emit(store(), user.id)))
  await stream.until('the new events', (blocks) => dataOf(blocks).length === 3)
  assert.deepEqual(dataOf(stream.blocks), bodies)
  assert.ok(stream.blocks[0]?.data?.includes(manyDigits))
})

test('R42: Last-Event-ID resumes behind the last event that was received, whatever `after` says', async (t) => {
  const user = await service.createUser()
  const { next } = (await service.get('/v1/events', user)).body
  const bodies: string[] = []
  for (let run = 0; run < 5; run += 1) bodies.push(...(await emit(store(), user.id)))
  const first = await open(t, service, user, { query: `?after=${next}` })
  await first.until('all five', (blocks) => dataOf(blocks).length === 5)
  first.close()
  const received = first.blocks.filter(({ data }) => data !== null)[1]
  assert.ok(received)
  const again = await open(t, service, user, { query: `?after=${next}`, lastId: received.id })
  await again.until('the rest', (blocks) => dataOf(blocks).length === 3)
  assert.deepEqual(dataOf(again.blocks), bodies.slice(2))
  const [consumer] = await store().consumers.list(user.id)
  assert.equal(consumer?.acknowledged, 2)
})

test('R42: a Last-Event-ID that is no cursor is refused by its own name', async () => {
  const user = await service.createUser()
  const accept = { accept: 'text/event-stream' }
  const refused = async (headers: Record<string, string>, query: string) => {
    const { status, body } = await service.get(`/v1/events${query}`, user, {
      ...accept,
      ...headers,
    })
    return [status, body.error.details]
  }
  for (const lastId of ['x', 'no cursor']) {
    const [status, details] = await refused({ 'last-event-id': lastId }, '')
    assert.equal(status, 400)
    assert.match(String(details), /^Last-Event-ID: is not a cursor/)
  }
  assert.deepEqual(await refused({}, '?after=x'), [400, ['after: is not a cursor of this user']])
})

test('R42: events of other types move the place of a stream without being sent', async (t) => {
  const user = await service.createUser()
  await service.get('/v1/events', user)
  const stream = await open(t, service, user, { query: '?types=trades.synced' })
  await stream.until('its place', (blocks) => blocks.length === 1)
  await emit(store(), user.id)
  await stream.until('another place', (blocks) => blocks.length === 2)
  const [start, moved] = stream.blocks
  assert.notEqual(start?.id, moved?.id)
  assert.deepEqual(dataOf(stream.blocks), [])
})

test('R42: what is wrong with a stream is said before it begins', async (t) => {
  const user = await service.createUser()
  const garbled = await open(t, service, user, { lastId: 'nonsense' })
  assert.equal(garbled.status, 400)
  const stranger = await open(t, service, { ...user, key: 'nobody' })
  assert.equal(stranger.status, 401)
})

test('R42, R27: a stream ends when its key is revoked, and the next one is refused', async (t) => {
  const user = await service.createUser()
  const stream = await open(t, service, user)
  await stream.until('its place', (blocks) => blocks.length === 1)
  await store().keys.revoke(user.keyId, service.clock.now())
  await stream.ended
  assert.equal((await open(t, service, user)).status, 401)
})

test('R42: streams and waiting requests end when the process stops, at once', async (t) => {
  const other = await startService()
  const user = await other.createUser()
  const { next } = (await other.get('/v1/events', user)).body
  const stream = await open(t, other, user)
  const waiting = other.get(`/v1/events?after=${next}&wait=55`, user)
  await stream.until('its place', (blocks) => blocks.length === 1)
  // So that the request has arrived.
  await new Promise((resolve) => setTimeout(resolve, 300))
  const from = performance.now()
  await Promise.all([other.close(), stream.ended])
  assert.deepEqual((await waiting).body, { data: [], next })
  assert.ok(performance.now() - from < 5000)
})

test('R42: a client that does not read its stream keeps at most some events in memory', async (t) => {
  const user = await service.createUser()
  await service.get('/v1/events', user)
  const leaving = new AbortController()
  t.after(() => leaving.abort())
  const response = await request(`${service.baseUrl}/v1/events`, {
    headers: { authorization: `Bearer ${user.key}`, accept: 'text/event-stream' },
    signal: leaving.signal,
  })
  assert.equal(response.statusCode, 200)
  const rows = Array.from({ length: 100 }, () => transactionText({ description: 'x'.repeat(400) }))
  const bodies: string[] = []
  for (let run = 0; run < 60; run += 1) bodies.push(...(await emit(store(), user.id, { rows })))
  await new Promise((resolve) => setTimeout(resolve, 300))
  let text = ''
  for await (const chunk of response.body) {
    text += String(chunk)
    if (text.split('\ndata: ').length > bodies.length && text.endsWith('\n\n')) break
  }
  const received = text.split('\n').flatMap((line) => /^data: (.*)$/.exec(line)?.[1] ?? [])
  assert.deepEqual(
    received.map((body) => JSON.parse(body).id),
    bodies.map((body) => JSON.parse(body).id),
  )
})

test('R42, R27: a client that reads slowly gets no further batch once its key is revoked', async (t) => {
  const user = await service.createUser()
  await service.get('/v1/events', user)
  const rows = Array.from({ length: 100 }, () => transactionText({ description: 'x'.repeat(400) }))
  const bodies: string[] = []
  for (let run = 0; run < 300; run += 1) bodies.push(...(await emit(store(), user.id, { rows })))
  const leaving = new AbortController()
  t.after(() => leaving.abort())
  const response = await request(`${service.baseUrl}/v1/events`, {
    headers: { authorization: `Bearer ${user.key}`, accept: 'text/event-stream' },
    signal: leaving.signal,
  })
  await store().keys.revoke(user.keyId, service.clock.now())
  let received = 0
  for await (const chunk of response.body) received += String(chunk).split('\ndata: ').length - 1
  assert.ok(received < bodies.length, `all ${received} events came`)
})
