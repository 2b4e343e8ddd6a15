/**
 * Webhooks of providers that are refused: forged, unreadable, too old, too large, too many; none of them
 * changes a thing.
 */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, beforeEach, test } from 'node:test'
import { request } from 'undici'
import { startService } from '#tests/support/service.ts'
import {
  countOf,
  endSyncs,
  fiskilBody,
  pathOf,
  post,
  requestedSyncs,
  signFiskil,
  signSnapTrade,
  snapTradeBody,
} from './post.ts'

const service = await startService({ webhooks: true })
const links = await service.link(await service.createUser(), 'healthy')
after(() => service.close())
beforeEach(() => endSyncs(service))

async function statuses(): Promise<readonly (string | undefined)[]> {
  const { connections } = service.app.store
  const rows = await Promise.all(links.map(({ id }) => connections.find(id)))
  return rows.map((row) => row?.status)
}

test('401: a webhook without a signature or with a wrong one is refused, at every provider', async () => {
  const before = await statuses()
  const body = fiskilBody('consent.revoked')
  const wrong = signFiskil(`${body} `)
  const key = { 'x-akahu-signing-key': '3' }
  const forged: [provider: string, headers: Readonly<Record<string, string>>][] = [
    ['fiskil', {}],
    ['fiskil', { 'x-fiskil-signature': 'AAAA' }],
    ['fiskil', { 'x-fiskil-signature': signSnapTrade(body).signature ?? '' }],
    ['akahu', {}],
    ['akahu', { ...key, 'x-akahu-signature': Buffer.alloc(256).toString('base64') }],
    ['akahu', { 'x-akahu-signature': 'AAAA', 'x-akahu-signing-key': 'all' }],
    ['snaptrade', {}],
    ['snaptrade', { signature: wrong['x-fiskil-signature'] ?? '' }],
  ]
  for (const [provider, headers] of forged) {
    const answer = await post(service, provider, body, headers)
    assert.deepEqual([answer.status, answer.body.error.code], [401, 'invalid_signature'], provider)
  }
  assert.deepEqual(await requestedSyncs(service), [])
  assert.deepEqual(await statuses(), before)
  assert.equal(await countOf(service, 'akahu', 'forged'), 2)
})

test('401: what the emulators sign wrongly is refused', async () => {
  const orders = {
    fiskil: 'consent.revoked',
    akahu: 'ACCOUNT_UPDATE',
    snaptrade: 'CONNECTION_BROKEN',
  }
  for (const provider of ['fiskil', 'akahu', 'snaptrade'] as const) {
    const { faultControls, webhooks } = service.sandbox[provider]
    const order = { kind: orders[provider], account: null }
    const [sent] = faultControls.webhooks.fire('healthy', order, { forged: true })
    await webhooks.settled()
    assert.deepEqual(sent?.statuses, [401], provider)
  }
  assert.deepEqual(await requestedSyncs(service), [])
})

test('400: a signed body that is no event is refused, and one that is older than a day', async () => {
  const [unreadable, old] = [
    'no JSON',
    snapTradeBody(service, {
      eventType: 'CONNECTION_BROKEN',
      eventTimestamp: new Date(service.clock.now() - 86_400_001).toISOString(),
    }),
  ]
  const first = await post(service, 'fiskil', unreadable, signFiskil(unreadable))
  assert.deepEqual([first.status, first.body.error.code], [400, 'invalid_params'])
  const second = await post(service, 'snaptrade', old, signSnapTrade(old))
  assert.equal(second.status, 400)
  assert.match(second.body.error.details[0], /more than 24 hours/)
  assert.deepEqual(await requestedSyncs(service), [])
})

test('413: a body over 64 KiB is refused, one of 64 KiB is not', async () => {
  const padded = (size: number) => {
    const body = fiskilBody('consent.updated', { padding: '' })
    return body.replace('"padding":""', `"padding":"${'x'.repeat(size - body.length)}"`)
  }
  const most = padded(64 * 1024)
  assert.equal((await post(service, 'fiskil', most, signFiskil(most))).status, 200)
  await endSyncs(service)
  const more = padded(64 * 1024 + 1)
  const answer = await post(service, 'fiskil', more, signFiskil(more))
  assert.deepEqual([answer.status, answer.body.error.code], [413, 'body_too_large'])
  assert.match(answer.body.error.message, /64 KiB/)
  const chunked = await request(service.baseUrl + pathOf('fiskil'), {
    method: 'POST',
    body: Readable.from(Array.from({ length: 65 }, () => Buffer.alloc(1024, 32))),
  })
  assert.equal(chunked.statusCode, 413)
  await chunked.body.dump()
  assert.deepEqual(await requestedSyncs(service), [])
})

test('404: only POST, only these paths, and only where the secret is configured', async (t) => {
  for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'] as const) {
    const answer = await request(service.baseUrl + pathOf('fiskil'), { method })
    assert.equal(answer.statusCode, 404, method)
    assert.equal(answer.headers['x-cache'], 'BYPASS')
    await answer.body.dump()
  }
  for (const path of ['up', 'Fiskil', 'fiskil/', '../fiskil']) {
    assert.equal((await post(service, path, '{}')).status, 404, path)
  }
  const { fiskil, ...others } = service.sandbox.access
  assert.ok(fiskil !== null)
  const bare = await startService({
    access: { ...others, fiskil: { ...fiskil, webhookSecret: null }, snaptrade: null },
  })
  t.after(() => bare.close())
  const body = fiskilBody('consent.updated')
  for (const provider of ['fiskil', 'snaptrade']) {
    const answer = await post(bare, provider, body, signFiskil(body))
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'])
  }
  assert.equal((await post(bare, 'akahu', body)).status, 401)
})

test('429: forged webhooks count against their address, and genuine ones from other addresses are received', async (t) => {
  const own = await startService({ env: { TRUST_PROXY: '127.0.0.1' } })
  t.after(() => own.close())
  const body = fiskilBody('consent.updated', { end_user_id: 'eu_of_nobody' })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const statuses: number[] = []
  for (let count = 0; count < 610; count += 10) {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post(own, 'fiskil', body, from('192.0.2.1'))),
    )
    statuses.push(...answers.map(({ status }) => status))
  }
  assert.equal(statuses.filter((status) => status === 401).length, 600)
  assert.equal(statuses.filter((status) => status === 429).length, 10)
  const limited = await post(own, 'fiskil', body, { ...signFiskil(body), ...from('192.0.2.1') })
  assert.equal(limited.status, 429)
  assert.ok(Number(limited.headers['retry-after']) >= 1)
  const honest = { ...signFiskil(body), ...from('192.0.2.2') }
  for (let count = 0; count < 20; count += 1) {
    assert.equal((await post(own, 'fiskil', body, honest)).status, 200)
  }
  own.clock.advance(60_000)
  const later = await post(own, 'fiskil', body, { ...signFiskil(body), ...from('192.0.2.1') })
  assert.equal(later.status, 200)
})

test('503: a webhook whose key cannot be read in time is not taken and not lost; a new key is found at once', async (t) => {
  const own = await startService({ webhooks: true })
  t.after(() => own.close())
  const [link] = await own.link(await own.createUser(), 'healthy', 'akahu')
  assert.ok(link !== undefined)
  await endSyncs(own)
  const { akahu } = own.sandbox
  const fire = async () => {
    const order = { kind: 'ACCOUNT_UPDATE', account: null }
    const [sent] = akahu.faultControls.webhooks.fire('healthy', order, {})
    await akahu.webhooks.settled()
    return sent
  }
  akahu.addFault({ when: ({ path }) => path.startsWith('/v1/keys/'), does: { kind: 'hang' } })
  const sent = await fire()
  assert.deepEqual(sent?.statuses, [503])
  assert.deepEqual(await requestedSyncs(own), [])
  akahu.clearFaults()
  own.clock.advance(60_000)
  akahu.webhooks.flush()
  await akahu.webhooks.settled()
  assert.deepEqual(sent?.statuses, [503, 200])
  assert.equal((await requestedSyncs(own)).length, 1)
  akahu.faultControls.webhooks.rotateKey?.()
  assert.deepEqual((await fire())?.statuses, [200])
  const keys = akahu.requests.filter(({ path }) => path.startsWith('/v1/keys/'))
  assert.deepEqual(
    keys.map(({ path }) => path),
    ['/v1/keys/3', '/v1/keys/3', '/v1/keys/4'],
  )
})

test('invented key ids cause few requests to Akahu, and a genuine new key is found among them', async () => {
  const { akahu } = service.sandbox
  const asked = () => akahu.requests.filter(({ path }) => path.startsWith('/v1/keys/')).length
  const before = asked()
  const statuses: number[] = []
  for (let id = 1000; id < 1100; id += 1) {
    const answer = await post(service, 'akahu', '{}', {
      'x-akahu-signature': Buffer.alloc(256).toString('base64'),
      'x-akahu-signing-key': String(id),
    })
    statuses.push(answer.status)
  }
  assert.ok(asked() - before <= 10)
  assert.deepEqual(new Set(statuses), new Set([401, 503]))
  const { faultControls, webhooks } = akahu
  faultControls.webhooks.rotateKey?.()
  const order = { kind: 'TRANSACTION_DEFAULT_UPDATE', account: null }
  const [sent] = faultControls.webhooks.fire('healthy', order, {})
  await webhooks.settled()
  assert.deepEqual(sent?.statuses, [200])
})
