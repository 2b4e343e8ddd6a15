/** From a bank to a receiver: changes of connections arrive where an endpoint names them (reading R41). */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { request } from 'undici'
import {
  type ConnectionEvent,
  connectionEventTypes,
  EventEnvelope,
  type EventType,
} from '#contract/events.ts'
import type { Connection } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { startService } from '#tests/support/service.ts'
import { until } from '#tests/support/until.ts'
import { findForgery } from '#webhooks/sign.ts'
import { aWhile, type Receiver, startReceiver, withStatus } from './stage.ts'

const day = 86_400_000

async function start(t: TestContext) {
  const service = await startService({ env: { ROLE: 'all' } })
  t.after(() => service.close())
  const user = await service.createUser()
  const ask = async (method: 'POST' | 'DELETE' | 'GET', path: string, body?: object) => {
    const response = await request(`${service.adminUrl}/admin${path}`, {
      method,
      headers: {
        authorization: `Bearer ${service.adminToken}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await response.body.text()
    assert.ok(response.statusCode < 300, `${path}: ${text}`)
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
  }
  const listen = async (own: {
    readonly events?: readonly string[]
    readonly skipEmpty?: true
  }) => {
    const receiver = await startReceiver(t, withStatus(200))
    const made = await ask('POST', `/users/${user.id}/webhooks`, { url: receiver.url, ...own })
    return { receiver, id: String(made.id), secret: String(made.secret), events: made.events }
  }
  return { service, user, ask, listen }
}

const envelopesOf = ({ received }: Receiver) =>
  received.map(({ body }) => EventEnvelope.parse(JSON.parse(body)))
const typesOf = (receiver: Receiver) => envelopesOf(receiver).map(({ type }) => type)
const isAbout = (type: EventType) => type.startsWith('connection.')

/** As REST shows it, in snake_case. */
function toSnake(connection: Connection): ConnectionEvent {
  const named = Object.entries(connection).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ])
  return Object.fromEntries(named)
}

test('R41: the life of a connection arrives as signed events, at the endpoint that names them alone', async (t) => {
  const { service, user, ask, listen } = await start(t)
  const all = await listen({ events: connectionEventTypes, skipEmpty: true })
  const plain = await listen({})
  assert.deepEqual(plain.events, ['transactions.synced', 'trades.synced'])
  const [connection] = await service.link(user, 'twins', 'fiskil')
  assert.ok(connection)
  await until('it is linked', () => typesOf(all.receiver).includes('connection.linked'))
  const shown = await service.get('/v1/connections', user)
  const [linked] = envelopesOf(all.receiver)
  assert.ok(linked?.type === 'connection.linked')
  const { last_refreshed_at: _, ...data } = linked.data
  const { last_refreshed_at: __, ...wanted } = toSnake(shown.body.data[0])
  assert.deepEqual(data, wanted)
  await until('it was synced', () => plain.receiver.received.length > 0)
  for (const change of ['consent/expire', 'consent/renew', 'consent/revoke']) {
    service.clock.advance(60_000)
    await ask('POST', `/sandbox/people/twins/${change}`, { provider: 'fiskil' })
  }
  await ask('DELETE', `/connections/${connection.id}`)
  await until('it is removed', () => typesOf(all.receiver).includes('connection.removed'))
  await aWhile()
  assert.deepEqual(
    envelopesOf(all.receiver).map(({ type, data: of }) => [type, 'status' in of && of.status]),
    [
      ['connection.linked', 'active'],
      ['connection.invalidated', 'invalidated'],
      ['connection.restored', 'active'],
      ['connection.revoked', 'revoked'],
      ['connection.removed', 'revoked'],
    ],
  )
  assert.deepEqual(typesOf(plain.receiver).filter(isAbout), [])
  for (const { headers, body, id } of all.receiver.received) {
    const at = Number(headers['webhook-timestamp'])
    assert.equal(findForgery({ headers, body: Buffer.from(body) }, all.secret, at), null)
    const { metadata, ...envelope } = EventEnvelope.parse(JSON.parse(body))
    assert.equal(envelope.id, id)
    const none = { sync_run_id: null, new_count: 0, updated_count: 0, chunk: 1, total_chunks: 1 }
    assert.deepEqual(metadata, none)
    assert.doesNotMatch(body, /amount|balance|xxxx\d|secret/i)
  }
})

test('R41: the end of a consent is announced with its time, and a replay has the same event', async (t) => {
  const { service, user, ask, listen } = await start(t)
  const named = await listen({ events: ['connection.expiring'] })
  const [connection] = await service.link(user, 'twins', 'fiskil')
  assert.ok(connection)
  const expiresAt = service.clock.now() + 6 * day
  const { connectionEvents, connections } = service.app.store
  await connections.setConsentExpiry(connection.id, expiresAt)
  await connectionEvents.announceExpiry(connection.id as ConnectionId, {
    expiresAt,
    days: 7,
    at: service.clock.now(),
  })
  await until('it is announced', () => named.receiver.received.length === 1)
  const [event] = envelopesOf(named.receiver)
  assert.ok(event?.type === 'connection.expiring')
  assert.equal(event.data.expires_at, new Date(expiresAt).toISOString())
  const { data } = await ask('GET', `/webhooks/${named.id}/deliveries`)
  const [delivery] = data as { id: string }[]
  await ask('POST', `/deliveries/${delivery?.id}/replay`)
  await until('it is replayed', () => named.receiver.received.length === 2)
  const [first, second] = named.receiver.received
  assert.deepEqual([second?.id, second?.body], [first?.id, first?.body])
})

test('R34b: an endpoint for events about connections alone begins the ledger too, and receives nothing else', async (t) => {
  const { service, user, ask, listen } = await start(t)
  const named = await listen({ events: ['connection.linked'] })
  const [connection] = await service.link(user, 'twins', 'fiskil')
  assert.ok(connection)
  assert.notEqual(await service.app.store.ledgers.readKey(user.id), null)
  const ran = await ask('POST', `/connections/${connection.id}/sync`)
  assert.ok(Number(ran.chunks) >= 1)
  await until('it is linked', () => named.receiver.received.length > 0)
  await aWhile()
  assert.deepEqual(typesOf(named.receiver), ['connection.linked'])
})

test('R41: a test event to an endpoint for events about connections alone is one of them, about none that exists', async (t) => {
  const { ask, listen } = await start(t)
  for (const type of ['connection.removed', 'connection.expiring'] as const) {
    const { receiver, id } = await listen({ events: [type] })
    const tested = await ask('POST', `/webhooks/${id}/test`)
    assert.equal(tested.status, 'succeeded')
    const [event] = envelopesOf(receiver)
    assert.ok(event?.type === type)
    assert.equal(event.data.id, '00000000-0000-0000-0000-000000000000')
    assert.equal('expires_at' in event.data, type === 'connection.expiring')
  }
})
