/**
 * The providers' webhooks from end to end: what happens at an emulator is announced, received, and read by a
 * sync, without anybody asking; and the commands that send them.
 */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { request } from 'undici'
import { sandboxProviders } from '#sandbox/magic-users.ts'
import { makeAccount } from '#sandbox/snaptrade/index.ts'
import type { SyncReason } from '#store/ports/syncs.ts'
import { startReceiver, withStatus } from '#tests/request/webhooks/stage.ts'
import { startService } from '#tests/support/service.ts'
import { parseEvent } from '#tests/support/synced-event.ts'
import { until } from '#tests/support/until.ts'
import { commandsOf } from './command.ts'
import { linkMagic } from './linked.ts'

const service = await startService({ webhooks: true, env: { ROLE: 'all' } })
const sandbox = commandsOf(service)
after(() => service.close())
afterEach(async () => {
  await sandbox.json('reset')
})

/** A path of the admin API. */
async function post(path: string, body: object): Promise<Record<string, unknown>> {
  const response = await request(`${service.adminUrl}/admin${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal(response.statusCode, 201)
  return (await response.body.json()) as Record<string, unknown>
}

/** Every sync that is due has run. */
const idle = () =>
  until('no sync is due', async () => {
    const { due, running } = await service.app.store.syncs.readBacklog(service.clock.now())
    return due === 0 && running === 0
  })

test('a row that is added at a bank arrives as a signed event without a requested sync', async (t) => {
  for (const provider of ['fiskil', 'akahu'] as const) {
    const linked = await linkMagic(service, 'twins', provider)
    const receiver = await startReceiver(t, withStatus(200))
    await post(`/users/${linked.user.id}/webhooks`, { url: receiver.url, skipEmpty: true })
    const events = () => receiver.received.map(({ body }) => parseEvent(body))
    await until('the look-back was told', () => {
      const last = events().at(-1)?.metadata
      return last !== undefined && last.chunk === last.total_chunks
    })
    const before = receiver.received.length
    const words = ['rows', 'add', 'twins', '--provider', provider, '--amount', '-4.55']
    const { id } = await sandbox.json(...words, '--description', 'TOLD BY WEBHOOK')
    await until('the new row arrived', () => receiver.received.length > before)
    const [row] = events().at(-1)?.data.new ?? []
    assert.deepEqual([row?.id, row?.description], [id, 'TOLD BY WEBHOOK'])
  }
})

test('a trade that is added at a broker is read by a sync that the webhook requested', async (t) => {
  const user = await service.createUser()
  const receiver = await startReceiver(t, withStatus(200))
  await post(`/users/${user.id}/webhooks`, { url: receiver.url, skipEmpty: true })
  const [connection] = await service.link(user, 'twins', 'snaptrade')
  assert.ok(connection !== undefined)
  const findRun = async (asked: SyncReason) => {
    const runs = await service.app.store.syncs.listRuns(connection.id, 100)
    return runs.find(({ reason, state }) => reason === asked && state === 'succeeded')
  }
  // A trade that is added before that is read by the current run; the requested run then finds no changes.
  await until('the look-back was read', async () => (await findRun('linked')) !== undefined)
  const words = ['rows', 'add', 'twins', '--provider', 'snaptrade', '--amount', '-12.50']
  await sandbox.json(...words, '--symbol', 'TOLD', '--units', '1', '--price', '12.50')
  const events = () =>
    receiver.received
      .map(({ body }) => parseEvent(body))
      .filter(({ data }) => data.new.some((row) => 'symbol' in row && row.symbol === 'TOLD'))
  await until('the trade arrived', () => events().length > 0)
  const run = await findRun('provider')
  assert.equal(run?.newCount, 1)
  assert.deepEqual(
    events().map(({ type, metadata }) => [type, metadata.sync_run_id]),
    [['trades.synced', run?.id]],
  )
})

/** The providers that send webhooks. */
const senders = () =>
  sandboxProviders.filter((name) => service.sandbox[name].faultControls.webhooks !== null)

test('a consent that is withdrawn at the provider is revoked here without a read', async () => {
  for (const provider of senders()) {
    const linked = await linkMagic(service, 'decimals', provider)
    await idle()
    service.sandbox[provider].faultControls.consent.revoke('decimals')
    await until(`${provider} is revoked`, async () => {
      const row = await service.app.store.connections.find(linked.connection.id)
      return row?.status === 'revoked'
    })
    assert.equal(await linked.status(), 'revoked')
    service.sandbox[provider].faultControls.consent.renew('decimals')
    await until(`${provider} is active again`, async () => (await linked.status()) === 'active')
  }
})

test('a broken and a repaired login are shown at once where the provider has logins', async () => {
  for (const provider of ['akahu', 'snaptrade'] as const) {
    const linked = await linkMagic(service, 'foreign', provider)
    const stored = async () =>
      (await service.app.store.connections.find(linked.connection.id))?.status
    await idle()
    const { login } = service.sandbox[provider].faultControls
    service.clock.advance(1000)
    login?.breakIt('foreign')
    await until(`${provider} is broken`, async () => (await stored()) === 'invalidated')
    // What the webhook of the break requested is read before; it cannot see the login mended by chance.
    await idle()
    service.clock.advance(5 * 60_000)
    login?.mend('foreign')
    await until(`${provider} is mended`, async () => (await stored()) === 'active')
  }
})

test('an account that is opened at the broker is listed once its webhook came', async () => {
  const linked = await linkMagic(service, 'healthy', 'snaptrade')
  await idle()
  const { people, faultControls } = service.sandbox.snaptrade
  const held = people.healthy.connections.find(({ id }) => id === linked.connection.upstreamId)
  assert.ok(held !== undefined)
  const seed = { seed: 'opened', nowMs: service.clock.now() }
  held.accounts.push(makeAccount('opened', seed, { name: 'Opened Today', number: 'OPEN00012345' }))
  const names = async () => {
    const { body } = await service.get('/v1/accounts?limit=200', linked.user)
    return body.data.map(({ name }: { name: string }) => name)
  }
  assert.ok(!(await names()).includes('Opened Today'))
  const order = { kind: 'NEW_ACCOUNT_AVAILABLE', account: 'Opened Today' }
  faultControls.webhooks.fire('healthy', order, {})
  await until('the account is listed', async () => (await names()).includes('Opened Today'))
})

test('every kind of webhook can be sent by command, and is taken', async () => {
  for (const provider of sandboxProviders) await linkMagic(service, 'healthy', provider)
  for (const provider of senders()) {
    for (const event of service.sandbox[provider].faultControls.webhooks?.kinds ?? []) {
      // What ends the telling, or the token, comes last.
      if (event === 'WEBHOOK_CANCELLED' || event === 'TOKEN_DELETE') continue
      const told = await post('/sandbox/people/healthy/webhooks', { event })
      assert.equal(told.provider, provider)
      assert.notEqual(told.sent, 0, event)
      assert.deepEqual(new Set(told.answers as number[]), new Set([200]), event)
    }
  }
  for (const event of ['WEBHOOK_CANCELLED', 'TOKEN_DELETE']) {
    const told = await post('/sandbox/people/healthy/webhooks', { event })
    assert.equal(told.provider, 'akahu')
    await idle()
  }
})

test('by command one is sent late, twice, after the next one, or with a wrong signature', async () => {
  await linkMagic(service, 'twins', 'fiskil')
  const { webhooks } = service.sandbox.fiskil
  const send = (...flags: string[]) => sandbox.json('webhook', 'twins', 'consent.updated', ...flags)
  assert.deepEqual((await send('--twice')).answers, [200, 200])
  assert.deepEqual((await send('--wrong-signature')).answers, [401])
  assert.deepEqual((await send('--late', '3600')).answers, [])
  const held = await send('--out-of-order')
  assert.deepEqual([held.sent, held.answers], [1, []])
  const from = webhooks.sent.length
  await send()
  await webhooks.settled()
  const [, , late, behind, next] = webhooks.sent.slice(from - 4)
  assert.deepEqual([late?.state, behind?.statuses, next?.statuses], ['waiting', [200], [200]])
  service.clock.advance(3_600_000)
  webhooks.flush()
  await webhooks.settled()
  assert.deepEqual(late?.statuses, [200])
})

test('by command Akahu signs with a new key, which is read once; the others have none that rotates', async () => {
  await linkMagic(service, 'numbers', 'akahu')
  const { akahu } = service.sandbox
  await sandbox.json('webhook', 'numbers', 'ACCOUNT_UPDATE')
  const asked = () => akahu.requests.filter(({ path }) => path.startsWith('/v1/keys/')).length
  const before = asked()
  assert.deepEqual(await sandbox.json('rotate-key', 'akahu'), { provider: 'akahu' })
  for (let time = 0; time < 2; time += 1) {
    const told = await sandbox.json('webhook', 'numbers', 'TRANSACTION_DEFAULT_UPDATE')
    assert.deepEqual(told.answers, [200])
  }
  assert.equal(asked(), before + 1)
  const details = await sandbox.refusal('rotate-key', 'fiskil')
  assert.deepEqual(details, ['provider: the key of fiskil does not rotate'])
})

test('a name that no provider has is answered with those there are; without an address nothing is sent', async () => {
  const details = await sandbox.refusal('webhook', 'twins', 'consent.painted')
  assert.equal(details.length, 3)
  assert.match(details[0] ?? '', /^EVENT: fiskil sends consent\.received, /)
  service.sandbox.sendWebhooksTo(null)
  const refused = await sandbox.refusal('webhook', 'twins', 'consent.updated')
  assert.deepEqual(refused, ['webhooks: this sandbox has no address to send to'])
  service.sandbox.sendWebhooksTo(service.baseUrl)
})

test('what Akahu sent and could not send is listed for the app, as the real one lists it', async () => {
  await linkMagic(service, 'pending', 'akahu')
  await sandbox.json('webhook', 'pending', 'ACCOUNT_UPDATE')
  await sandbox.json('webhook', 'pending', 'ACCOUNT_UPDATE', '--wrong-signature')
  const access = service.sandbox.access.akahu
  assert.ok(access !== null)
  const basic = Buffer.from(`${access.appToken}:${access.appSecret}`).toString('base64')
  const list = async (status: string) => {
    const { body } = await request(`${access.baseUrl}/webhook-events?status=${status}`, {
      headers: { authorization: `Basic ${basic}` },
    })
    return ((await body.json()) as { items: { status: string; payload: object }[] }).items
  }
  assert.ok((await list('SENT')).some(({ payload }) => 'updated_fields' in payload))
  const [failing] = await list('RETRY')
  assert.equal(failing?.status, 'RETRY')
  service.clock.advance(60_000)
  service.sandbox.akahu.webhooks.flush()
  await service.sandbox.akahu.webhooks.settled()
  assert.equal((await list('FAILED')).length, 1)
})
