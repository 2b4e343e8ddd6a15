/** The contract of the port for passkeys and answered challenges. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, type PasskeyId, type UserId } from '#kernel/ids.ts'
import { OwnerGoneError } from '#store/failure.ts'
import { maxPasskeys, type NewPasskey, type PasskeyRow } from '#store/ports/passkeys.ts'
import type { StoreOf } from './place.ts'
import { racePasskeys } from './races.ts'
import { addUser, newPasskey, now, someChallenge, someHash } from './rows.ts'

const hour = 3_600_000
export function testPasskeys(store: StoreOf): void {
  const passkeys = () => store().passkeys
  const factors = () => store().secondFactors
  async function add(userId: UserId, over: Partial<NewPasskey> = {}): Promise<PasskeyRow> {
    const made = await passkeys().create(newPasskey(userId, over))
    assert(made.kind === 'made', made.kind)
    return made.row
  }
  const use = (row: PasskeyRow, signCount = 0, challenge = someChallenge(), at = now) =>
    passkeys().use(row.userId, { passkeyId: row.id, signCount, challenge }, at)

  test('a passkey is read as it was stored, by its id of the authenticator and in the list', async () => {
    const { id: userId } = await addUser(store())
    const given = newPasskey(userId, { signCount: 4_294_967_295 })
    const made = await passkeys().create(given)
    assert(made.kind === 'made')
    const { challenge, codeHashes, ...stored } = given
    const row = { ...stored, id: made.row.id, lastUsedAt: null }
    assert.deepEqual(made, { kind: 'made', row, areCodesNew: true })
    assert.deepEqual(await passkeys().find(given.credentialId), row)
    assert.deepEqual(await passkeys().list(userId), [row])
    assert.equal(await passkeys().find(someHash()), null)
    const later = await add(userId, { createdAt: now + 1, transports: [] })
    assert.deepEqual(
      (await passkeys().list(userId)).map(({ id, transports }) => [id, transports.length]),
      [
        [row.id, 2],
        [later.id, 0],
      ],
    )
  })

  test('a passkey is a second factor; the first factor brings the recovery codes, the last one takes them', async () => {
    const { id: userId } = await addUser(store())
    assert.deepEqual([await factors().has(userId), await factors().hasApp(userId)], [false, false])
    const first = await add(userId)
    assert.deepEqual([await factors().has(userId), await factors().hasApp(userId)], [true, false])
    assert.equal(await factors().countCodes(userId), 2)
    const made = await passkeys().create(newPasskey(userId, { codeHashes: [someHash()] }))
    assert(made.kind === 'made')
    assert.equal(made.areCodesNew, false)
    assert.equal(await factors().countCodes(userId), 2)
    assert.equal(await factors().replaceCodes(userId, [someHash()]), true)
    const app = { userId, secret: new Uint8Array(20), at: now, step: 1, codeHashes: [someHash()] }
    assert.equal(await factors().create(app), true)
    assert.equal(await passkeys().remove(userId, first.id), true)
    assert.equal(await factors().removeApp(userId), true)
    assert.equal(await factors().removeApp(userId), false)
    assert.equal(await factors().countCodes(userId), 1)
    assert.equal(await passkeys().remove(userId, made.row.id), true)
    assert.deepEqual([await factors().has(userId), await factors().countCodes(userId)], [false, 0])
  })

  test('with an app a passkey brings no codes, and all of it ends at once', async () => {
    const { id: userId } = await addUser(store())
    const app = { userId, secret: new Uint8Array(20), at: now, step: 1, codeHashes: [someHash()] }
    assert.equal(await factors().create(app), true)
    const made = await passkeys().create(newPasskey(userId))
    assert.equal(made.kind === 'made' && made.areCodesNew, false)
    assert.equal(await factors().countCodes(userId), 1)
    assert.deepEqual(
      [await factors().delete(userId), await factors().delete(userId)],
      [true, false],
    )
    assert.deepEqual(await passkeys().list(userId), [])
    assert.deepEqual([await factors().has(userId), await factors().countCodes(userId)], [false, 0])
    await add(userId)
    assert.equal(await factors().delete(userId), true)
  })

  test('a user has a bounded number, and no two passkeys share an id of the authenticator', async () => {
    const { id: userId } = await addUser(store())
    const { id: other } = await addUser(store())
    const { credentialId } = await add(userId)
    const taken = await passkeys().create(newPasskey(other, { credentialId }))
    assert.deepEqual(taken, { kind: 'taken' })
    assert.deepEqual([await factors().has(other), await factors().countCodes(other)], [false, 0])
    for (let more = 1; more < maxPasskeys; more += 1) await add(userId)
    assert.deepEqual(await passkeys().create(newPasskey(userId)), { kind: 'full' })
    assert.equal((await passkeys().list(userId)).length, maxPasskeys)
  })

  test('a challenge is answered once, whoever answers it, until it is forgotten', async () => {
    const { id: userId } = await addUser(store())
    const challenge = someChallenge()
    const row = await add(userId, { challenge })
    assert.deepEqual(await passkeys().create(newPasskey(userId, { challenge })), { kind: 'used' })
    assert.equal(await use(row, 0, challenge), false)
    const next = someChallenge()
    assert.deepEqual([await use(row, 0, next), await use(row, 0, next)], [true, false])
    const other = await add((await addUser(store())).id)
    assert.equal(await use(other, 0, next), false)
    assert.equal(await passkeys().sweepChallenges(now + hour - 1), 0)
    assert.ok((await passkeys().sweepChallenges(now + hour + 1)) > 0)
    assert.equal(await use(row, 0, next), true)
  })

  test('a count must grow once there is one; the last use is kept', async () => {
    const { id: userId } = await addUser(store())
    const row = await add(userId, { signCount: 7 })
    const counts = [0, 6, 7, 8, 8, 4_294_967_295]
    const used: boolean[] = []
    for (const count of counts) used.push(await use(row, count, someChallenge(), now + count))
    assert.deepEqual(used, [false, false, false, true, false, true])
    const [read] = await passkeys().list(userId)
    assert.deepEqual([read?.signCount, read?.lastUsedAt], [4_294_967_295, now + 4_294_967_295])
    const quiet = await add(userId)
    assert.deepEqual([await use(quiet), await use(quiet), await use(quiet, 1)], [true, true, true])
    assert.equal(await use(quiet), false)
  })

  test('another user’s passkey is neither used nor removed', async () => {
    const row = await add((await addUser(store())).id)
    const { id: other } = await addUser(store())
    const given = { passkeyId: row.id, signCount: 0, challenge: someChallenge() }
    assert.equal(await passkeys().use(other, given, now), false)
    assert.equal(await passkeys().remove(other, row.id), false)
    assert.equal(await passkeys().remove(row.userId, newId<PasskeyId>()), false)
    assert.equal((await passkeys().list(row.userId)).length, 1)
  })

  test('who is deleted or being deleted gets none, and nothing of one is left', async () => {
    const row = await add((await addUser(store())).id)
    const challenge = someChallenge()
    assert.equal(await use(row, 0, challenge), true)
    await store().users.delete(row.userId)
    assert.equal(await passkeys().find(row.credentialId), null)
    assert.equal(await factors().countCodes(row.userId), 0)
    // Its challenges are gone with it.
    const other = await add((await addUser(store())).id)
    assert.equal(await use(other, 0, challenge), true)
    const leaving = await addUser(store())
    await store().users.disarm(leaving.id, now)
    for (const id of [leaving.id, newId<UserId>()]) {
      await assert.rejects(passkeys().create(newPasskey(id)), OwnerGoneError)
    }
  })

  test('of answers to one challenge at once, one counts; nobody gets more than the bound', () =>
    racePasskeys(store(), store()))
}
