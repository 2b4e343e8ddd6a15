/** Replayed webhooks with valid signatures: their effect is bounded, at every provider. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ConnectionId } from '#kernel/ids.ts'
import { type Received, startReceiver, withStatus } from '#tests/request/webhooks/stage.ts'
import { type Service, startService } from '#tests/support/service.ts'
import { endSyncs, post, requestedSyncs } from './post.ts'

const minute = 60_000
const day = 24 * 60 * minute

/** Webhooks that each request a sync, and no two of which are alike. */
const recorded = {
  fiskil: { kinds: Array.from({ length: 8 }, () => 'consent.updated'), later: 200 },
  akahu: {
    kinds: [
      'ACCOUNT_CREATE',
      'ACCOUNT_DELETE',
      'ACCOUNT_UPDATE',
      'TRANSACTION_INITIAL_UPDATE',
      'TRANSACTION_DEFAULT_UPDATE',
      'TRANSACTION_DELETE',
    ],
    later: 200,
  },
  snaptrade: {
    kinds: Array.from({ length: 8 }, () => 'ACCOUNT_TRANSACTIONS_UPDATED'),
    later: 400,
  },
} as const
const providers = ['fiskil', 'akahu', 'snaptrade'] as const

type Recorded = Pick<Received, 'headers' | 'body'>

/** A service with one linked person, and genuine webhooks about that person that it has not received. */
async function open(t: TestContext, provider: (typeof providers)[number]) {
  const service = await startService({ webhooks: true })
  t.after(() => service.close())
  await service.link(await service.createUser(), 'healthy', provider)
  await endSyncs(service)
  const { faultControls, webhooks } = service.sandbox[provider]
  const { received, url } = await startReceiver(t, withStatus(200))
  service.sandbox.sendWebhooksTo(new URL(url).origin)
  for (const kind of recorded[provider].kinds) {
    faultControls.webhooks.fire('healthy', { kind, account: null }, {})
  }
  await webhooks.settled()
  return { service, received, send: makeSend(service, provider) }
}

const signatureHeaders = /^(?:x-)?(?:fiskil-|akahu-)?signature$|^x-akahu-signing-key$/

function makeSend(service: Service, provider: string) {
  return async ({ headers, body }: Recorded): Promise<number> => {
    const signed = Object.entries(headers).filter(([name]) => signatureHeaders.test(name))
    const sent = signed.map(([name, value]): [string, string] => [name, String(value)])
    return (await post(service, provider, body, Object.fromEntries(sent))).status
  }
}

for (const provider of providers) {
  test(`however many webhooks of ${provider} arrive, a connection has five syncs at once, and one more after five minutes`, async (t) => {
    const { service, received, send } = await open(t, provider)
    const counts = new Map<ConnectionId, number>()
    for (const one of received) {
      assert.equal(await send(one), 200)
      for (const id of await requestedSyncs(service)) counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    assert.deepEqual(new Set(counts.values()), new Set([5]))
    service.clock.advance(5 * minute)
    const merged = await requestedSyncs(service)
    assert.deepEqual(new Set(merged), new Set(counts.keys()))
    assert.equal(merged.length, counts.size)
    service.clock.advance(5 * minute)
    assert.deepEqual(await requestedSyncs(service), [])
  })

  test(`a webhook of ${provider} that is sent again after 30 days causes one sync at most`, async (t) => {
    const { service, received, send } = await open(t, provider)
    const [first = assert.fail()] = received
    assert.equal(await send(first), 200)
    const concerned = await requestedSyncs(service)
    assert.equal(concerned.length, 1)
    service.clock.advance(30 * day)
    const { later } = recorded[provider]
    for (let time = 0; time < 3; time += 1) assert.equal(await send(first), later)
    assert.deepEqual(await requestedSyncs(service), later === 200 ? concerned : [])
    service.clock.advance(5 * minute)
    assert.deepEqual(await requestedSyncs(service), [])
  })
}

test('an Akahu login that breaks, is mended and breaks again within a day is read each time, although the webhooks are alike', async (t) => {
  const service = await startService({ webhooks: true })
  t.after(() => service.close())
  const links = await service.link(await service.createUser(), 'foreign', 'akahu')
  await endSyncs(service)
  const { faultControls, webhooks } = service.sandbox.akahu
  for (const change of ['breakIt', 'mend', 'breakIt'] as const) {
    service.clock.advance(minute)
    faultControls.login?.[change]('foreign')
    await webhooks.settled()
    assert.deepEqual(new Set(await requestedSyncs(service)), new Set(links.map(({ id }) => id)))
  }
})
