/** The contract of the port for tokens that are valid once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewSingleUse } from '#store/ports/single-use.ts'
import type { StoreOf } from './place.ts'
import { addUser, now, someHash } from './rows.ts'

const hour = 3_600_000
const wide = { since: now - hour, limit: 100 }
let addresses = 0

function newToken(over: Partial<NewSingleUse> = {}): NewSingleUse {
  addresses += 1
  return {
    kind: 'invitation',
    hash: someHash(),
    userId: null,
    email: `guest-${addresses}@example.test`,
    createdAt: now,
    expiresAt: now + hour,
    ...over,
  }
}

export function testSingleUse(store: StoreOf): void {
  test('a token is used once, however many use it at once, and is found afterwards as used', async () => {
    const token = newToken()
    assert.equal(await store().singleUse.create(token, wide), true)
    const { hash: _hash, ...shown } = token
    const fresh = { ...shown, usedAt: null, replacedAt: null }
    assert.deepEqual(await store().singleUse.find('invitation', token.hash), fresh)
    const uses = await Promise.all(
      [1, 2, 3, 4].map((step) => store().singleUse.use('invitation', token.hash, now + step)),
    )
    assert.equal(uses.filter((row) => row !== null).length, 1)
    const used = uses.find((row) => row !== null)
    assert.deepEqual(await store().singleUse.find('invitation', token.hash), used)
  })

  test('open tokens of a kind are listed, the newest first, and those of an address are withdrawn in any spelling', async () => {
    const { singleUse } = store()
    const later = now + 50 * hour
    const make = (over: Partial<NewSingleUse>) =>
      newToken({ createdAt: later, expiresAt: later + hour, ...over })
    const tokens = {
      first: make({}),
      second: make({ createdAt: later + 1, email: 'Asked@Example.test' }),
      used: make({}),
      other: make({ kind: 'reset', userId: (await addUser(store())).id }),
      expired: make({ expiresAt: later }),
    }
    for (const token of Object.values(tokens)) assert.ok(await singleUse.create(token, wide))
    await singleUse.use('invitation', tokens.used.hash, later)
    const list = async (limit: number) =>
      (await singleUse.listOpen('invitation', { now: later, limit })).map(({ email }) => email)
    assert.deepEqual(await list(9), [tokens.second.email, tokens.first.email])
    assert.deepEqual(await list(1), [tokens.second.email])
    assert.equal(await singleUse.withdraw('reset', tokens.second.email, later), false)
    assert.equal(await singleUse.withdraw('invitation', 'asked@EXAMPLE.test', later), true)
    assert.equal(await singleUse.withdraw('invitation', 'asked@EXAMPLE.test', later), false)
    assert.equal(await singleUse.withdraw('invitation', 'asked\0@example.test', later), false)
    assert.deepEqual(await list(9), [tokens.first.email])
    assert.equal(await singleUse.use('invitation', tokens.second.hash, later), null)
  })

  test('a token is of one kind', async () => {
    const token = newToken()
    await store().singleUse.create(token, wide)
    assert.equal(await store().singleUse.find('reset', token.hash), null)
    assert.equal(await store().singleUse.use('reset', token.hash, now), null)
    assert.notEqual(await store().singleUse.use('invitation', token.hash, now), null)
  })

  test('a token that has expired, or was replaced by a newer one for the address in any spelling, is of no use', async () => {
    const old = newToken({ email: 'Guest@Example.test' })
    await store().singleUse.create(old, wide)
    assert.equal(await store().singleUse.use('invitation', old.hash, old.expiresAt), null)
    const other = newToken({ kind: 'reset', email: 'guest@example.test' })
    await store().singleUse.create(other, wide)
    const next = newToken({ email: 'guest@example.test', createdAt: now + 5 })
    await store().singleUse.create(next, wide)
    assert.equal((await store().singleUse.find('invitation', old.hash))?.replacedAt, now + 5)
    assert.equal(await store().singleUse.use('invitation', old.hash, now + 6), null)
    assert.notEqual(await store().singleUse.use('invitation', next.hash, now + 6), null)
    assert.notEqual(await store().singleUse.use('reset', other.hash, now + 6), null)
  })

  test('of many that are made at once for one address no more than the bound are stored, and one of them is valid', async () => {
    const tokens = Array.from({ length: 8 }, () => newToken({ email: 'busy@example.test' }))
    const bounds = { since: now - 1, limit: 3 }
    const made = await Promise.all(tokens.map((token) => store().singleUse.create(token, bounds)))
    assert.equal(made.filter((isMade) => isMade).length, 3)
    const uses = await Promise.all(
      tokens.map(({ hash }) => store().singleUse.use('invitation', hash, now + 1)),
    )
    assert.equal(uses.filter((row) => row !== null).length, 1)
    const later = newToken({ email: 'busy@example.test', createdAt: now + 2 * hour })
    assert.equal(await store().singleUse.create(later, { ...bounds, since: now + hour }), true)
  })

  test('the tokens of a user go with the user, and nobody gets one afterwards', async () => {
    const user = await addUser(store())
    const token = newToken({ kind: 'reset', userId: user.id, email: user.email })
    await store().singleUse.create(token, wide)
    await store().users.delete(user.id)
    assert.equal(await store().singleUse.find('reset', token.hash), null)
    const late = newToken({ kind: 'reset', userId: user.id, email: user.email })
    await assert.rejects(store().singleUse.create(late, wide), { name: 'OwnerGoneError' })
  })

  test('the sweep deletes what expired before its bound, a limited number at once', async () => {
    const long = -40 * 365 * 24 * hour
    const old = [1, 2, 3].map(() => newToken({ expiresAt: now + long }))
    const token = newToken()
    for (const one of [...old, token]) await store().singleUse.create(one, wide)
    const bounds = { before: now + long + 1, limit: 2 }
    assert.equal(await store().singleUse.sweep(bounds), 2)
    assert.equal(await store().singleUse.sweep(bounds), 1)
    assert.notEqual(await store().singleUse.find('invitation', token.hash), null)
  })

  test('the confirmation of an address is stored once, with its first time', async () => {
    const user = await addUser(store())
    assert.equal(user.emailConfirmedAt, null)
    assert.equal(await store().users.confirmEmail(user.id, now + 1), true)
    assert.equal(await store().users.confirmEmail(user.id, now + 9), true)
    assert.equal((await store().users.find(user.id))?.emailConfirmedAt, now + 1)
    const made = await addUser(store(), { emailConfirmedAt: now })
    assert.equal(made.emailConfirmedAt, now)
    await store().users.disarm(user.id, now)
    assert.equal(await store().users.confirmEmail(user.id, now), false)
  })
}
