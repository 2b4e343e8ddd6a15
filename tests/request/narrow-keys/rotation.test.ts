/** Reading R43: a key gets a new secret, and the former one stays good for as long as its owner chose. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { KeyId } from '#kernel/ids.ts'
import { type ServiceUser, specified, startService } from '#tests/support/service.ts'
import { addNarrowKey } from './narrow.ts'

const hour = 3_600_000
let user: ServiceUser
const service = await startService({ env: specified })
beforeEach(async () => {
  service.clock.advance(60_000)
  user = await service.createUser()
})
after(() => service.close())

const path = '/v1/categories'
const statusOf = async (key: ServiceUser | string) =>
  (await service.get(path, typeof key === 'string' ? `Bearer ${key}` : key)).status
const rotate = (id: KeyId, input: object = {}) =>
  service.app.actions.rotateKey(byOperator, id, input)

test('R43: both secrets are the same key until the former one ends: one bucket, one last use', async () => {
  assert.equal(await statusOf(user), 200)
  const { key, row } = await rotate(user.keyId, { overlapHours: 2 })
  assert.equal(row.formerUntil, service.clock.now() + 2 * hour)
  assert.notEqual(key, user.key)
  const left = async (as: string) =>
    Number((await service.get(path, `Bearer ${as}`)).headers['x-ratelimit-remaining'])
  const first = await left(key)
  assert.equal(await left(user.key), first - 1)
  service.clock.advance(2 * hour - 1)
  assert.deepEqual([await statusOf(user), await statusOf(key)], [200, 200])
  service.clock.advance(1)
  assert.deepEqual([await statusOf(user), await statusOf(key)], [401, 200])
})

test('R43: without an overlap the former secret is refused with the next request, and a day is the default', async () => {
  const warm = await rotate(user.keyId)
  assert.equal(warm.row.formerUntil, service.clock.now() + 24 * hour)
  assert.deepEqual([await statusOf(user), await statusOf(warm.key)], [200, 200])
  const { key } = await rotate(user.keyId, { overlapHours: 0 })
  assert.deepEqual(
    [await statusOf(user), await statusOf(warm.key), await statusOf(key)],
    [401, 401, 200],
  )
})

test('R43: a rotated narrow key sees with both secrets what it saw', async () => {
  await service.link(user, 'healthy', 'fiskil')
  const [connection] = (await service.get('/v1/connections', user)).body.data
  const limits = { connectionIds: [connection.id], scopes: ['accounts'] as const }
  const narrow = await addNarrowKey(service, user, limits)
  const before = await service.get('/v1/accounts', narrow)
  const { key } = await rotate(narrow.keyId)
  for (const as of [narrow.key, key]) {
    assert.equal((await service.get('/v1/accounts', `Bearer ${as}`)).text, before.text)
    assert.equal((await service.get('/v1/balances', `Bearer ${as}`)).status, 403)
  }
})

test('R43: a revoked key is revoked with all of its secrets, and is not rotated', async () => {
  const { key } = await rotate(user.keyId)
  await service.app.actions.revokeKey(byOperator, user.keyId)
  assert.deepEqual([await statusOf(user), await statusOf(key)], [401, 401])
  await assert.rejects(rotate(user.keyId), { entry: 'key_not_found' })
})

test('R43: an overlap that is no number of hours is refused with what it may be', async () => {
  for (const overlapHours of [-1, 721, 1.5, '2', null]) {
    await assert.rejects(rotate(user.keyId, { overlapHours }), {
      entry: 'invalid_params',
      details: ['overlapHours: must be a whole number of hours from 0 to 720'],
    })
  }
  assert.equal(await statusOf(user), 200)
})
