/** The admin API itself: authentication, unknown paths, invalid bodies, and the paths for monitors. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { adminToken, inject, makeWorld } from './world.ts'

const bearer = { authorization: `Bearer ${adminToken}` }

test('without a token every admin path is refused, known or not, and the answer says what to send', async (t) => {
  const { door } = await makeWorld(t)
  for (const url of ['/admin/users', '/admin/nothing', '/%61dmin/users']) {
    const { status, headers, body } = await inject(door, { url })
    assert.equal(status, 401, url)
    assert.deepEqual(body, {
      error: {
        message: 'Authorization header is missing; send "Authorization: Bearer <ADMIN_TOKEN>"',
        code: 'missing_authorization',
      },
    })
    assert.equal(headers['www-authenticate'], 'Bearer realm="tributary-admin"')
  }
})

test('R5: two Authorization headers are two tokens, whichever comes first', async (t) => {
  const { door } = await makeWorld(t)
  const url = await door.listen({ host: '127.0.0.1', port: 0 })
  const { host } = new URL(url)
  for (const [one, other] of [
    [bearer.authorization, 'Bearer other'],
    ['Bearer other', bearer.authorization],
    [bearer.authorization, bearer.authorization],
  ] as const) {
    const headers = ['host', host, 'authorization', one, 'authorization', other]
    const request = get(`${url}/admin/users`, { headers })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.resume()
    assert.equal(response.statusCode, 401, `${one} + ${other}`.replaceAll(adminToken, 'good'))
  }
})

test('a wrong token, its beginning, another scheme and two tokens are refused', async (t) => {
  const { door } = await makeWorld(t)
  const wrong = [
    `Bearer ${adminToken}x`,
    `Bearer ${adminToken.slice(0, -1)}`,
    `Basic ${adminToken}`,
    `Bearer ${adminToken} ${adminToken}`,
    'Bearer ',
    adminToken,
  ]
  for (const authorization of wrong) {
    const { status, body } = await inject(door, { url: '/admin/users', headers: { authorization } })
    assert.equal(status, 401, authorization)
    assert.equal((body as { error: { code: string } }).error.code, 'invalid_token')
  }
})

test('the scheme of the token may be written in any case', async (t) => {
  const { door } = await makeWorld(t)
  const headers = { authorization: `bEARER ${adminToken}` }
  assert.equal((await inject(door, { url: '/admin/users', headers })).status, 200)
})

test('after thirty wrong tokens within a minute an address may not guess until the minute is over; the right one opens', async (t) => {
  const { door, clock } = await makeWorld(t)
  const guess = () =>
    inject(door, { url: '/admin/users', headers: { authorization: 'Bearer guess' } })
  for (let attempt = 0; attempt < 30; attempt += 1) assert.equal((await guess()).status, 401)
  const refused = await guess()
  assert.equal(refused.status, 429)
  assert.equal(refused.headers['retry-after'], '60')
  assert.equal((await inject(door, { url: '/admin/users', headers: bearer })).status, 200)
  const other = { url: '/admin/users', remoteAddress: '127.0.0.2' }
  assert.equal((await inject(door, other)).status, 401)
  assert.equal((await inject(door, { url: '/healthz' })).status, 200)
  clock.advance(60_001)
  assert.equal((await guess()).status, 401)
})

test('guesses at the token are counted by the /64 of an IPv6 address, and by the IPv4 address in any notation', async (t) => {
  const { door } = await makeWorld(t)
  const guess = async (remoteAddress: string) =>
    (await inject(door, { url: '/admin/users', remoteAddress })).status
  for (let host = 1; host <= 30; host += 1) {
    assert.equal(await guess(`2001:db8:0:1::${host}`), 401)
    assert.equal(await guess('::ffff:203.0.113.7'), 401)
  }
  assert.equal(await guess('2001:db8:0:1:ffff::1'), 429)
  assert.equal(await guess('2001:db8:0:2::1'), 401)
  assert.equal(await guess('203.0.113.7'), 429)
})

test('good tokens never count against the limit for wrong ones', async (t) => {
  const { ask } = await makeWorld(t)
  for (let count = 0; count < 40; count += 1) {
    assert.equal((await ask('GET', '/admin/users')).status, 200)
  }
})

test('an unknown path, another method, another case and a trailing slash are 404 not_found', async (t) => {
  const { door } = await makeWorld(t)
  const asked = [
    { method: 'GET', url: '/admin/nothing' },
    { method: 'GET', url: '/nothing' },
    { method: 'PATCH', url: '/admin/users' },
    { method: 'HEAD', url: '/admin/users' },
    { method: 'GET', url: '/admin/Users' },
    { method: 'GET', url: '/admin/' },
    { method: 'GET', url: '/healthz/' },
    { method: 'POST', url: '/admin/webhooks' },
  ] as const
  for (const { method, url } of asked) {
    const { status, body } = await inject(door, { method, url, headers: bearer })
    assert.equal(status, 404, `${method} ${url}`)
    if (method === 'HEAD') continue
    assert.equal((body as { error: { code: string } }).error.code, 'not_found')
  }
})

test('a path that is not valid percent-encoding is 400 and says so', async (t) => {
  const { ask } = await makeWorld(t)
  const { status, headers, body } = await ask('GET', '/admin/users/%E0%A4%A')
  assert.equal(status, 400)
  assert.match(String(headers['x-request-id']), /^[0-9a-f-]{36}$/)
  assert.deepEqual(body, {
    error: {
      message: 'Invalid request parameters',
      code: 'invalid_params',
      details: ['path: is not valid percent-encoding'],
    },
  })
})

test('a body that is not JSON is 400 with details that say what to do', async (t) => {
  const { door } = await makeWorld(t)
  const post = (contentType: string, payload: string) =>
    inject(door, {
      method: 'POST',
      url: '/admin/users',
      headers: { ...bearer, 'content-type': contentType },
      payload,
    })
  const cases = [
    ['application/json', '{"email":', /body: must be valid JSON/],
    ['application/json', '{"__proto__":{"plan":"none"}}', /body: must be valid JSON/],
    ['application/json', '[]', /body: must be a JSON object/],
    ['application/json', '"text"', /body: must be a JSON object/],
    ['application/x-www-form-urlencoded', 'email=a@b.example', /Content-Type: application\/json/],
    ['text/plain', '{}', /Content-Type: application\/json/],
  ] as const
  for (const [contentType, payload, expected] of cases) {
    const { status, body } = await post(contentType, payload)
    assert.equal(status, 400, payload)
    const { error } = body as { error: { code: string; details: string[] } }
    assert.equal(error.code, 'invalid_params')
    assert.match(error.details.join('\n'), expected)
  }
})

test('a body over 16 KiB is 413 body_too_large', async (t) => {
  const { ask } = await makeWorld(t)
  const { status, body } = await ask('POST', '/admin/users', { email: 'x'.repeat(16_385) })
  assert.equal(status, 413)
  assert.deepEqual(body, {
    error: { message: 'Request body over 16 KiB', code: 'body_too_large' },
  })
})

test('on loopback a foreign Host is refused, with the right token too', async (t) => {
  const { door } = await makeWorld(t)
  const withHost = (host: string) =>
    inject(door, { url: '/admin/users', headers: { ...bearer, host } })
  for (const host of ['evil.example', 'evil.example:3001', '127.0.0.1.evil.example', '[::2]']) {
    assert.equal((await withHost(host)).status, 400, host)
  }
  for (const host of ['localhost:3001', 'LOCALHOST', '127.0.0.1:3001', '[::1]:3001']) {
    assert.equal((await withHost(host)).status, 200, host)
  }
})

test('a listener that others can reach answers to any Host', async (t) => {
  const { door } = await makeWorld(t, { listener: { host: '0.0.0.0', isLoopback: false } })
  const headers = { ...bearer, host: 'admin.internal.example' }
  assert.equal((await inject(door, { url: '/admin/users', headers })).status, 200)
})

test('healthz, readyz and metrics answer without a token', async (t) => {
  const { door } = await makeWorld(t)
  assert.deepEqual((await inject(door, { url: '/healthz' })).body, { status: 'ok' })
  const ready = await inject(door, { url: '/readyz' })
  assert.deepEqual(ready.body, { status: 'ok', checks: { store: 'ok', kv: 'ok' } })
  const metrics = await inject(door, { url: '/metrics' })
  assert.equal(metrics.status, 200)
  assert.match(String(metrics.headers['content-type']), /^text\/plain; version=0\.0\.4/)
})

test('readyz names what does not answer, and says 503 while draining', async (t) => {
  const { door, readiness } = await makeWorld(t)
  readiness.broken.set('kv', async () => {
    throw new Error('secret address of redis')
  })
  const broken = await inject(door, { url: '/readyz' })
  assert.equal(broken.status, 503)
  assert.deepEqual(broken.body, {
    error: { message: 'Not ready', details: ['kv: does not answer'] },
  })
  readiness.broken.clear()
  readiness.draining = true
  const draining = await inject(door, { url: '/readyz' })
  assert.equal(draining.status, 503)
  assert.match(JSON.stringify(draining.body), /draining/)
  assert.equal((await inject(door, { url: '/healthz' })).status, 200)
})

test('readyz names an optional dependency that is unavailable, and stays ready', async (t) => {
  const { door, readiness } = await makeWorld(t)
  readiness.unavailable.add('kv')
  const ready = await inject(door, { url: '/readyz' })
  assert.equal(ready.status, 200)
  assert.deepEqual(ready.body, { status: 'ok', checks: { store: 'ok', kv: 'away' } })
})

test('readyz does not wait for a check that hangs', async (t) => {
  const { door, readiness } = await makeWorld(t)
  readiness.broken.set('store', () => new Promise(() => {}))
  const hanging = await inject(door, { url: '/readyz' })
  assert.equal(hanging.status, 503)
  assert.match(JSON.stringify(hanging.body), /store: no answer within 2000 ms/)
})

test('answers are never cached and carry an id that the log knows', async (t) => {
  const { ask, logged } = await makeWorld(t)
  const { headers } = await ask('GET', '/admin/users')
  assert.equal(headers['cache-control'], 'no-store')
  const id = String(headers['x-request-id'])
  assert.ok(logged.some((line) => line.includes(id)))
})

test('an unexpected failure is 500 without its cause, which is logged', async (t) => {
  const { door, metrics, logged } = await makeWorld(t)
  const collect = () => {
    throw new Error('the disk is on fire')
  }
  metrics.readGauge('broken', 'Breaks.', collect)
  const { status, body } = await inject(door, { url: '/metrics' })
  assert.equal(status, 500)
  assert.doesNotMatch(JSON.stringify(body), /fire/)
  assert.ok(logged.some((line) => line.includes('the disk is on fire')))
})
