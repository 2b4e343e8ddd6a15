/**
 * Unknown paths and other methods (readings R3 step 1, R4, R6, R8): the same answer to everybody, at no cost.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startService } from '#tests/support/service.ts'
import { exchange, type WireAnswer, type WireRequest } from './wire.ts'

const service = await startService()
const user = await service.createUser()
after(() => service.close())

const send = (request: WireRequest) => exchange(service.baseUrl, request)

function assertNotFound(answer: WireAnswer, what: string): void {
  assert.equal(answer.status, 404, what)
  assert.equal(answer.headers['x-cache'], 'BYPASS', what)
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8', what)
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    assert.match(answer.headers[name] ?? '', /^\d+$/, `${what} ${name}`)
  }
  assert.match(answer.headers['x-request-id'] ?? '', /^[0-9a-f-]{36}$/, what)
  if (what.startsWith('HEAD')) {
    assert.equal(answer.text, '', what)
    return
  }
  assert.deepEqual(Object.keys(JSON.parse(answer.text).error), ['message', 'code'], what)
  assert.equal(JSON.parse(answer.text).error.code, 'not_found', what)
}

test('R4: every other spelling of a path is unknown, with a key and without', async () => {
  const targets = [
    '//',
    '/nothing',
    '/v1',
    '/v1/',
    '/v1?',
    '/v1/connections/',
    '//v1/connections',
    '/v1//connections',
    '/v1/Connections',
    '/V1/connections',
    '/v1/connections%20',
    '/v1/%63onnections',
    '/v1/connections;a=b',
    '/v1/connections/../accounts',
    '/v1/connections#top',
    '/v1/connections.json',
    '/v1/connections/7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10',
    '/v2/connections',
    '/v1/__proto__',
    '/v1/constructor',
    '/%',
    '/v1/%',
    '/v1/%00',
    '/openapi.json/',
    '/OpenAPI.json',
    '/doc/index.html',
    '/metrics',
    '/healthz',
    '/admin/users',
  ]
  for (const target of targets) {
    const bare = await send({ target })
    const keyed = await send({ target, headers: [['Authorization', `Bearer ${user.key}`]] })
    assertNotFound(bare, `GET ${target}`)
    assertNotFound(keyed, `GET ${target}`)
    assert.equal(keyed.text, bare.text, 'it reveals nothing')
  }
})

test('R3: every method but GET is unknown, with its body or without', async () => {
  for (const target of ['/v1/connections', '/v1/transactions', '/openapi.json', '/doc', '/']) {
    for (const method of ['HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
      const headers = [['Authorization', `Bearer ${user.key}`]] as const
      assertNotFound(await send({ method, target, headers }), `${method} ${target}`)
      if (method === 'HEAD') continue
      const body = '{"not json'
      const json = [...headers, ['Content-Type', 'application/json']] as const
      assertNotFound(await send({ method, target, headers: json, body }), `${method} ${target}`)
    }
  }
  assertNotFound(await send({ method: 'OPTIONS', target: '*' }), 'OPTIONS *')
})

test('R4: a target that is no path is unknown', async () => {
  for (const target of ['*', '*?x=1', 'ftp://127.0.0.1/']) {
    assertNotFound(await send({ target }), `GET ${target}`)
  }
})

test('R3: a preflight of a browser is answered like any other method', async () => {
  const answer = await send({
    method: 'OPTIONS',
    target: '/v1/connections',
    headers: [
      ['Origin', 'https://evil.example'],
      ['Access-Control-Request-Method', 'GET'],
    ],
  })
  assertNotFound(answer, 'OPTIONS preflight')
  assert.equal(answer.headers['access-control-allow-origin'], undefined)
})

test('a large unexpected body does not prevent the answer', async () => {
  const body = 'x'.repeat(3_000_000)
  assertNotFound(await send({ method: 'POST', target: '/v1/accounts', body }), 'POST large')
})

test('R6: an unknown path consumes nothing and shows the pre-auth bucket', async () => {
  const before = await service.get('/v1/unknown')
  const again = await service.get('/v1/unknown')
  assert.equal(before.headers['x-ratelimit-limit'], '100000')
  assert.equal(again.headers['x-ratelimit-remaining'], '100000')
  assert.equal(before.headers['x-ratelimit-remaining'], '100000')
})

test('R4: the description and the documentation are public and count in no bucket', async () => {
  for (const target of ['/openapi.json', '/doc']) {
    const answer = await send({ target })
    assert.equal(answer.status, 200, target)
    assert.equal(answer.headers['x-ratelimit-limit'], undefined, target)
  }
})

const ofBrowsers = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

test('R4: a browser reads a page where no door owns the path, with the status and headers of every unknown path', async () => {
  const below = ['/guides/nothing', '/guides/', '/guides/nothing.md']
  for (const path of [
    '/nothing',
    '/agents/',
    '/Agents',
    '/v2/accounts',
    '/%',
    '/v1x',
    '/.env',
    ...below,
  ]) {
    const answer = await send({ target: path, headers: [['accept', ofBrowsers]] })
    assert.equal(answer.status, 404, path)
    assert.equal(answer.headers['x-cache'], 'BYPASS', path)
    assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8', path)
    assert.equal(answer.headers['cache-control'], 'no-store', path)
    assert.match(answer.headers['x-ratelimit-limit'] ?? '', /^\d+$/)
    assert.match(answer.headers['content-security-policy'] ?? '', /default-src 'none'/)
    assert.match(answer.text, /<h1>There is nothing here<\/h1>.*<a href="\/">/s)
    assert.ok(!answer.text.includes('script'))
  }
  const head = await send({ method: 'HEAD', target: '/nothing', headers: [['accept', ofBrowsers]] })
  assert.deepEqual([head.status, head.text], [404, ''])
})

test('F29: whose browser has a session keeps the navigation where there is no page, and it names nobody', async () => {
  const read = async (cookie: string) =>
    (
      await send({
        target: '/nothing',
        headers: [
          ['accept', ofBrowsers],
          ['cookie', cookie],
        ],
      })
    ).text
  for (const name of ['tributary', '__Host-tributary']) {
    const text = await read(`a=b; ${name}=unknown`)
    assert.match(text, /<nav class="sections".*href="\/connections"/s)
    assert.ok(!text.includes('Sign out'))
  }
  for (const cookie of ['tributary-visitor=x', 'tributary=', 'xtributary=y']) {
    assert.ok(!(await read(cookie)).includes('class="sections"'), cookie)
  }
})

test('R4: programs read JSON there, and everybody does below /v1', async () => {
  for (const accept of ['*/*', 'application/json', 'application/json, text/html', 'text/html;q=0'])
    assertNotFound(await send({ target: '/nothing', headers: [['accept', accept]] }), accept)
  for (const accept of ['application/json, text/html;q=0.9', 'text/htmlx', 'text/html;q=x', ''])
    assertNotFound(await send({ target: '/nothing', headers: [['accept', accept]] }), accept)
  for (const target of ['/guides/nothing', '/guides/', '/guides/nothing.md', '/guides/a%00b'])
    assertNotFound(await send({ target }), target)
  for (const path of ['/v1', '/v1/', '/v1?x', '/v1/nothing', '/v1/accounts/'])
    assertNotFound(await send({ target: path, headers: [['accept', ofBrowsers]] }), path)
})
