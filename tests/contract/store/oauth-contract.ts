/** Grants to agents and what lives by them: redeemed once, revoked at once, swept in bounded steps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, type SessionId, type UserId } from '#kernel/ids.ts'
import type { StoreChange } from '#store/ports/changes.ts'
import { networkBytes, type OAuthStore } from '#store/ports/oauth.ts'
import type { StoreOf } from './place.ts'
import {
  addGrant,
  addOAuthRow,
  addSession,
  addUser,
  newOAuthRow,
  now,
  someHash,
  somePassword,
} from './rows.ts'

type Bounds = Parameters<OAuthStore['savePending']>[1]

/** The most transactions of one process: its connections to PostgreSQL. */
const runningAtOnce = 10

export function testOAuth(store: StoreOf): void {
  testRows(store)
  testPending(store)
  testGrants(store)
  testAgents(store)
  testSweeping(store)
}

function testRows(store: StoreOf): void {
  test('a row comes back as it was saved, and only as the model that it is', async () => {
    const row = await addOAuthRow(store(), { model: 'RefreshToken' })
    assert.deepEqual(await store().oauth.find('RefreshToken', row.id), {
      payload: row.payload,
      createdAt: row.createdAt,
      expiresAt: row.expiresAt,
      usedAt: null,
    })
    assert.equal(await store().oauth.find('AccessToken', row.id), null)
    assert.equal(await store().oauth.find('RefreshToken', someHash()), null)
  })

  test('saving again replaces payload and expiry, and keeps that it was redeemed', async () => {
    const row = await addOAuthRow(store())
    assert.equal(await store().oauth.consume(row.model, row.id, now + 5), true)
    await store().oauth.save({ ...row, payload: '{}', expiresAt: now + 9 })
    assert.deepEqual(await store().oauth.find(row.model, row.id), {
      payload: '{}',
      createdAt: now,
      expiresAt: now + 9,
      usedAt: now + 5,
    })
  })

  test('of many who redeem one row at once exactly one succeeds', async () => {
    const row = await addOAuthRow(store(), { model: 'AuthorizationCode' })
    const tries = Array.from({ length: 12 }, () => store().oauth.consume(row.model, row.id, now))
    assert.equal((await Promise.all(tries)).filter(Boolean).length, 1)
    assert.equal(await store().oauth.consume('AuthorizationCode', someHash(), now), false)
  })

  test('deleting takes the named model alone; deleting again does nothing', async () => {
    const row = await addOAuthRow(store())
    await store().oauth.delete('RefreshToken', row.id)
    assert.notEqual(await store().oauth.find('AccessToken', row.id), null)
    await store().oauth.delete('AccessToken', row.id)
    await store().oauth.delete('AccessToken', row.id)
    assert.equal(await store().oauth.find('AccessToken', row.id), null)
  })

  test('a used client lives longer, never shorter', async () => {
    const client = await addOAuthRow(store(), { model: 'Client' })
    await store().oauth.touchClient(client.id, now + 1, client.expiresAt + 10)
    await store().oauth.touchClient(client.id, now + 2, client.expiresAt - 10)
    const found = await store().oauth.find('Client', client.id)
    assert.equal(found?.expiresAt, client.expiresAt + 10)
    assert.equal(found?.usedAt, now + 1)
  })

  test('of one origin the newest unused clients stay, and every used one, and those of others', async () => {
    const origin = someHash()
    const add = (age: number) =>
      addOAuthRow(store(), { model: 'Client', origin, createdAt: now - age })
    const clients = [await add(4), await add(3), await add(2), await add(1)]
    const other = await addOAuthRow(store(), { model: 'Client', origin: someHash() })
    const [used] = clients
    assert.ok(used)
    await store().oauth.touchClient(used.id, now, used.expiresAt + 1)
    await store().oauth.trimClients(origin, 2)
    const found = await Promise.all(
      [...clients, other].map(({ id }) => store().oauth.find('Client', id)),
    )
    assert.deepEqual(
      found.map((row) => row !== null),
      [true, false, true, true, true],
    )
  })
}

function testPending(store: StoreOf): void {
  const pending = (origin: Uint8Array | null = null) =>
    newOAuthRow({ model: 'Interaction', origin })

  /** One after another. */
  const saveAll = async (rows: readonly ReturnType<typeof pending>[], bounds: Bounds) => {
    const outcomes = []
    for (const row of rows) outcomes.push(await store().oauth.savePending(row, bounds))
    return outcomes
  }
  const areKept = (rows: readonly ReturnType<typeof pending>[]) =>
    Promise.all(rows.map(async ({ id }) => (await store().oauth.find('Interaction', id)) !== null))

  test('no more requests wait than may, of one origin and in all', async () => {
    const [mine, other] = [someHash(), someHash()]
    const bounds = { at: now, ofOrigin: 5, inAll: 8 }
    const rows = Array.from({ length: 12 }, () => pending(mine))
    const outcomes = await saveAll(rows, bounds)
    const kept = rows.filter((_row, index) => outcomes[index] === 'kept')
    assert.equal(kept.length, 5)
    assert.equal(outcomes.filter((outcome) => outcome === 'origin_full').length, 7)
    assert.deepEqual(
      await areKept(rows),
      outcomes.map((outcome) => outcome === 'kept'),
    )
    const others = Array.from({ length: 5 }, () => pending(other))
    const theirs = await saveAll(others, bounds)
    // The last one takes a place of the origin that has most of them, until both have as many.
    assert.deepEqual(theirs.sort(), ['full', 'kept', 'kept', 'kept', 'kept'])
    const found = await areKept(kept)
    assert.equal(found.filter(Boolean).length, 4)
    // One that waits already is replaced however full it is, and what is over takes no place.
    const first = kept.find((_row, index) => found[index]) ?? pending()
    assert.equal(await store().oauth.savePending({ ...first, payload: '{}' }, bounds), 'kept')
    assert.equal((await store().oauth.find('Interaction', first.id))?.payload, '{}')
    const later = { ...bounds, at: first.expiresAt }
    assert.equal(await store().oauth.savePending(pending(mine), later), 'kept')
  })

  test('of many requests at once no more wait than may, and than run at once', async () => {
    const at = now + 2_000_000
    const soon = (origin: Uint8Array) => ({ ...pending(origin), expiresAt: at + 1000 })
    const burst = (rows: readonly ReturnType<typeof pending>[], bounds: Bounds) =>
      Promise.all(rows.map((row) => store().oauth.savePending(row, bounds)))
    const mine = someHash()
    const rows = Array.from({ length: 60 }, () => soon(mine))
    await burst(rows, { at, ofOrigin: 20, inAll: 1000 })
    const kept = (await areKept(rows)).filter(Boolean).length
    assert.ok(kept >= 20 && kept < 20 + runningAtOnce, `${kept}`)
    const others = Array.from({ length: 60 }, () => soon(someHash()))
    await burst(others, { at, ofOrigin: 20, inAll: 20 })
    const left = (await areKept([...rows, ...others])).filter(Boolean).length
    assert.equal(left, kept, 'each took the place of another one')
    await store().oauth.sweep(at + 2000, 1000)
  })

  test('a network that holds all places, by any number of addresses, makes room for every other network', async () => {
    const at = now + 500_000
    const bounds = { at, ofOrigin: 2, inAll: 10 }
    const crowded = someHash()
    const ofCrowd = () => Uint8Array.of(...crowded.slice(0, networkBytes), ...someHash().slice(16))
    const add = (origin: Uint8Array, age: number) => {
      const row = { ...pending(origin), createdAt: at - age, expiresAt: at + 600_000 - age }
      return store()
        .oauth.savePending(row, bounds)
        .then((outcome) => ({ row, outcome }))
    }
    const crowd = []
    for (let age = 20; age > 10; age -= 1) crowd.push(await add(ofCrowd(), age))
    assert(crowd.every(({ outcome }) => outcome === 'kept'))
    assert.equal((await add(ofCrowd(), 9)).outcome, 'full')
    for (let count = 0; count < 4; count += 1) {
      assert.equal((await add(someHash(), 8 - count)).outcome, 'kept', `${count}`)
    }
    const left = await Promise.all(
      crowd.map(({ row }) => store().oauth.find('Interaction', row.id)),
    )
    assert.deepEqual(
      left.map((row) => row !== null),
      crowd.map((_one, index) => index >= 4),
      'its oldest went',
    )
    await store().oauth.sweep(at + 600_000, 1000)
  })

  test('of all never used clients the newest of every network stay', async () => {
    await store().oauth.trimUnusedClients(0)
    const crowded = someHash()
    const add = (origin: Uint8Array, age: number) =>
      addOAuthRow(store(), { model: 'Client', origin, createdAt: now - age })
    const ofCrowd = () => Uint8Array.of(...crowded.slice(0, networkBytes), ...someHash().slice(16))
    const used = await add(ofCrowd(), 1000)
    await store().oauth.touchClient(used.id, now, used.expiresAt + 1)
    const others = [await add(someHash(), 500), await add(someHash(), 400)]
    const crowd = []
    for (let age = 0; age < 6; age += 1) crowd.push(await add(ofCrowd(), age))
    assert.equal(await store().oauth.trimUnusedClients(4), 4)
    const isThere = async ({ id }: { readonly id: Uint8Array }) =>
      (await store().oauth.find('Client', id)) !== null
    assert.deepEqual(await Promise.all([used, ...others].map(isThere)), [true, true, true])
    assert.deepEqual(
      await Promise.all(crowd.map(isThere)),
      crowd.map((_client, age) => age < 2),
    )
    assert.equal(await store().oauth.trimUnusedClients(4), 0)
  })

  test('a client has a grant of the user who allowed it, of nobody else, and none when it is revoked', async () => {
    const clientId = `client-${newId<UserId>()}`
    const [one, other] = [(await addUser(store())).id, (await addUser(store())).id]
    const whose = () =>
      Promise.all([one, other].map((userId) => store().oauth.hasGrant(userId, clientId)))
    const grant = await addGrant(store(), one, { clientId })
    assert.deepEqual(await whose(), [true, false])
    assert.equal(await store().oauth.hasGrant(one, `${clientId} of another`), false)
    await store().oauth.deleteGrant(grant.id)
    assert.deepEqual(await whose(), [false, false])
  })
}

function testGrants(store: StoreOf): void {
  test('the decision of a session is stored while the session exists, and never after it has ended', async () => {
    const user = await addUser(store(), { passwordHash: somePassword })
    const session = await addSession(store(), user.id)
    const { id: grantId } = await addGrant(store(), user.id)
    const agent = newOAuthRow({ model: 'Agent', grantId })
    assert.equal(await store().oauth.saveWhile(newId<SessionId>(), agent), false)
    assert.equal(await store().oauth.find('Agent', agent.id), null)
    assert.equal(await store().oauth.saveWhile(session.id, agent), true)
    assert.equal((await store().oauth.find('Agent', agent.id))?.payload, agent.payload)
    await store().sessions.setPassword(user.id, '$argon2id$new')
    assert.equal(await store().oauth.saveWhile(session.id, newOAuthRow({ grantId })), false)
    const gone = newOAuthRow({ grantId: someHash() })
    const other = await addUser(store(), { passwordHash: somePassword })
    assert.equal(
      await store().oauth.saveWhile((await addSession(store(), other.id)).id, gone),
      false,
    )
  })

  test('a grant is kept with its user; there is none for a user who does not exist', async () => {
    const user = await addUser(store())
    const grant = await addGrant(store(), user.id)
    assert.deepEqual(await store().oauth.findGrant(grant.id), {
      userId: user.id,
      payload: grant.payload,
      createdAt: grant.createdAt,
      expiresAt: grant.expiresAt,
      usedAt: null,
    })
    const { clientId } = grant
    assert.deepEqual(await store().oauth.findParties(grant.id), { userId: user.id, clientId })
    const nobody = { ...grant, id: someHash(), userId: newId<UserId>() }
    assert.equal(await store().oauth.saveGrant(nobody), false)
    assert.equal(await store().oauth.findGrant(nobody.id), null)
    assert.equal(await store().oauth.findParties(nobody.id), null)
  })

  test('revoking a grant deletes all its rows at once, and returns its user', async () => {
    const user = await addUser(store())
    const [grant, kept] = [await addGrant(store(), user.id), await addGrant(store(), user.id)]
    const gone = await addOAuthRow(store(), { grantId: grant.id })
    const stays = await addOAuthRow(store(), { grantId: kept.id })
    const told: StoreChange[] = []
    const stop = store().onChange((change) => told.push(change))
    assert.equal(await store().oauth.deleteGrant(grant.id), true)
    stop()
    assert.deepEqual(told, [{ userId: user.id }])
    assert.equal(await store().oauth.find('AccessToken', gone.id), null)
    assert.notEqual(await store().oauth.find('AccessToken', stays.id), null)
    assert.equal(await store().oauth.deleteGrant(grant.id), false)
  })

  test('no row is created for a revoked grant', async () => {
    const user = await addUser(store())
    const grant = await addGrant(store(), user.id)
    const late = { ...(await addOAuthRow(store())), id: someHash(), grantId: grant.id }
    await store().oauth.deleteGrant(grant.id)
    assert.equal(await store().oauth.save(late), false)
    assert.equal(await store().oauth.find(late.model, late.id), null)
  })

  test('a revocation and twenty concurrent inserts leave no row', async () => {
    const user = await addUser(store())
    const grant = await addGrant(store(), user.id)
    const template = await addOAuthRow(store())
    const rows = Array.from({ length: 20 }, () => ({
      ...template,
      id: someHash(),
      grantId: grant.id,
    }))
    await Promise.all([
      ...rows.slice(0, 10).map((row) => store().oauth.save(row)),
      store().oauth.deleteGrant(grant.id),
      ...rows.slice(10).map((row) => store().oauth.save(row)),
    ])
    const found = await Promise.all(rows.map((row) => store().oauth.find(row.model, row.id)))
    assert.ok(found.every((row) => row === null))
  })

  test('deleting a user deletes grants and tokens', async () => {
    const user = await addUser(store())
    const grant = await addGrant(store(), user.id)
    const token = await addOAuthRow(store(), { grantId: grant.id })
    await store().users.delete(user.id)
    assert.equal(await store().oauth.findGrant(grant.id), null)
    assert.equal(await store().oauth.find('AccessToken', token.id), null)
  })

  test('the grants of a user to one client that are agents are listed newest first, nobody else’s', async () => {
    const [user, other] = [await addUser(store()), await addUser(store())]
    const older = await addGrant(store(), user.id, { createdAt: now - 5 })
    const newer = await addGrant(store(), user.id)
    const another = await addGrant(store(), user.id, { clientId: 'another agent' })
    const theirs = await addGrant(store(), other.id)
    for (const { id } of [older, newer, another, theirs])
      await addOAuthRow(store(), { model: 'Agent', grantId: id })
    // A decision that is not recorded yet.
    await addGrant(store(), user.id)
    const ids = await store().oauth.listAgentGrants(user.id, 'agent')
    assert.deepEqual(ids.map(toHex), [newer.id, older.id].map(toHex))
  })
}

function testAgents(store: StoreOf): void {
  test('an agent is listed while it has a code or token that is good', async () => {
    const [user, other] = [await addUser(store()), await addUser(store())]
    const grant = await addGrant(store(), user.id)
    await addOAuthRow(store(), { model: 'Agent', grantId: grant.id, payload: '"Claude"' })
    const list = async (at: number) =>
      (await store().oauth.listAgents(user.id, at)).map(({ payload }) => payload)
    assert.deepEqual(await list(now), [])
    const token = await addOAuthRow(store(), { model: 'RefreshToken', grantId: grant.id })
    assert.deepEqual(await list(now), ['"Claude"'])
    assert.deepEqual(await store().oauth.listAgents(other.id, now), [])
    assert.deepEqual(await list(token.expiresAt), [])
    await store().oauth.consume(token.model, token.id, now)
    assert.deepEqual(await list(now), [])
  })

  test('the last use of a grant only moves forward, and stays when the grant is saved again', async () => {
    const user = await addUser(store())
    const grant = await addGrant(store(), user.id)
    await addOAuthRow(store(), { model: 'Agent', grantId: grant.id })
    await addOAuthRow(store(), { model: 'RefreshToken', grantId: grant.id })
    const lastUse = async () => (await store().oauth.listAgents(user.id, now))[0]?.lastUsedAt
    assert.equal(await lastUse(), null)
    for (const at of [now + 5, now + 9, now + 7]) await store().oauth.touchGrant(grant.id, at)
    await store().oauth.saveGrant(grant)
    assert.equal(await lastUse(), now + 9)
    await store().oauth.touchGrant(new Uint8Array(32), now)
  })
}

function testSweeping(store: StoreOf): void {
  test('sweeping deletes what has expired, in steps that are bounded', async () => {
    const user = await addUser(store())
    const long = now + 10 * 86_400_000
    const kept = await addOAuthRow(store(), { expiresAt: long })
    const grant = await addGrant(store(), user.id, { expiresAt: now - 3 })
    const expired = []
    for (let count = 0; count < 5; count += 1)
      expired.push(await addOAuthRow(store(), { expiresAt: now - 1 }))
    const counts = [await store().oauth.sweep(now, 3), await store().oauth.sweep(now, 3)]
    assert.deepEqual(counts, [4, 2])
    assert.equal(await store().oauth.sweep(now, 3), 0)
    assert.equal(await store().oauth.findGrant(grant.id), null)
    for (const { id } of expired) assert.equal(await store().oauth.find('AccessToken', id), null)
    assert.notEqual(await store().oauth.find('AccessToken', kept.id), null)
  })
}

const toHex = (id: Uint8Array): string => Buffer.from(id).toString('hex')
