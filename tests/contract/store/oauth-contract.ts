/** Grants to agents and what lives by them: redeemed once, revoked at once, swept in bounded steps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, type UserId } from '#kernel/ids.ts'
import type { StoreChange } from '#store/port.ts'
import { addGrant, addOAuthRow, addUser, now, someHash } from './rows.ts'
import type { StoreOf } from './store-contract.ts'

export function testOAuth(store: StoreOf): void {
  testRows(store)
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

function testGrants(store: StoreOf): void {
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
    const nobody = { ...grant, id: someHash(), userId: newId<UserId>() }
    assert.equal(await store().oauth.saveGrant(nobody), false)
    assert.equal(await store().oauth.findGrant(nobody.id), null)
  })

  test('revoking a grant takes everything along at once, and tells whose it was', async () => {
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

  test('nothing is made for a grant that is gone', async () => {
    const user = await addUser(store())
    const grant = await addGrant(store(), user.id)
    const late = { ...(await addOAuthRow(store())), id: someHash(), grantId: grant.id }
    await store().oauth.deleteGrant(grant.id)
    assert.equal(await store().oauth.save(late), false)
    assert.equal(await store().oauth.find(late.model, late.id), null)
  })

  test('a revocation and twenty births at once leave nothing alive', async () => {
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

  test('a deleted user takes grants and tokens along', async () => {
    const user = await addUser(store())
    const grant = await addGrant(store(), user.id)
    const token = await addOAuthRow(store(), { grantId: grant.id })
    await store().users.delete(user.id)
    assert.equal(await store().oauth.findGrant(grant.id), null)
    assert.equal(await store().oauth.find('AccessToken', token.id), null)
  })

  test('the grants of a user to one client are listed newest first, nobody else’s', async () => {
    const [user, other] = [await addUser(store()), await addUser(store())]
    const older = await addGrant(store(), user.id, { createdAt: now - 5 })
    const newer = await addGrant(store(), user.id)
    await addGrant(store(), user.id, { clientId: 'another agent' })
    await addGrant(store(), other.id)
    const ids = await store().oauth.listGrants(user.id, 'agent')
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
