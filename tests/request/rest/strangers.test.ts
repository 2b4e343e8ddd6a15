/** What anonymous clients with one address, or many, can and cannot do to others (reading R6). */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { request } from 'undici'
import { makeThrottle, toVisitor } from '#gate/throttle.ts'
import { makeBudget } from '#providers/budget.ts'
import { post, rpc, toolCall } from '#tests/support/agent.ts'
import { makeJar } from '#tests/support/jar.ts'
import { type ServiceUser, startService } from '#tests/support/service.ts'

const ceiling = 40
let user: ServiceUser
const service = await startService({
  env: {
    RATE_LIMIT_CHEAP: '20',
    RATE_LIMIT_PREAUTH: '10',
    RATE_LIMIT_PREAUTH_IP: `${ceiling}`,
    RATE_LIMIT_SIGNIN: '3',
    TRUST_PROXY: '127.0.0.1',
  },
})
beforeEach(async () => {
  service.clock.advance(60_000)
  user = await service.createUser()
})
after(() => service.close())

const path = '/v1/categories'
const bad = (index: number) => `Bearer bad-${index}-token-that-nobody-gave`

/** Fills the ceiling of an address with bad tokens. */
async function fill(headers: Record<string, string> = {}): Promise<void> {
  for (let index = 0; index < ceiling; index += 1) {
    assert.equal((await service.get(path, bad(index), headers)).status, 401)
  }
  assert.equal((await service.get(path, bad(ceiling), headers)).status, 429)
}

test('R6: a key that was used before passes the ceiling that others behind its address have filled', async () => {
  assert.equal((await service.get(path, user)).status, 200)
  await fill()
  service.clock.advance(900)
  const within = await service.get(path, user)
  assert.equal(within.status, 200)
  assert.equal(within.headers['x-ratelimit-limit'], '20', 'its own bucket')
  service.clock.advance(5000)
  assert.equal((await service.get(path, user)).status, 200, 'also when it has to be looked up')
  assert.equal((await service.get(path, bad(0))).status, 429, 'guesses stay limited')
  assert.equal((await service.get(path, await service.createUser())).status, 429, 'a new key waits')
})

test('R6: a key passes the bucket that guesses with its first characters have used up', async () => {
  assert.equal((await service.get(path, user)).status, 200)
  const guess = () => service.get(path, `Bearer ${user.key.slice(0, 16)}guess`)
  for (let count = 0; count < 10; count += 1) assert.equal((await guess()).status, 401)
  assert.equal((await guess()).status, 429)
  assert.equal((await service.get(path, user)).status, 200)
})

test('R6: a key that REST knows passes at /mcp, and the other way round', async () => {
  const other = await service.createUser()
  assert.equal((await service.get(path, user)).status, 200)
  assert.equal((await post(service, rpc('ping'), { as: other })).status, 200)
  await fill()
  service.clock.advance(2000)
  assert.equal((await post(service, toolCall('list_connections'), { as: user })).status, 200)
  assert.equal((await service.get(path, other)).status, 200)
})

test('R27: a revoked key passes nothing, from the next request on', async () => {
  assert.equal((await service.get(path, user)).status, 200)
  await fill()
  await service.app.store.keys.revoke(user.keyId, service.clock.now())
  assert.equal((await service.get(path, user)).status, 429)
  service.clock.advance(60_000)
  assert.equal((await service.get(path, user)).status, 401)
})

test('R6: a page in the operator’s browser that sends bad tokens to 127.0.0.1 does not shut the operator out', async () => {
  assert.equal((await service.get(path, user)).status, 200)
  const page = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  for (let index = 0; index < ceiling + 5; index += 1) {
    await request(service.baseUrl + path, { headers: { ...page, authorization: bad(index) } })
    await request(service.baseUrl + path, { headers: page })
  }
  assert.equal((await service.get(path, bad(99))).status, 429)
  assert.equal((await service.get(path, user)).status, 200)
  assert.equal((await post(service, rpc('ping'), { as: user })).status, 200)
})

test('R6: a burst of a new valid key uses none of the pre-auth limit, however small it is', async () => {
  const burst = await Promise.all(Array.from({ length: 20 }, () => service.get(path, user)))
  assert.deepEqual(new Set(burst.map(({ status }) => status)), new Set([200]))
})

test('R6: a /64 is one address on REST and for agents, and a /56 has ten times its ceiling', async () => {
  const from = (address: string) => ({ 'x-forwarded-for': address })
  await fill(from('2001:db8:0:100::1'))
  const sibling = from('[2001:DB8::100:f:f:f:f]:443')
  assert.equal((await service.get(path, bad(0), sibling)).status, 429)
  assert.equal((await service.get(path, bad(0), from('2001:db8:0:101::1'))).status, 401)
  for (let net = 0; net < 12; net += 1) {
    const headers = from(`2001:db8:0:${(0x110 + net).toString(16)}::1`)
    for (let index = 0; index < ceiling; index += 1) await service.get(path, bad(index), headers)
  }
  assert.equal((await service.get(path, bad(0), from('2001:db8:0:1ff::1'))).status, 429)
  assert.equal((await service.get(path, bad(0), from('2001:db8:0:200::1'))).status, 401)
})

test('105,000 bad tokens, from one address and from as many, leave every used-up window used up', async () => {
  const { windows } = service.app.kv
  const budget = makeBudget({
    windows,
    clock: service.clock,
    name: 'snaptrade',
    calls: 200,
    windowMs: 60_000,
    reserve: 50,
  })
  const call = { priority: 'background', signal: new AbortController().signal } as const
  while ((await budget(call)).allowed);
  while ((await service.get(path, user)).status !== 429);
  const guessAdmin = async () => {
    const headers = { authorization: 'Bearer wrong' }
    return (await request(`${service.adminUrl}/admin/users`, { headers })).statusCode
  }
  while ((await guessAdmin()) !== 429);
  const jar = makeJar(service.baseUrl)
  const { hidden } = await jar.get('/sign-in')
  const signIn = async () => {
    const form = { ...hidden, email: 'a@b.example', password: 'a wrong guess' }
    return (await jar.post('/sign-in', form)).status
  }
  while ((await signIn()) !== 429);

  const throttle = makeThrottle(windows, { preauth: 60, preauthIp: 6000 })
  for (let count = 0; count < 105_000; count += 1) {
    const token = mintPrefix(count)
    for (const address of ['198.51.100.66', `2001:db8:${count >> 8}:${count & 255}::1`]) {
      const reservation = await throttle.reserve(toVisitor(address, token))
      if (reservation.allowed) reservation.keep()
    }
  }

  assert.equal((await service.get(path, user)).status, 429, 'the window of a key')
  assert.equal(await guessAdmin(), 429, 'the window of the admin token')
  assert.equal((await budget(call)).allowed, false, 'the budget of SnapTrade')
  assert.equal(await signIn(), 429, 'the window of a sign-in')
  const over = await throttle.reserve(toVisitor('198.51.100.66', 'one more'))
  assert.equal(over.allowed, false, 'the ceiling of the address itself')
})

const mintPrefix = (count: number) => `token ${count}`
