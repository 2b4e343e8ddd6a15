/** Where the service says it is (reading R2), and whose address it counts by (`TRUST_PROXY`, reading R6). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { fetchDocument, type Service, specified, startService } from '#tests/support/service.ts'

async function withService(
  env: Readonly<Record<string, string>>,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const service = await startService({ env })
  try {
    await work(service)
  } finally {
    await service.close()
  }
}

async function origins(service: Service): Promise<readonly string[]> {
  const response = await request(
    `${service.baseUrl.replace('localhost', '127.0.0.1')}/openapi.json`,
  )
  const document = (await response.body.json()) as { servers: { url: string }[] }
  const refusal = await service.get('/v1/transactions')
  return [
    document.servers[0]?.url ?? '',
    /^<(.+)>; rel/.exec(String(refusal.headers.link))?.[1] ?? '',
  ]
}

test('R2: without BASE_URL the description and the links name the listener', async () => {
  await withService({}, async (service) => {
    assert.deepEqual(await origins(service), [service.baseUrl, `${service.baseUrl}/doc`])
  })
})

test('the description is the same whatever is configured, but for its address', async () => {
  const describe = async (env: Readonly<Record<string, string>>) => {
    let served = {}
    await withService(env, async (service) => {
      served = { ...(await fetchDocument(service.baseUrl)), servers: [] }
    })
    return served
  }
  const plain = await describe({})
  const env = { ROLE: 'all', SIGN_UP: 'closed', MCP_EXTRA_TOOLS: 'true' }
  assert.deepEqual(await describe({ ...env, ...specified }), plain)
})

test('R6: a forwarded address is ignored unless the proxy is trusted', async () => {
  await withService({ RATE_LIMIT_PREAUTH: '3' }, async (service) => {
    for (const address of ['198.51.100.1', '198.51.100.2', '198.51.100.3', '198.51.100.4']) {
      const answer = await service.get('/v1/accounts', null, { 'x-forwarded-for': address })
      assert.equal(answer.status, address.endsWith('4') ? 429 : 401)
    }
  })
})

test('R6: behind a trusted proxy each client has its own bucket, whatever it claims to be', async () => {
  const env = { RATE_LIMIT_PREAUTH: '2', TRUST_PROXY: '127.0.0.1,10.0.0.0/8' }
  await withService(env, async (service) => {
    const ask = async (forwarded: string) => {
      const answer = await service.get('/v1/accounts', null, { 'x-forwarded-for': forwarded })
      return answer.status
    }
    assert.deepEqual([await ask('198.51.100.1'), await ask('198.51.100.1')], [401, 401])
    assert.equal(await ask('198.51.100.1'), 429)
    assert.equal(await ask('198.51.100.2'), 401, 'its neighbour')
    assert.equal(await ask('203.0.113.9, 198.51.100.1'), 429, 'a made-up address in front')
    assert.equal(await ask('198.51.100.1, 10.1.2.3'), 429, 'a second proxy of ours in between')
    assert.equal(await ask('::ffff:198.51.100.1'), 429, 'the same address in IPv6 clothes')
    assert.equal(await ask('198.51.100.1:50123'), 429, 'the same address with a port')
    assert.deepEqual([await ask('2001:db8::1'), await ask('[2001:db8::1]:443')], [401, 401])
    assert.equal(await ask('[2001:db8::1]'), 429, 'the same address in brackets')
  })
})
