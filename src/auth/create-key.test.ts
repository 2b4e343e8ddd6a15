import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import { toIso } from '#kernel/time.ts'
import { openSqliteStore } from '#tests/contract/store/place.ts'
import { addUser, now } from '#tests/contract/store/rows.ts'
import { makeCreateKey } from './create-key.ts'
import { hashKey } from './keys.ts'

async function open(t: TestContext) {
  const store = await openSqliteStore(t)
  return { store, createKey: makeCreateKey({ store, clock: { now: () => now } }) }
}

const laptop = { name: 'laptop' }

test('a new key is valid at once, and the store has only its hash', async (t) => {
  const { store, createKey } = await open(t)
  const user = await addUser(store)
  const { row, key } = await createKey(byOperator, user.id, {
    name: 'laptop',
    expires: toIso(now + 5),
  })
  assert.deepEqual([row.name, row.createdAt, row.expiresAt], ['laptop', now, now + 5])
  assert.ok(key.startsWith(row.prefix))
  assert.equal((await store.keys.findCaller(hashKey(key)))?.keyId, row.id)
})

test('a user has at most twenty active keys, however many are asked for at once', async (t) => {
  const { store, createKey } = await open(t)
  const [user, other] = [await addUser(store), await addUser(store)]
  const tries = Array.from({ length: 30 }, () => createKey(byOperator, user.id, laptop))
  const outcomes = await Promise.allSettled(tries)
  const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  assert.equal(refused.length, 10)
  for (const error of refused) assert.equal(error.code, 'too_many_keys')
  assert.equal((await store.keys.list(user.id)).length, 20)
  await createKey(byOperator, other.id, laptop)
})

test('a deleted user cannot get a key', async (t) => {
  const { createKey } = await open(t)
  await assert.rejects(createKey(byOperator, newId<UserId>(), laptop), { code: 'user_not_found' })
})
