import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { plantBank } from '#tests/support/bank.ts'
import { startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
await plantBank(service, user)
after(() => service.close())

const cacheOf = async (path: string) => (await service.get(path, user)).headers['x-cache']

test('R8: 60 seconds long and not a millisecond more', async () => {
  service.clock.advance(3_600_000)
  const first = await service.get('/v1/connections', user)
  assert.equal(first.headers['x-cache'], 'MISS')
  service.clock.advance(59_999)
  const last = await service.get('/v1/connections', user)
  assert.equal(last.headers['x-cache'], 'HIT')
  assert.equal(last.text, first.text)
  service.clock.advance(1)
  assert.equal(await cacheOf('/v1/connections'), 'MISS')
})

test('the key is the sorted query string: unknown parameters are ignored but make entries of their own', async () => {
  service.clock.advance(3_600_000)
  assert.equal(await cacheOf('/v1/connections?b=2&a=1'), 'MISS')
  assert.equal(await cacheOf('/v1/connections?a=1&b=2'), 'HIT')
  assert.equal(await cacheOf('/v1/connections'), 'MISS')
})

test('R10: entries belong to the user: another key of theirs hits, another user does not', async () => {
  service.clock.advance(3_600_000)
  assert.equal(await cacheOf('/v1/connections'), 'MISS')
  const stranger = await service.createUser()
  const answer = await service.get('/v1/connections', stranger)
  assert.equal(answer.headers['x-cache'], 'MISS')
  assert.deepEqual(answer.body, { data: [] })
})

test('R10: a new link is seen at once, however warm the cache', async () => {
  assert.equal((await service.get('/v1/connections', user)).status, 200)
  const before = (await service.get('/v1/connections', user)).body.data.length
  await plantBank(service, user)
  const answer = await service.get('/v1/connections', user)
  assert.equal(answer.headers['x-cache'], 'MISS')
  assert.equal(answer.body.data.length, before + 1)
})
