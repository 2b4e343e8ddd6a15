/** The contract of the port for the limits of keys and for their rotation (reading R43). */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { type AccountId, type ConnectionId, type KeyId, newId } from '#kernel/ids.ts'
import type { StoreChange } from '#store/ports/changes.ts'
import { type KeyLimits, type KeyRow, maxFormerSecrets, noLimits } from '#store/ports/keys.ts'
import type { StoreOf } from './place.ts'
import { addKey, addUser, newKey, now, someHash } from './rows.ts'

const prefix = 'trib_live_rotate'

function someLimits(): KeyLimits {
  return {
    scopes: ['accounts', 'trades'],
    connectionIds: [newId<ConnectionId>(), newId<ConnectionId>()],
    accountIds: [newId<AccountId>()],
    addresses: ['203.0.113.0/24', '2001:db8::/32'],
  }
}

function pickLimits({ scopes, connectionIds, accountIds, addresses }: KeyRow): KeyLimits {
  return { scopes, connectionIds, accountIds, addresses }
}

export function testNarrowKeys(store: StoreOf): void {
  test('R43: the limits of a key come back as they were made, an empty list as a limit', async () => {
    const user = await addUser(store())
    for (const limits of [
      someLimits(),
      { ...noLimits, scopes: [] },
      { ...noLimits, connectionIds: [] },
      { ...noLimits, addresses: ['::1'] },
    ]) {
      const key = await addKey(store(), user.id, limits)
      assert.deepEqual(pickLimits(key), limits)
      assert.deepEqual((await store().keys.findCaller(key.hash))?.limits, limits)
      const listed = (await store().keys.list(user.id)).find(({ id }) => id === key.id)
      assert.deepEqual(listed && pickLimits(listed), limits)
    }
  })

  test('R43: what was given as the hash of a narrow key is not what older code would look for', async () => {
    const user = await addUser(store())
    const key = await addKey(store(), user.id, { ...noLimits, scopes: ['accounts'] })
    const stored = createHash('sha256').update('narrow key\n').update(key.hash).digest()
    assert.equal((await store().keys.findCaller(stored))?.keyId, key.id)
    assert.equal((await store().keys.findCaller(key.hash))?.keyId, key.id)
  })

  const rotate = (id: KeyId, over: { at?: number; formerUntil?: number } = {}) => {
    const hash = someHash()
    const rotation = { id, prefix, hash, at: now, formerUntil: now + 100, ...over }
    return store()
      .keys.rotate(rotation)
      .then((row) => ({ row, hash }))
  }
  const endOf = async (hash: Uint8Array) => (await store().keys.findCaller(hash))?.expiresAt

  for (const [kind, limits] of [
    ['full', noLimits],
    ['narrow', { ...noLimits, scopes: ['accounts'] }],
  ] as const) {
    test(`R43: a rotated ${kind} key is the same key with two secrets, the former one until it ends`, async () => {
      const user = await addUser(store())
      const key = await addKey(store(), user.id, { ...limits })
      const { row, hash } = await rotate(key.id)
      const { hash: _hash, ...before } = key
      assert.deepEqual(row, { ...before, prefix, formerUntil: now + 100 })
      const [old, young] = [
        await store().keys.findCaller(key.hash),
        await store().keys.findCaller(hash),
      ]
      assert.deepEqual({ ...old, expiresAt: null }, young)
      assert.equal(old?.expiresAt, now + 100)
      assert.equal(young?.expiresAt, null)
      await store().keys.revoke(key.id, now + 1)
      assert.deepEqual([await endOf(key.hash), await endOf(hash)], [undefined, undefined])
    })
  }

  test('R43: a later rotation shortens what earlier secrets are good for, and never lengthens it', async () => {
    const user = await addUser(store())
    const key = await addKey(store(), user.id)
    const second = await rotate(key.id, { formerUntil: now + 100 })
    const third = await rotate(key.id, { formerUntil: now + 50 })
    assert.deepEqual([await endOf(key.hash), await endOf(second.hash)], [now + 50, now + 50])
    const fourth = await rotate(key.id, { formerUntil: now + 80 })
    assert.deepEqual([await endOf(key.hash), await endOf(third.hash)], [now + 50, now + 80])
    const last = await rotate(key.id, { at: now + 1, formerUntil: now + 1 })
    assert.equal(last.row?.formerUntil, null)
    const former = [key.hash, second.hash, third.hash, fourth.hash]
    assert.deepEqual(await Promise.all(former.map(endOf)), Array(4).fill(undefined))
    assert.equal(await endOf(last.hash), null)
  })

  test('R43: no secret outlives its key, and few former ones are kept', async () => {
    const user = await addUser(store())
    const key = await addKey(store(), user.id, { expiresAt: now + 60 })
    await rotate(key.id, { formerUntil: now + 100 })
    assert.equal(await endOf(key.hash), now + 60)
    const hashes: Uint8Array[] = []
    for (let count = 0; count < maxFormerSecrets + 3; count += 1) {
      hashes.push((await rotate(key.id, { at: now + 1 + count, formerUntil: now + 100 })).hash)
    }
    const ends = await Promise.all(hashes.map(endOf))
    const gone = hashes.length - maxFormerSecrets - 1
    assert.deepEqual(ends, [
      ...Array(gone).fill(undefined),
      ...Array(maxFormerSecrets + 1).fill(now + 60),
    ])
  })

  test('R43: a key that is unknown, revoked or expired is not rotated', async () => {
    const user = await addUser(store())
    const [expired, revoked] = [
      await addKey(store(), user.id, { expiresAt: now }),
      await addKey(store(), user.id),
    ]
    await store().keys.revoke(revoked.id, now)
    for (const id of [expired.id, revoked.id, newId<KeyId>()]) {
      const { row, hash } = await rotate(id)
      assert.deepEqual([row, await endOf(hash)], [null, undefined])
    }
    assert.equal(await endOf(expired.hash), now)
  })

  test('R43: rotations at once follow one another, and each is announced', async () => {
    const user = await addUser(store())
    const key = await store().keys.create(newKey(user.id))
    const changes: StoreChange[] = []
    const stop = store().onChange((change) => changes.push(change))
    const made = await Promise.all([rotate(key.id), rotate(key.id), rotate(key.id)])
    stop()
    const ends = await Promise.all(made.map(({ hash }) => endOf(hash)))
    assert.deepEqual(ends.toSorted(), [now + 100, now + 100, null])
    assert.ok(changes.filter(({ userId }) => userId === user.id).length >= 3)
  })
}
