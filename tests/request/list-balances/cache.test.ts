import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { specified, startService } from '#tests/support/service.ts'

const service = await startService({
  env: { CACHE_MAX_ENTRY_BYTES: '600', RATE_LIMIT_MID: specified.RATE_LIMIT_MID },
})
const user = await service.createUser()
await service.link(user, 'healthy', 'fiskil')
const ids = (await service.accounts(user)).map((row) => row.id)
after(() => service.close())
beforeEach(() => service.clock.advance(600_000))

const cacheOf = async (query: string) =>
  (await service.get(`/v1/balances?${query}`, user)).headers['x-cache']

test('R8: five minutes long and not a millisecond more', async () => {
  assert.equal(await cacheOf(`accountIds=${ids[0]}`), 'MISS')
  service.clock.advance(299_999)
  assert.equal(await cacheOf(`accountIds=${ids[0]}`), 'HIT')
  service.clock.advance(1)
  assert.equal(await cacheOf(`accountIds=${ids[0]}`), 'MISS')
})

test('the order or repetition of ids makes distinct entries, the order of parameters does not', async () => {
  assert.equal(await cacheOf(`accountIds=${ids[0]},${ids[1]}&x=1`), 'MISS')
  assert.equal(await cacheOf(`x=1&accountIds=${ids[0]},${ids[1]}`), 'HIT')
  assert.equal(await cacheOf(`accountIds=${ids[1]},${ids[0]}&x=1`), 'MISS')
  assert.equal(await cacheOf(`accountIds=${ids[0]},${ids[1]},${ids[1]}&x=1`), 'MISS')
})

test('a hit costs the provider nothing', async () => {
  await cacheOf(`accountIds=${ids[0]}`)
  service.sandbox.fiskil.requests.length = 0
  assert.equal(await cacheOf(`accountIds=${ids[0]}`), 'HIT')
  assert.equal(service.sandbox.fiskil.requests.length, 0)
})

test('R8: an answer over CACHE_MAX_ENTRY_BYTES is whole, and BYPASS each time', async () => {
  for (let count = 0; count < 2; count += 1) {
    const answer = await service.get(`/v1/balances?accountIds=${ids.join(',')}`, user)
    assert(answer.text.length > 600)
    assert.equal(answer.body.data.length, ids.length)
    assert.equal(answer.headers['x-cache'], 'BYPASS')
  }
})

test('R7: the mid bucket is its own: thirty a minute, whatever the cheap and heavy ones have seen', async () => {
  await service.get('/v1/accounts', user)
  for (let count = 0; count < 30; count += 1) {
    const answer = await service.get(`/v1/balances?accountIds=${ids[0]}`, user)
    assert.equal(answer.headers['x-ratelimit-limit'], '30')
    assert.equal(answer.headers['x-ratelimit-remaining'], String(29 - count))
  }
  assert.equal((await service.get(`/v1/balances?accountIds=${ids[0]}`, user)).status, 429)
  assert.equal((await service.get('/v1/accounts', user)).status, 200)
})
