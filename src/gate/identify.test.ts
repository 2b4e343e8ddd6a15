/** How long the row of a key is trusted, and when it is read again (readings R10 and R27). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintKey } from '#auth/keys.ts'
import { ApiError } from '#contract/errors.ts'
import type { KeyId, UserId } from '#kernel/ids.ts'
import type { CallerRow } from '#store/ports/keys.ts'
import { toCredential } from './credential.ts'
import { makeIdentify } from './identify.ts'

/** A key whose row a test changes, and whose lookups it may hold back. */
function open() {
  const row: CallerRow & { epoch: number } = {
    keyId: 'key' as KeyId,
    userId: 'user' as UserId,
    expiresAt: null,
    timezone: null,
    plan: 'professional',
    status: 'active',
    legacyUntil: null,
    grandfathered: false,
    epoch: 1,
    limits: null,
  }
  const world = { now: 10_000, row, isRevoked: false, lookups: 0, held: Promise.resolve() }
  const identify = makeIdentify({
    clock: { now: () => world.now },
    store: {
      keys: {
        async findCaller() {
          world.lookups += 1
          const found = world.isRevoked ? null : { ...world.row }
          await world.held
          return found
        },
        touch: async () => {},
      },
      onChange: () => () => {},
    },
    onBackgroundFailure: (_task, error) => assert.fail(String(error)),
  })
  const credential = toCredential(`Bearer ${mintKey().key}`)
  return { world, identify, find: async () => identify.find(credential), credential }
}

test('a row is trusted for a second from the beginning of its lookup, not from its end', async () => {
  const { world, identify, find, credential } = open()
  const { promise, resolve } = Promise.withResolvers<void>()
  world.held = promise
  const finding = find()
  world.now += 900
  resolve()
  assert.equal((await finding).epoch, 1)
  assert.equal(identify.recall(credential)?.epoch, 1)
  world.now += 100
  assert.equal(identify.recall(credential), null)
})

test('a lookup that takes more than a second is not shared with those who come later', async () => {
  const { world, find } = open()
  const { promise, resolve } = Promise.withResolvers<void>()
  world.held = promise
  const early = [find(), find()]
  world.row.epoch = 2
  world.now += 1000
  const late = find()
  resolve()
  assert.deepEqual(
    (await Promise.all([...early, late])).map(({ epoch }) => epoch),
    [1, 1, 2],
  )
  assert.equal(world.lookups, 2)
})

test('R10: a doubted row is read again once for all who were told the same edition, and keeps it', async () => {
  const { world, identify, find } = open()
  const caller = await find()
  assert.equal(caller.edition, '')
  world.row.epoch = 2
  const renewed = await Promise.all([1, 2, 3].map(() => identify.renew(caller, 'a')))
  assert.deepEqual(
    renewed.map(({ epoch, edition }) => [epoch, edition]),
    Array(3).fill([2, 'a']),
  )
  assert.equal((await identify.renew(caller, 'a')).epoch, 2)
  assert.equal(world.lookups, 2)
  world.now += 5000
  assert.equal((await find()).edition, 'a', 'it was seen before this lookup too')
  assert.equal(world.lookups, 3)
})

test('R10: during a change every request reads the row for itself, and nothing of it is remembered', async () => {
  const { world, identify, find, credential } = open()
  const caller = await find()
  world.row.epoch = 2
  const alone = await Promise.all([1, 2].map(() => identify.renew(caller, null)))
  assert.deepEqual(
    alone.map(({ epoch, edition }) => [epoch, edition]),
    Array(2).fill([2, undefined]),
  )
  assert.equal(world.lookups, 3)
  assert.equal(identify.recall(credential)?.epoch, 1)
})

test('R27: a key that was revoked meanwhile is refused when its row is read again', async () => {
  const { world, identify, find } = open()
  const caller = await find()
  world.isRevoked = true
  for (const edition of ['a', null]) {
    await assert.rejects(
      identify.renew(caller, edition),
      (error) => error instanceof ApiError && error.entry === 'invalid_token',
    )
  }
})
