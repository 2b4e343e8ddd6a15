/** The contract of the port for API keys and the lookup of every request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KeyId, newId, type UserId } from '#kernel/ids.ts'
import { maxEndedKeys, noLimits } from '#store/ports/keys.ts'
import type { StoreOf } from './place.ts'
import { addKey, addUser, newKey, now } from './rows.ts'

export function testKeys(store: StoreOf): void {
  test('a key comes back without its hash', async () => {
    const user = await addUser(store())
    const { hash, ...given } = newKey(user.id, { expiresAt: now + 5 })
    const made = await store().keys.create({ ...given, hash })
    const rest = { ...noLimits, revokedAt: null, lastUsedAt: null, formerUntil: null }
    assert.deepEqual(made, { ...given, id: made.id, ...rest })
    assert.deepEqual(await store().keys.list(user.id), [made])
  })

  test('keys are listed newest first', async () => {
    const user = await addUser(store())
    const old = await addKey(store(), user.id)
    const young = await addKey(store(), user.id, { createdAt: now + 1 })
    const ids = (await store().keys.list(user.id)).map((key) => key.id)
    assert.deepEqual(ids, [young.id, old.id])
  })

  test('a hash leads to its caller, with all that a request needs', async () => {
    const user = await addUser(store(), {
      timezone: 'Pacific/Auckland',
      plan: 'professional',
      status: 'past_due',
      legacyUntil: now + 3,
      grandfathered: true,
    })
    const key = await addKey(store(), user.id, { expiresAt: now + 9 })
    assert.deepEqual(await store().keys.findCaller(key.hash), {
      keyId: key.id,
      userId: user.id,
      timezone: 'Pacific/Auckland',
      epoch: 0,
      expiresAt: now + 9,
      limits: null,
      plan: 'professional',
      status: 'past_due',
      legacyUntil: now + 3,
      grandfathered: true,
    })
  })

  test('an unknown, longer or empty hash finds no caller', async () => {
    const user = await addUser(store())
    const { hash } = await addKey(store(), user.id)
    const other = Uint8Array.from(hash, (byte) => byte ^ 1)
    for (const wrong of [other, new Uint8Array([...hash, 0]), new Uint8Array()])
      assert.equal(await store().keys.findCaller(wrong), null)
  })

  test('R27: a revoked key finds no caller from the next look-up on', async () => {
    const user = await addUser(store())
    const key = await addKey(store(), user.id)
    assert.notEqual(await store().keys.findCaller(key.hash), null)
    await store().keys.revoke(key.id, now + 1)
    assert.equal(await store().keys.findCaller(key.hash), null)
  })

  test('R27: a change of plan shows with the very next look-up', async () => {
    const user = await addUser(store())
    const key = await addKey(store(), user.id)
    await store().users.setPlan(user.id, { ...user, plan: 'none', status: 'canceled' })
    const caller = await store().keys.findCaller(key.hash)
    assert.deepEqual([caller?.plan, caller?.status], ['none', 'canceled'])
  })

  test('an expired key is returned with its expiry', async () => {
    const user = await addUser(store())
    const key = await addKey(store(), user.id, { expiresAt: 1 })
    assert.equal((await store().keys.findCaller(key.hash))?.expiresAt, 1)
  })

  test('revoking twice keeps the first time, and the key stays in the list', async () => {
    const user = await addUser(store())
    const key = await addKey(store(), user.id)
    for (const [at, wasRevoked] of [[now + 1, false] as const, [now + 2, true] as const]) {
      const row = await store().keys.revoke(key.id, at)
      assert.deepEqual([row?.revokedAt, row?.wasRevoked], [now + 1, wasRevoked])
    }
    assert.equal((await store().keys.list(user.id))[0]?.revokedAt, now + 1)
    assert.equal(await store().keys.revoke(newId<KeyId>(), now), null)
  })

  test('keys that are made at once never exceed their bound, whatever others have', async () => {
    const [user, other] = [await addUser(store()), await addUser(store())]
    await addKey(store(), user.id)
    await addKey(store(), other.id)
    const make = () => store().keys.createWithin(newKey(user.id), 5)
    const made = await Promise.all(Array.from({ length: 12 }, make))
    assert.equal(made.filter((key) => key === 'full').length, 8)
    const ids = made.flatMap((key) => (key === 'full' || key === null ? [] : [key.id]))
    const listed = await store().keys.list(user.id)
    assert.equal(listed.length, 5)
    assert.ok(ids.every((id) => listed.some((key) => key.id === id)))
    assert.notEqual(await store().keys.createWithin(newKey(other.id), 2), 'full')
  })

  test('revoked and expired keys leave room for a new one, until the instant of their expiry none', async () => {
    const user = await addUser(store())
    const make = (over: Parameters<typeof newKey>[1] = {}) =>
      store().keys.createWithin(newKey(user.id, over), 2)
    const revoked = await addKey(store(), user.id)
    await addKey(store(), user.id, { expiresAt: now + 5 })
    assert.equal(await make(), 'full')
    assert.equal(await make({ createdAt: now + 4 }), 'full')
    const third = await make({ createdAt: now + 5 })
    assert.ok(third !== null && third !== 'full')
    assert.equal(await make({ createdAt: now + 5 }), 'full')
    await store().keys.revoke(revoked.id, now + 6)
    assert.notEqual(await make({ createdAt: now + 6 }), 'full')
    assert.equal(await store().keys.createWithin(newKey(newId<UserId>()), 2), null)
  })

  test('of ended keys the newest are kept, and no active one is deleted', async () => {
    const [user, other] = [await addUser(store()), await addUser(store())]
    const kept = await addKey(store(), user.id, { createdAt: now - 1000 })
    const others = await addKey(store(), other.id, { createdAt: now - 1000 })
    await store().keys.revoke(others.id, now)
    const ended: string[] = []
    for (let count = 0; count < maxEndedKeys + 3; count += 1) {
      const over = count % 2 === 0 ? { expiresAt: now - 1 } : {}
      const { id } = await addKey(store(), user.id, { createdAt: now - 500 + count, ...over })
      if (count % 2 === 1) await store().keys.revoke(id, now)
      ended.unshift(id)
    }
    const made = await store().keys.createWithin(newKey(user.id), 20)
    assert.ok(made !== null && made !== 'full')
    const left = (await store().keys.list(user.id)).map(({ id }) => id)
    assert.deepEqual(left, [made.id, ...ended.slice(0, maxEndedKeys), kept.id])
    assert.equal((await store().keys.list(other.id)).length, 1)
  })

  test('the last use only goes forward', async () => {
    const user = await addUser(store())
    const key = await addKey(store(), user.id)
    const lastUse = async () => (await store().keys.list(user.id))[0]?.lastUsedAt
    await store().keys.touch(key.id, now + 60_000)
    assert.equal(await lastUse(), now + 60_000)
    await store().keys.touch(key.id, now)
    assert.equal(await lastUse(), now + 60_000)
    await store().keys.touch(newId<KeyId>(), now)
  })

  test('the same hash is not stored twice, and no key is created for an unknown user', async () => {
    const user = await addUser(store())
    const { hash } = await addKey(store(), user.id)
    await assert.rejects(store().keys.create(newKey(user.id, { hash })))
    await assert.rejects(store().keys.create(newKey(newId<UserId>())))
  })
}
