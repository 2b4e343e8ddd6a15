/** The contract of the port for logins and their secrets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LoginId, newId } from '#kernel/ids.ts'
import { LoginTakenError, OwnerGoneError } from '#store/failure.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import type { StoreOf } from './place.ts'
import { raceEnding, raceSecrets } from './races.ts'
import {
  addKey,
  addLink,
  addLogin,
  addUser,
  epochOf,
  newConnection,
  newLinking,
  now,
} from './rows.ts'

export function testLogins(store: StoreOf): void {
  test('a login comes back with its secret opened, whatever characters it has', async () => {
    const user = await addUser(store())
    const given = {
      userId: user.id,
      provider: 'snaptrade',
      upstreamUserId: 'ünïque/1',
      secret: 'pa$$ “wörd” \u{1F511}\u0000',
    } as const
    const made = await store().logins.save(given)
    assert.deepEqual(made, { ...given, id: made.id, version: 1, isOurs: false })
    assert.deepEqual(await store().logins.get(made.id), made)
    assert.deepEqual(await store().logins.list(user.id), [made])
    assert.deepEqual(await store().logins.listIds(user.id), [made.id])
  })

  test('saving again replaces the secret and keeps the id', async () => {
    const user = await addUser(store())
    const name = { userId: user.id, provider: 'akahu', upstreamUserId: 'user_1' } as const
    const first = await store().logins.save({ ...name, secret: 'old' })
    const second = await store().logins.save({ ...name, secret: 'new' })
    assert.deepEqual(second, { ...first, secret: 'new', version: first.version + 1 })
    const third = await store().logins.save({ ...name, secret: null })
    assert.deepEqual(third, { ...first, secret: null, version: first.version + 2 })
    assert.deepEqual(await store().logins.list(user.id), [third])
  })

  test('provider, upstream user and user each make another login', async () => {
    const [one, two] = [await addUser(store()), await addUser(store())]
    const name = { userId: one.id, provider: 'fiskil', upstreamUserId: 'x', secret: null } as const
    const made = [
      await store().logins.save(name),
      await store().logins.save({ ...name, provider: 'akahu' }),
      await store().logins.save({ ...name, upstreamUserId: 'y' }),
      await store().logins.save({ ...name, userId: two.id }),
    ]
    assert.equal(new Set(made.map((login) => login.id)).size, 4)
    assert.equal((await store().logins.list(one.id)).length, 3)
    assert.equal((await store().logins.list(two.id)).length, 1)
    const ids = (await store().logins.list(one.id)).map((login) => login.id)
    assert.deepEqual(await store().logins.listIds(one.id), ids)
  })

  test('an exclusive login belongs to the first user who saves it, who may save it again; others are refused and nothing is stored', async () => {
    const [one, two] = [await addUser(store()), await addUser(store())]
    const key = { provider: 'up', upstreamUserId: 'customer-1', isExclusive: true } as const
    const made = await store().logins.save({ ...key, userId: one.id, secret: 'first' })
    await assert.rejects(
      store().logins.save({ ...key, userId: two.id, secret: 'second' }),
      LoginTakenError,
    )
    assert.deepEqual(await store().logins.list(two.id), [])
    const again = await store().logins.save({ ...key, userId: one.id, secret: 'newer' })
    assert.deepEqual([again.id, again.secret], [made.id, 'newer'])
    const other = { ...key, provider: 'akahu', userId: two.id, secret: 'x' } as const
    assert.equal((await store().logins.save(other)).userId, two.id)
  })

  test('of users who save one exclusive login at the same time, exactly one gets it', async () => {
    const users = await Promise.all(Array.from({ length: 8 }, () => addUser(store())))
    const key = { provider: 'up', upstreamUserId: 'customer-race', isExclusive: true } as const
    const saves = users.map(({ id }) => store().logins.save({ ...key, userId: id, secret: 's' }))
    const results = await Promise.allSettled(saves)
    const refusals = results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    assert.equal(refusals.length, 7)
    for (const refusal of refusals) assert.ok(refusal instanceof LoginTakenError, String(refusal))
  })

  test('a login is deleted when no connection uses it any more, and not before', async () => {
    const { user, login, connection } = await addLink(store())
    const kept = await addLogin(store(), user.id)
    await store().connections.setStatus(connection.id, 'deleting')
    await store().logins.deleteUnused(login.id)
    assert.deepEqual(await store().logins.get(login.id), login)
    await store().connections.delete(connection.id)
    await store().logins.deleteUnused(login.id)
    assert.equal(await store().logins.get(login.id), null)
    assert.deepEqual(await store().logins.list(user.id), [kept])
    await store().logins.deleteUnused(login.id)
  })

  test('a login that is linked again during its deletion never loses a connection', async () => {
    for (let round = 0; round < 20; round += 1) {
      const user = await addUser(store())
      const login = await addLogin(store(), user.id)
      const [saved] = await Promise.allSettled([
        store().connections.save(newConnection(user.id, login.id)),
        store().logins.deleteUnused(login.id),
      ])
      const rows = await store().connections.list(user.id)
      if (saved.status === 'fulfilled') assert.deepEqual(rows, [saved.value])
      else assert.ok(saved.reason instanceof OwnerGoneError)
    }
  })

  test('whether a login was made here is kept with it, whoever saves it again', async () => {
    const user = await addUser(store())
    const name = { userId: user.id, provider: 'fiskil', secret: null } as const
    const made = await store().logins.save({ ...name, upstreamUserId: 'made', isOurs: true })
    assert.equal(made.isOurs, true)
    assert.equal((await store().logins.save({ ...name, upstreamUserId: 'made' })).isOurs, true)
    const adopted = await store().logins.save({ ...name, upstreamUserId: 'adopted' })
    const again = await store().logins.save({ ...name, upstreamUserId: 'adopted', isOurs: true })
    assert.deepEqual([adopted.isOurs, again.isOurs], [false, false])
    assert.equal((await store().logins.find(made.id))?.isOurs, true)
  })

  test('a login whose consents changed has another version, and a status learnt before is not stored', async () => {
    const { user, login, connection } = await addLink(store())
    await store().logins.noteConsents(login.id)
    const { secret: _secret, ...bare } = { ...login, version: login.version + 1 }
    assert.deepEqual(await store().logins.hold(login.id), { ...bare, isEnding: false })
    await store().connections.saveLearntStatus({
      login,
      connectionId: connection.id,
      from: ['active'],
      to: 'revoked',
    })
    assert.equal((await store().connections.find(connection.id))?.status, 'active')
    await store().users.disarm(user.id, now)
    assert.equal(await store().logins.hold(login.id), null)
    assert.equal(await store().logins.hold(newId<LoginId>()), null)
    await store().logins.noteConsents(newId<LoginId>())
  })

  test('a login that is held stays as it is until the transaction ends', async () => {
    const { login } = await addLink(store())
    const held = Promise.withResolvers<void>()
    const change = held.promise.then(() => store().logins.noteConsents(login.id))
    const version = await store().transact(async (tx) => {
      await tx.logins.hold(login.id)
      held.resolve()
      await new Promise((resolve) => setTimeout(resolve, 30))
      return (await tx.logins.find(login.id))?.version
    })
    await change
    assert.equal(version, login.version)
    assert.equal((await store().logins.find(login.id))?.version, login.version + 1)
  })

  test('a login is held by its name, also where there is none yet, until the transaction ends', async () => {
    const user = await addUser(store())
    const name = { userId: user.id, provider: 'enablebanking', upstreamUserId: 'a bank' } as const
    const secret = 'the secret'
    await store().logins.save({ ...name, provider: 'akahu', secret })
    await store().logins.save({ ...name, upstreamUserId: 'another bank', secret })
    await store().logins.save({ ...name, userId: (await addUser(store())).id, secret })
    assert.equal(await store().logins.holdNamed(name), null)
    const { id } = await store().logins.save({ ...name, secret })
    assert.equal(await store().logins.holdNamed(name), id)
    await raceSecrets(store(), store())
    await store().users.disarm(user.id, now)
    await assert.rejects(store().logins.holdNamed(name), OwnerGoneError)
  })

  test('logins that nothing uses are listed: no connection, not even one that is being removed, and no link that may come back', async () => {
    const { user, login: used, connection } = await addLink(store())
    const [left, begun] = [
      await addLogin(store(), user.id),
      await addLogin(store(), user.id),
    ].toSorted((one, other) => (one.id < other.id ? -1 : 1))
    assert(left !== undefined && begun !== undefined)
    await store().linkings.create(newLinking({ userId: user.id, loginId: begun.id }))
    const own = new Set([used.id, left.id, begun.id])
    const list = async (at: number, after: LoginId | null = null) => {
      const rows = await store().logins.listAbandoned({ now: at, after, limit: 1000 })
      return rows.map(({ id }) => id).filter((id) => own.has(id))
    }
    await store().connections.setStatus(connection.id, 'deleting')
    assert.deepEqual(await list(now), [left.id])
    assert.deepEqual(await list(now + 1000), [left.id, begun.id])
    assert.deepEqual(await list(now + 1000, left.id), [begun.id])
    const [first] = await store().logins.listAbandoned({ now, after: null, limit: 1 })
    assert.notEqual(first, undefined)
  })

  test('a login ends only when nothing uses it, and no longer once it is saved', async () => {
    const { user, login, connection } = await addLink(store())
    const { id, userId } = login
    const look = { now, but: connection.id }
    const isEnding = async () => (await store().logins.hold(id))?.isEnding
    await store().connections.setStatus(connection.id, 'deleting')
    assert.equal(await store().logins.startEnding(id, { now }), false)
    assert.equal(await isEnding(), false)
    const other = await store().connections.save(newConnection(user.id, id))
    assert.equal(await store().logins.startEnding(id, look), false)
    await store().connections.delete(other.id)
    assert.equal(await store().logins.startEnding(id, look), true)
    assert.equal(await isEnding(), true)
    await store().linkings.create(newLinking({ userId, loginId: id }))
    // A link that was begun with it all the same, or that has expired.
    assert.equal(await store().logins.startEnding(id, look), false)
    assert.equal(await isEnding(), false)
    const later = { ...look, now: now + 1000 }
    assert.equal(await store().logins.startEnding(id, later), true)
    await store().logins.save(login)
    assert.equal(await isEnding(), false)
    assert.equal(await store().logins.startEnding(newId<LoginId>(), { now }), false)
    // It ends with its user all the same.
    await store().users.disarm(user.id, now)
    assert.equal(await store().logins.startEnding(id, later), true)
  })

  test('a mark of an end that failed counts for nothing once a connection of the login is shown', async () => {
    const user = await addUser(store())
    const login = await addLogin(store(), user.id)
    const isEnding = async () => (await store().logins.hold(login.id))?.isEnding
    assert.equal(await store().logins.startEnding(login.id, { now }), true)
    const connection = await store().connections.save(newConnection(user.id, login.id))
    assert.equal(await isEnding(), false)
    await store().connections.setStatus(connection.id, 'deleting')
    assert.equal(await isEnding(), true)
  })

  test('a link that begins while the last two connections of a login are removed keeps it, or finds that it ends', async () => {
    for (let round = 0; round < 10; round += 1) await raceEnding(store(), store())
  })

  test('an unknown login is null', async () => {
    assert.equal(await store().logins.get(newId<LoginId>()), null)
    assert.equal(await store().logins.find(newId<LoginId>()), null)
  })

  test('logins are found by the person at the provider, those of every user, without their secrets', async () => {
    const upstreamUserId = `person-${newId<LoginId>()}`
    const name = { provider: 'snaptrade', upstreamUserId, secret: 'secret' } as const
    const made: LoginRow[] = []
    for (let user = 0; user < 3; user += 1) {
      made.push(await store().logins.save({ ...name, userId: (await addUser(store())).id }))
    }
    await store().logins.save({ ...name, provider: 'akahu', userId: made[0]?.userId ?? newId() })
    const bare = made
      .map(({ secret: _secret, ...login }) => login)
      .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    const find = (limit: number) => store().logins.listByUpstream({ ...name, limit })
    assert.deepEqual(await find(10), bare)
    assert.deepEqual(await find(2), bare.slice(0, 2))
    const nobody = { ...name, upstreamUserId: `${upstreamUserId}x`, limit: 10 }
    assert.deepEqual(await store().logins.listByUpstream(nobody), [])
    for (const login of bare) assert.deepEqual(await store().logins.find(login.id), login)
  })

  test('a secret that no longer works is deleted, unless it was replaced', async () => {
    const { user, login } = await addLink(store())
    const { hash } = await addKey(store(), user.id)
    const before = await epochOf(store(), hash)
    assert.equal(await store().logins.forgetSecret({ ...login, version: 7 }), false)
    assert.deepEqual(await store().logins.get(login.id), login)
    assert.equal(await store().logins.forgetSecret(login), true)
    const forgotten = { ...login, secret: null, version: login.version + 1 }
    assert.deepEqual(await store().logins.get(login.id), forgotten)
    assert.equal(await epochOf(store(), hash), before + 1)
    assert.equal(await store().logins.forgetSecret(login), false)
    assert.equal(await epochOf(store(), hash), before + 1)
    assert.equal(await store().logins.forgetSecret({ id: newId<LoginId>(), version: 1 }), false)
  })
}
