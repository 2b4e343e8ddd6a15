/** Webhooks of providers that are received: what they change, and that repetitions change nothing more. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { startService } from '#tests/support/service.ts'
import {
  countOf,
  endSyncs,
  fiskilBody,
  post,
  requestedSyncs,
  signFiskil,
  signSnapTrade,
  snapTradeBody,
} from './post.ts'

const service = await startService({ webhooks: true })
const user = await service.createUser()
const links = await service.link(user, 'healthy')
await endSyncs(service)
after(() => service.close())

function linkAt(provider: string): ConnectionRow {
  const link = links.find((one) => one.provider === provider)
  assert.ok(link !== undefined)
  return link
}

const statusOf = async ({ id }: ConnectionRow) =>
  (await service.app.store.connections.find(id))?.status

test('new rows at Fiskil: the cached answer is not served again, and a sync is requested', async () => {
  const link = linkAt('fiskil')
  const path = `/v1/transactions?connectionId=${link.id}&limit=1`
  await service.get(path, user)
  assert.equal((await service.get(path, user)).headers['x-cache'], 'HIT')
  const body = fiskilBody('banking.transactions.sync.completed', { consent_id: link.upstreamId })
  const answer = await post(service, 'fiskil', body, signFiskil(body))
  assert.deepEqual([answer.status, answer.body], [200, { received: true }])
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.equal((await service.get(path, user)).headers['x-cache'], 'MISS')
  assert.deepEqual(await requestedSyncs(service), [link.id])
})

test('the same message again, as it is or as another attempt, requests nothing more', async () => {
  const link = linkAt('fiskil')
  const body = fiskilBody('consent.updated', { consent_id: link.upstreamId })
  const again = body.replace('"delivery_attempt":1', '"delivery_attempt":2')
  const repeated = await countOf(service, 'fiskil', 'repeated')
  for (const text of [body, body, again]) {
    assert.equal((await post(service, 'fiskil', text, signFiskil(text))).status, 200)
  }
  assert.deepEqual(await requestedSyncs(service), [link.id])
  assert.equal(await countOf(service, 'fiskil', 'repeated'), repeated + 2)
})

test('a flood of one webhook at once requests one sync', async () => {
  const link = linkAt('fiskil')
  const body = fiskilBody('consent.updated', { consent_id: link.upstreamId })
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => post(service, 'fiskil', body, signFiskil(body))),
  )
  assert.ok(answers.every(({ status }) => status === 200))
  assert.deepEqual(await requestedSyncs(service), [link.id])
})

test('unknown events and events about unknown logins are answered 200, counted, and change nothing', async () => {
  const ignored = await countOf(service, 'fiskil', 'ignored')
  const unmatched = await countOf(service, 'fiskil', 'unmatched')
  const bodies = [
    fiskilBody('banking.cards.sync.completed'),
    fiskilBody('consent.updated', { end_user_id: 'eu_of_nobody' }),
  ]
  for (const body of bodies) {
    assert.equal((await post(service, 'fiskil', body, signFiskil(body))).status, 200)
  }
  assert.equal(await countOf(service, 'fiskil', 'ignored'), ignored + 1)
  assert.equal(await countOf(service, 'fiskil', 'unmatched'), unmatched + 1)
  assert.deepEqual(await requestedSyncs(service), [])
  const metrics = await service.metrics.text()
  assert.match(metrics, /provider_oddities_total\{provider="fiskil",what="unknown webhook"\} 1/)
})

test('SnapTrade reports a status: the next answer shows it, and an older one changes nothing', async () => {
  const link = linkAt('snaptrade')
  const now = service.clock.now()
  const send = async (eventType: string, time: number) => {
    const eventTimestamp = new Date(time).toISOString()
    const ids = { brokerageAuthorizationId: link.upstreamId, eventType, eventTimestamp }
    const body = snapTradeBody(service, ids)
    assert.equal((await post(service, 'snaptrade', body, signSnapTrade(body))).status, 200)
  }
  service.clock.advance(60_000)
  await send('CONNECTION_BROKEN', now + 10_000)
  const { body } = await service.get('/v1/connections', user)
  const shown = body.data.find((one: { id: string }) => one.id === link.id)
  assert.equal(shown.status, 'invalidated')
  await send('CONNECTION_FIXED', now + 30_000)
  assert.equal(await statusOf(link), 'active')
  await endSyncs(service)
  await send('CONNECTION_BROKEN', now + 20_000)
  assert.equal(await statusOf(link), 'active')
  assert.deepEqual(await requestedSyncs(service), [link.id])
})

test('Akahu reports a deleted token: its connections are revoked, and the token is in no log line', async () => {
  const another = await service.createUser()
  const [link] = await service.link(another, 'twins', 'akahu')
  assert.ok(link !== undefined)
  const token = service.sandbox.akahu.people.twins.userToken ?? ''
  const { faultControls, webhooks } = service.sandbox.akahu
  const [sent] = faultControls.webhooks.fire('twins', { kind: 'TOKEN_DELETE', account: null }, {})
  await webhooks.settled()
  assert.deepEqual(sent?.statuses, [200])
  assert.ok(sent?.body.includes(token))
  assert.equal(await statusOf(link), 'revoked')
  assert.equal((await service.app.store.logins.get(link.loginId))?.secret, null)
  assert.ok(!service.logLines.join('').includes(token))
  const path = `/v1/transactions?connectionId=${link.id}`
  assert.equal((await service.get(path, another)).status, 400)
})

test('Akahu reports a moved account: it keeps its id, and its rows are read under the new one', async () => {
  const another = await service.createUser()
  await service.link(another, 'foreign', 'akahu')
  await endSyncs(service)
  const before = await service.accounts(another)
  const { faultControls, webhooks, people } = service.sandbox.akahu
  const order = { kind: 'ACCOUNT_MIGRATE', account: null }
  const [sent] = faultControls.webhooks.fire('foreign', order, {})
  await webhooks.settled()
  assert.deepEqual(sent?.statuses, [200])
  const moved = people.foreign.accounts.find(({ _migrated }) => _migrated !== undefined)
  const old = before.find(({ upstreamId }) => upstreamId === moved?._migrated)
  assert.equal((await requestedSyncs(service)).length, 1)
  const ids = `connectionId=${old?.connectionId}&accountId=${old?.id}`
  assert.equal((await service.get(`/v1/transactions?${ids}`, another)).status, 200)
  const now = (await service.accounts(another)).find(({ id }) => id === old?.id)
  assert.equal(now?.upstreamId, moved?._id)
})

test('when Akahu cancels its webhooks, the next refresh of the login requests them again', async () => {
  const another = await service.createUser()
  const [link] = await service.link(another, 'decimals', 'akahu')
  assert.ok(link !== undefined)
  const { akahu } = service.sandbox
  const askings = () =>
    akahu.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/webhooks').length
  const refresh = () =>
    service.app.connections.refreshConnection({ actor: { kind: 'operator' } }, link.id, {
      priority: 'user',
    })
  const linked = askings()
  await refresh()
  assert.equal(askings(), linked)
  await endSyncs(service)
  const order = { kind: 'WEBHOOK_CANCELLED', account: null }
  assert.equal(akahu.faultControls.webhooks.fire('decimals', order, {}).length, 3)
  await akahu.webhooks.settled()
  assert.equal((await requestedSyncs(service)).length, 1)
  await refresh()
  assert.equal(askings(), linked + 3)
})

test('the log has a line for each webhook, with its provider and its outcome, and nothing of a person', async () => {
  const link = linkAt('fiskil')
  const from = service.logLines.length
  const body = fiskilBody('consent.updated', { consent_id: link.upstreamId })
  await post(service, 'fiskil', body, signFiskil(body))
  const lines = service.logLines.slice(from).map((line) => JSON.parse(line))
  const [line] = lines.filter(({ door }) => door === 'provider-webhooks')
  const { level, time, durationMs, ...fields } = line
  assert.deepEqual(fields, {
    door: 'provider-webhooks',
    provider: 'fiskil',
    outcome: 'done',
    status: 200,
    msg: 'provider webhook',
  })
  assert.equal(level, 'info')
})
