/** Webhook endpoints in the admin API: made, listed, rotated, switched and removed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byOperator, type Person } from '#contract/actor.ts'
import { ApiError } from '#contract/errors.ts'
import {
  type ConnectionId,
  type EndpointId,
  newId,
  type SessionId,
  type SyncRunId,
  type UserId,
} from '#kernel/ids.ts'
import { makeWebhooks } from '#webhooks/webhooks.ts'
import { fiskil } from './credentials.ts'
import { emit, endpointOf, errorOf, makeStage, rowsOf } from './webhooks-stage.ts'
import { type Answer, makeWorld } from './world.ts'

const url = 'https://receiver.example.test/hook'

test('201: an endpoint is answered with id, url, events and its secret', async (t) => {
  const { create } = await makeStage(t)
  const endpoint = await create()
  assert.deepEqual(Object.keys(endpoint).slice(0, 4), ['id', 'url', 'events', 'secret'])
  assert.equal(endpoint.url, url)
  assert.deepEqual(endpoint.events, ['transactions.synced', 'trades.synced'])
  assert.match(endpoint.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(endpoint.health, 'healthy')
})

test('a secret is shown in the answers that make it and nowhere else: not in lists, log, audit or on the disk', async (t) => {
  const stage = await makeStage(t)
  const { id, secret } = await stage.create()
  const rotated = endpointOf(await stage.ask('POST', `/admin/webhooks/${id}/rotate`))
  assert.notEqual(rotated.secret, secret)
  const answers = [
    await stage.ask('GET', '/admin/users/emma@b.example/webhooks'),
    await stage.ask('POST', `/admin/webhooks/${id}/disable`),
    await stage.ask('POST', `/admin/webhooks/${id}/enable`),
    await stage.ask('GET', '/admin/audit'),
  ]
  const disk = await stage.readDisk()
  for (const one of [secret, rotated.secret]) {
    const bare = one.slice('whsec_'.length)
    assert.ok(!JSON.stringify(answers).includes(bare))
    assert.ok(!stage.logged.join('').includes(bare))
    assert.ok(!disk.includes(bare))
    assert.ok(!disk.includes(Buffer.from(bare, 'base64')))
  }
  assert.ok(disk.includes(id.slice(0, 8)) || disk.includes(url))
})

test('200: the list has what was made, oldest first, and only of this user', async (t) => {
  const stage = await makeStage(t)
  await stage.addUser('jack@b.example')
  const first = await stage.create({
    url,
    events: ['trades.synced'],
    skipEmpty: true,
    pending: true,
  })
  stage.clock.advance(1000)
  const second = await stage.create()
  const list = await stage.ask('GET', '/admin/users/emma@b.example/webhooks')
  assert.deepEqual(rowsOf(list), [
    {
      id: first.id,
      url,
      events: ['trades.synced'],
      skipEmpty: true,
      pending: true,
      health: 'healthy',
      failures: 0,
      failingSince: null,
      disabledReason: null,
      createdAt: '2026-11-20T03:15:00.000Z',
    },
    {
      id: second.id,
      url,
      events: ['transactions.synced', 'trades.synced'],
      skipEmpty: false,
      pending: false,
      health: 'healthy',
      failures: 0,
      failingSince: null,
      disabledReason: null,
      createdAt: '2026-11-20T03:15:01.000Z',
    },
  ])
  assert.deepEqual(rowsOf(await stage.ask('GET', '/admin/users/jack@b.example/webhooks')), [])
})

test('400: addresses that are none, private ones without leave, too long ones, unknown events, unknown fields', async (t) => {
  const { ask, addUser } = await makeWorld(t, { allowPrivate: false })
  await addUser('emma@b.example')
  const post = (body: object) => ask('POST', '/admin/users/emma@b.example/webhooks', body)
  const long = `https://receiver.example.test/${'x'.repeat(2048)}`
  for (const bad of [
    ...['', 'nonsense', 'http://example.com/', 'https://127.0.0.1/', 'https://[::1]/', long],
    ...['https://localhost/', 'https://example.com:8443/', 'https://a:b@example.com/', 7, null],
    ...['https://exam\nple.com/', 'https://example.com/a b', 'ftp://example.com/', 'https://0/'],
  ]) {
    const answer = await post({ url: bad })
    assert.equal(answer.status, 400, String(bad))
    assert.equal(errorOf(answer).code, 'invalid_params')
    assert.match(errorOf(answer).details?.[0] ?? '', /^url: /)
  }
  const [line] = errorOf(await post({ url: 'https://10.0.0.1/' })).details ?? []
  assert.match(line ?? '', /WEBHOOK_ALLOW_PRIVATE/)
  for (const events of [[], ['accounts.synced'], 'transactions.synced', ['trades.synced', 1]]) {
    const [found] = errorOf(await post({ url, events })).details ?? []
    assert.match(found ?? '', /^events: /, JSON.stringify(events))
  }
  assert.match(errorOf(await post({ url, skipEmpty: 'yes' })).details?.[0] ?? '', /^skipEmpty: /)
  assert.match(errorOf(await post({ url, pending: 'yes' })).details?.[0] ?? '', /^pending: /)
  assert.deepEqual(errorOf(await post({ url, name: 'x' })).details, ['name: is an unknown field'])
  assert.deepEqual(errorOf(await post({})).details, ['url: is required'])
})

test('409: a twenty-first endpoint is refused, also when many are made at once', async (t) => {
  const { ask, create } = await makeStage(t)
  for (let count = 0; count < 15; count += 1) await create()
  const path = '/admin/users/emma@b.example/webhooks'
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask('POST', path, { url })))
  const refused = answers.filter(({ status }) => status === 409)
  assert.equal(refused.length, 5)
  assert.ok(refused.every((answer) => errorOf(answer).code === 'too_many_webhooks'))
  assert.equal(rowsOf(await ask('GET', path)).length, 20)
})

test('404: users, endpoints and deliveries that do not exist, and ids that are none', async (t) => {
  const { ask } = await makeStage(t)
  for (const id of [newId(), 'nothing']) {
    for (const [method, path, body] of [
      ['DELETE', `/admin/webhooks/${id}`],
      ['POST', `/admin/webhooks/${id}/rotate`],
      ['POST', `/admin/webhooks/${id}/enable`],
      ['POST', `/admin/webhooks/${id}/disable`],
      ['POST', `/admin/webhooks/${id}/test`],
      ['GET', `/admin/webhooks/${id}/deliveries`],
      [
        'POST',
        `/admin/webhooks/${id}/replay`,
        { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
      ],
    ] as const) {
      const answer = await ask(method, path, body)
      assert.equal(answer.status, 404, path)
      assert.equal(errorOf(answer).code, 'webhook_not_found', path)
    }
    const replay = await ask('POST', `/admin/deliveries/${id}/replay`)
    assert.equal(errorOf(replay).code, 'delivery_not_found')
  }
  const missing = await ask('POST', '/admin/users/nobody@b.example/webhooks', { url })
  assert.equal(errorOf(missing).code, 'user_not_found')
})

test("a person reaches their own endpoints alone: another's are not found, and nothing of them changes", async (t) => {
  const stage = await makeStage(t)
  const { store, clock } = stage
  const mine = await stage.create()
  const stranger = (await stage.addUser('jack@b.example')) as UserId
  const person: Person = { kind: 'person', userId: stranger, sessionId: newId<SessionId>() }
  const by = { actor: person }
  const id = mine.id as EndpointId
  const webhooks = makeWebhooks({ store, clock, allowPrivate: true })
  await emit(stage)
  const [delivery] = await store.deliveries.list(id, { after: null, limit: 1 })
  assert.ok(delivery)
  const range = { from: '2026-01-01T00:00:00Z', to: '2027-01-01T00:00:00Z' }
  for (const attempt of [
    () => webhooks.rotateEndpoint(by, id, {}),
    () => webhooks.enableEndpoint(by, id),
    () => webhooks.disableEndpoint(by, id),
    () => webhooks.removeEndpoint(by, id),
    () => webhooks.testEndpoint(by, id),
    () => webhooks.replayRange(by, id, range),
    () => webhooks.replayDelivery(by, delivery.id),
    () => webhooks.createEndpoint(by, stage.userId, { url }),
  ]) {
    await assert.rejects(attempt, (error) => error instanceof ApiError && error.status === 404)
  }
  assert.equal((await store.endpoints.find(id))?.health, 'healthy')
  assert.equal((await store.endpoints.readSecrets(id))?.current, mine.secret)
  assert.equal((await store.deliveries.list(id, { after: null, limit: 9 })).length, 1)
})

test('rotating keeps the former secret for a day, for the requested time, or not at all', async (t) => {
  const { ask, create, store } = await makeStage(t)
  const { id } = await create()
  const rotate = (body?: object) => ask('POST', `/admin/webhooks/${id}/rotate`, body)
  const untilOf = ({ body }: Answer) =>
    (body as { previousSecretUntil: unknown }).previousSecretUntil
  assert.equal(untilOf(await rotate()), '2026-11-21T03:15:00.000Z')
  assert.equal(untilOf(await rotate({ overlapHours: 168 })), '2026-11-27T03:15:00.000Z')
  assert.equal(untilOf(await rotate({ overlapHours: 0 })), null)
  assert.equal((await store.endpoints.readSecrets(id as EndpointId))?.previous, null)
  for (const overlapHours of [-1, 169, 1.5, '24', null]) {
    assert.equal((await rotate({ overlapHours })).status, 400, String(overlapHours))
  }
})

test('disabling and enabling answer the endpoint as it is then', async (t) => {
  const { ask, create } = await makeStage(t)
  const { id } = await create()
  const disabled = await ask('POST', `/admin/webhooks/${id}/disable`)
  assert.equal(disabled.status, 200)
  assert.deepEqual(
    [endpointOf(disabled).health, (disabled.body as Record<string, unknown>).disabledReason],
    ['disabled', 'owner'],
  )
  const refused = await ask('POST', `/admin/webhooks/${id}/test`)
  assert.equal(refused.status, 409)
  assert.equal(errorOf(refused).code, 'webhook_disabled')
  const enabled = await ask('POST', `/admin/webhooks/${id}/enable`)
  assert.equal(endpointOf(enabled).health, 'healthy')
  assert.equal((await ask('POST', `/admin/webhooks/${id}/enable`, { now: true })).status, 400)
})

test('R34b: the ledger begins with the first endpoint, connections are due then, and it ends with the last one', async (t) => {
  const stage = await makeStage(t, { providers: ['fiskil'] })
  const { store, userId } = stage
  const linked = await stage.ask('POST', '/admin/users/emma@b.example/connections', fiskil)
  const [connection] = (linked.body as { connections: { id: ConnectionId }[] }).connections
  assert.ok(connection)
  assert.equal(await store.ledgers.readKey(userId), null)
  const first = await stage.create()
  const second = await stage.create()
  const key = await store.ledgers.readKey(userId)
  assert.equal(key?.byteLength, 32)
  const due = await store.syncs.claimDue({ now: stage.clock.now(), leaseMs: 1000, limit: 9 })
  assert.ok(due.some(({ connectionId }) => connectionId === connection.id))
  await stage.ask('POST', `/admin/webhooks/${first.id}/disable`)
  assert.equal((await stage.ask('DELETE', `/admin/webhooks/${first.id}`)).status, 204)
  assert.deepEqual(await store.ledgers.readKey(userId), key)
  await stage.ask('DELETE', `/admin/webhooks/${second.id}`)
  assert.equal(await store.ledgers.readKey(userId), null)
})

test('every change is in the audit, with the endpoint and never its address or secret', async (t) => {
  const stage = await makeStage(t)
  const { id, secret } = await stage.create()
  await stage.ask('POST', `/admin/webhooks/${id}/rotate`)
  await stage.ask('POST', `/admin/webhooks/${id}/disable`)
  await stage.ask('POST', `/admin/webhooks/${id}/enable`)
  const range = { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z' }
  await stage.ask('POST', `/admin/webhooks/${id}/replay`, range)
  await stage.ask('DELETE', `/admin/webhooks/${id}`)
  const audit = (await stage.readAudit()).filter(({ action }) => action.startsWith('webhooks.'))
  assert.deepEqual(
    audit.map(({ actor, action, subject, user_id }) => [actor, action, subject, user_id]),
    // The replay found no event, so it sent nothing.
    ['create', 'rotate', 'disable', 'enable', 'remove'].map((verb) => [
      'admin',
      `webhooks.${verb}`,
      id,
      stage.userId,
    ]),
  )
  assert.ok(!JSON.stringify(audit).includes(secret))
})

test('a sync is run by the action that is made for it, and its answer is passed on', async (t) => {
  const asked: unknown[] = []
  const answer = { syncRunId: newId<SyncRunId>(), newCount: 3, updatedCount: 1, chunks: 1 }
  const { ask } = await makeWorld(t, {
    runSync: async (by, id) => {
      asked.push([by, id])
      return { ...answer, more: 'is left out' }
    },
  })
  const id = newId<ConnectionId>()
  const found = await ask('POST', `/admin/connections/${id.toUpperCase()}/sync`)
  assert.equal(found.status, 200)
  assert.deepEqual(found.body, answer)
  assert.deepEqual(asked, [[byOperator, id]])
  assert.equal((await ask('POST', '/admin/connections/nothing/sync')).status, 404)
  assert.equal((await ask('POST', `/admin/connections/${id}/sync`, { full: true })).status, 400)
})
