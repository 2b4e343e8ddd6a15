/** Authentication at `/mcp`, and the answers without it (readings R5, R6; RFC 6750 §3, RFC 9728 §5.1). */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { mintKey } from '#auth/keys.ts'
import { byOperator } from '#contract/actor.ts'
import { post, rpc, toolCall } from '#tests/support/agent.ts'
import {
  type Answer,
  codeOf,
  type ServiceUser,
  specified,
  startService,
} from '#tests/support/service.ts'
import { exchange, open } from '../rest/wire.ts'

let user: ServiceUser
const service = await startService({ env: specified })
beforeEach(async () => {
  service.clock.advance(60_000)
  user = await service.createUser()
})
after(() => service.close())

const challenge = () =>
  `resource_metadata="${service.baseUrl}/.well-known/oauth-protected-resource/mcp", scope="mcp:read brokerage:read"`

function assertChallenged(answer: Answer, code: 'missing_authorization' | 'invalid_token'): void {
  assert.equal(answer.status, 401)
  assert.equal(codeOf(answer), code)
  const error = code === 'invalid_token' ? 'error="invalid_token", ' : ''
  assert.equal(answer.headers['www-authenticate'], `Bearer ${error}${challenge()}`)
  assert.equal(answer.headers['x-ratelimit-limit'], '60', 'the pre-auth bucket')
}

test('R5: without credentials the challenge names the metadata and both scopes, and no error', async () => {
  for (const method of ['initialize', 'tools/list', 'tools/call', 'ping']) {
    assertChallenged(await post(service, rpc(method)), 'missing_authorization')
  }
})

const bad = {
  'a token nobody gave': 'Bearer nobody-gave-this',
  'a key nobody made': `Bearer ${mintKey().key}`,
  'a key with a wrong checksum': 'Bearer trib_live_000000000000000000000000000000000000000',
  'another scheme': 'Basic dXNlcjpwYXNz',
  'an empty token': 'Bearer ',
  'two tokens': 'Bearer one two',
  'a token of forbidden characters': 'Bearer käse',
}
for (const [name, authorization] of Object.entries(bad)) {
  test(`R5: ${name} is invalid_token, and the challenge says so first`, async () => {
    assertChallenged(await post(service, rpc('ping'), { as: authorization }), 'invalid_token')
  })
}

test('R5: the header given twice is no token', async () => {
  const answer = await exchange(service.baseUrl, {
    method: 'POST',
    target: '/mcp',
    headers: [
      ['Authorization', `Bearer ${user.key}`],
      ['Authorization', `Bearer ${user.key}`],
      ['Content-Type', 'application/json'],
    ],
    body: JSON.stringify(rpc('ping')),
  })
  assert.equal(answer.status, 401)
})

test('the scheme may be written in any case', async () => {
  assert.equal((await post(service, rpc('ping'), { as: `bEARER ${user.key}` })).status, 200)
})

test('the body of an unidentified client is not parsed', async () => {
  assertChallenged(await post(service, '{"jsonrpc":'), 'missing_authorization')
})

test('R27: a revoked key is refused on the next call, even while its answer is warm', async () => {
  const call = toolCall('list_connections')
  assert.equal((await post(service, call, { as: user })).status, 200)
  await service.app.store.keys.revoke(user.keyId, service.clock.now())
  assertChallenged(await post(service, call, { as: user }), 'invalid_token')
})

test('R27: the key of a deleted user is refused on the next call', async () => {
  assert.equal((await post(service, rpc('ping'), { as: user })).status, 200)
  await service.app.connections.deleteUser(byOperator, user.id)
  assertChallenged(await post(service, rpc('ping'), { as: user }), 'invalid_token')
})

test('R6: failures are counted before any look-up, and the 61st is refused', async () => {
  const guess = `Bearer ${mintKey().key}`
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => post(service, rpc('ping'), { as: guess })),
  )
  assert.equal(answers.filter(({ status }) => status === 401).length, 60)
  const refused = answers.filter(({ status }) => status === 429)
  assert.equal(refused.length, 40)
  for (const answer of refused) {
    assert.deepEqual(answer.body, { error: { message: 'Too many requests' } })
    assert.equal(answer.headers['retry-after'], '60')
  }
})

test('R6: REST and agents share the pre-auth bucket', async () => {
  const guess = `Bearer ${mintKey().key}`
  for (let count = 0; count < 59; count += 1) await service.get('/v1/categories', guess)
  const last = await post(service, rpc('ping'), { as: guess })
  assert.equal(last.status, 401)
  assert.equal(last.headers['x-ratelimit-remaining'], '0')
  assert.equal((await service.get('/v1/categories', guess)).status, 429)
})

test('R6: a good key gives its pre-auth point back', async () => {
  for (let count = 0; count < 70; count += 1) {
    assert.equal((await post(service, rpc('ping'), { as: user })).status, 200)
  }
})

test('R6: a body that is too large costs a good key nothing, on either door', async () => {
  const large = ' '.repeat(16_385)
  for (let count = 0; count < 70; count += 1) {
    const answer = await post(service, large, { as: user })
    assert.equal(answer.status, 413)
    assert.equal(answer.headers['x-ratelimit-remaining'], '60', 'the key’s own cheap bucket')
  }
  assert.equal((await service.get('/v1/categories', user)).status, 200)
})

/** Begins a body, disconnects in the middle of it, and waits until the server has noticed. */
async function breakOff(authorization: string, id: string): Promise<void> {
  const socket = open(service.baseUrl, {
    method: 'POST',
    target: '/mcp',
    headers: [
      ['Authorization', authorization],
      ['Content-Type', 'application/json'],
      ['Content-Length', '100'],
      ['X-Request-Id', id],
    ],
  })
  socket.end('{"jsonrpc":')
  await once(socket.resume(), 'close')
  const isLogged = () => service.logLines.some((line) => line.includes(id))
  for (let wait = 0; wait < 2000 && !isLogged(); wait += 1) await sleep(1)
  assert.ok(isLogged(), 'the server has noticed')
}

test('R6: a request that breaks off in its body costs a good key nothing, and a bad one its point', async () => {
  const guess = `Bearer ${mintKey().key}`
  for (let count = 0; count < 61; count += 1) await breakOff(`Bearer ${user.key}`, `good-${count}.`)
  assert.equal((await service.get('/v1/categories', user)).status, 200)
  for (let count = 0; count < 3; count += 1) await breakOff(guess, `bad-${count}.`)
  const answer = await service.get('/v1/categories', guess)
  assert.equal(answer.headers['x-ratelimit-remaining'], '56')
})

test('R6: a store that fails while keys are looked up locks no key out, on either door', async () => {
  const db = new DatabaseSync(join(service.dataDir, 'sandbox', 'tributary.db'))
  db.exec('alter table api_keys rename to lost')
  try {
    for (let count = 0; count < 35; count += 1) {
      assert.equal((await service.get('/v1/categories', user)).status, 500)
      const answer = await exchange(service.baseUrl, {
        method: 'POST',
        target: '/mcp',
        headers: [
          ['Authorization', `Bearer ${user.key}`],
          ['Content-Type', 'application/json'],
        ],
        body: JSON.stringify(rpc('ping')),
      })
      assert.equal(answer.status, 500)
    }
  } finally {
    db.exec('alter table lost rename to api_keys')
    db.close()
  }
  assert.equal((await service.get('/v1/categories', user)).status, 200)
  assert.equal((await post(service, rpc('ping'), { as: user })).status, 200)
})

test('R6: a body that is too large costs an unidentified client a point', async () => {
  const guess = `Bearer ${mintKey().key}`
  const large = ' '.repeat(17_000)
  const first = await post(service, large, { as: guess })
  const second = await post(service, large, { as: guess })
  assert.deepEqual([first.status, second.status], [413, 413])
  assert.equal(first.headers['x-ratelimit-remaining'], '59')
  assert.equal(second.headers['x-ratelimit-remaining'], '58')
})
