/** The contract of the port for second factors and recovery codes. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { newId, type UserId } from '#kernel/ids.ts'
import { OwnerGoneError } from '#store/failure.ts'
import type { StoreOf } from './place.ts'
import { raceCodes } from './races.ts'
import { addUser, now, someHash } from './rows.ts'

export function testSecondFactors(store: StoreOf): void {
  const factors = () => store().secondFactors
  async function addFactor(codeHashes: readonly Uint8Array[] = [someHash(), someHash()]) {
    const user = await addUser(store())
    const secret = new Uint8Array(randomBytes(20))
    const given = { userId: user.id, secret, at: now, step: 100, codeHashes }
    assert.equal(await factors().create(given), true)
    return { userId: user.id, secret, codeHashes, given }
  }

  test('a second factor is read as it was stored; a second one is not stored beside it', async () => {
    const { userId, secret, given } = await addFactor()
    const stored = { userId, secret, createdAt: now, lastStep: 100 }
    assert.deepEqual(await factors().find(userId), stored)
    const other = { ...given, secret: new Uint8Array(20), step: 200, codeHashes: [] }
    assert.equal(await factors().create(other), false)
    assert.deepEqual(await factors().find(userId), stored)
    assert.equal(await factors().countCodes(userId), 2)
    const { id: nobody } = await addUser(store())
    assert.deepEqual([await factors().find(nobody), await factors().has(nobody)], [null, false])
    assert.equal(await factors().has(userId), true)
  })

  test('a step is used once, and none before it; a step of a former factor is not', async () => {
    const { userId, given } = await addFactor()
    const use = (step: number, createdAt = now) => factors().useStep(userId, { createdAt, step })
    assert.deepEqual(
      [await use(100), await use(99), await use(101), await use(101)],
      [false, false, true, false],
    )
    assert.equal((await factors().find(userId))?.lastStep, 101)
    assert.equal(await factors().delete(userId), true)
    assert.equal(await factors().create({ ...given, at: now + 1 }), true)
    assert.deepEqual([await use(102), await use(102, now + 1)], [false, true])
  })

  test('a recovery code is used once, by its own user alone, and new ones replace all', async () => {
    const { userId, codeHashes } = await addFactor()
    const { userId: other } = await addFactor()
    const [first = someHash(), second = someHash()] = codeHashes
    assert.equal(await factors().useCode(other, first, now), false)
    assert.equal(await factors().hasCode(userId, first), true)
    assert.deepEqual(
      [await factors().useCode(userId, first, now), await factors().useCode(userId, first, now)],
      [true, false],
    )
    assert.deepEqual(
      [await factors().hasCode(userId, first), await factors().countCodes(userId)],
      [false, 1],
    )
    const next = someHash()
    assert.equal(await factors().replaceCodes(userId, [next]), true)
    assert.deepEqual(
      [await factors().hasCode(userId, second), await factors().hasCode(userId, next)],
      [false, true],
    )
    assert.equal(await factors().countCodes(other), 2)
  })

  test('removing takes the codes along; without a factor there are none to replace', async () => {
    const { userId, codeHashes } = await addFactor()
    assert.deepEqual(
      [await factors().delete(userId), await factors().delete(userId)],
      [true, false],
    )
    assert.equal(await factors().countCodes(userId), 0)
    assert.equal(await factors().replaceCodes(userId, codeHashes), false)
    assert.equal(await factors().countCodes(userId), 0)
  })

  test('who is deleted or being deleted gets none, and nothing of one is left', async () => {
    const { userId, given } = await addFactor()
    await store().users.delete(userId)
    assert.equal(await factors().find(userId), null)
    assert.equal(await factors().countCodes(userId), 0)
    const leaving = await addUser(store())
    await store().users.disarm(leaving.id, now)
    for (const id of [leaving.id, newId<UserId>()]) {
      await assert.rejects(factors().create({ ...given, userId: id }), OwnerGoneError)
    }
  })

  test('of two who give the same code at once, one is right', () => raceCodes(store(), store()))
}
