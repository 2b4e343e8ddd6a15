/** The contract of the port for connections. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectionId, newId } from '#kernel/ids.ts'
import type { StoreOf } from './place.ts'
import {
  addLink,
  addLogin,
  addUser,
  newAccount,
  newConnection,
  now,
  replaceAccounts,
  someUpstreamId,
} from './rows.ts'

export function testConnections(store: StoreOf): void {
  test('a connection comes back as it was given', async () => {
    const user = await addUser(store())
    const login = await addLogin(store(), user.id)
    const given = newConnection(user.id, login.id, {
      institutionLogo: 'https://logos.example.test/1.png',
      status: 'pending_mfa',
      lastRefreshedAt: now - 1,
      consentExpiresAt: now + 1,
    })
    const made = await store().connections.save(given)
    const own = { id: made.id, endsAtProvider: false, label: null }
    assert.deepEqual(made, { ...given, ...own, statusAt: given.createdAt })
    assert.deepEqual(await store().connections.get(user.id, made.id), made)
    assert.deepEqual(await store().connections.find(made.id), made)
  })

  test('a label is the owner’s alone, and outlives a new link of the same consent', async () => {
    const { user, login, connection } = await addLink(store())
    const other = await addUser(store())
    const { connections } = store()
    assert.equal(await connections.setLabel(other.id, connection.id, 'theirs'), false)
    assert.equal(await connections.setLabel(user.id, connection.id, 'Holiday 🌴'), true)
    const { upstreamId } = connection
    const again = await connections.save(newConnection(user.id, login.id, { upstreamId }))
    assert.deepEqual([again.id, again.label], [connection.id, 'Holiday 🌴'])
    assert.equal(await connections.setLabel(user.id, connection.id, null), true)
    assert.equal((await connections.find(connection.id))?.label, null)
  })

  test('R16b: connections are listed newest first, equal times by id descending', async () => {
    const { user, login, connection } = await addLink(store())
    const save = (createdAt: number) =>
      store().connections.save(newConnection(user.id, login.id, { createdAt }))
    const made = [connection]
    for (const createdAt of [now + 1, now - 1, now, now, now]) made.push(await save(createdAt))
    const wanted = made.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
    assert.deepEqual(await store().connections.list(user.id), wanted)
    assert.deepEqual(await store().connections.listByLogin(login.id), wanted)
  })

  test('saving the same link again updates it and keeps its id and its first time', async () => {
    const { user, login, connection } = await addLink(store())
    const other = await addLogin(store(), user.id)
    const again = await store().connections.save({
      ...newConnection(user.id, login.id),
      upstreamId: connection.upstreamId,
      loginId: other.id,
      institutionName: 'Tūī Bank',
      status: 'invalidated',
      createdAt: now + 99,
    })
    assert.deepEqual(again, {
      ...connection,
      loginId: other.id,
      institutionName: 'Tūī Bank',
      status: 'invalidated',
      statusAt: now + 99,
    })
    assert.deepEqual(await store().connections.list(user.id), [again])
  })

  test('the same link saved many times at once is one connection', async () => {
    const user = await addUser(store())
    const login = await addLogin(store(), user.id)
    const given = newConnection(user.id, login.id)
    const made = await Promise.all(Array.from({ length: 8 }, () => store().connections.save(given)))
    assert.equal(new Set(made.map((connection) => connection.id)).size, 1)
  })

  test('our own refresh time only increases, the provider’s is stored as it is, and saving again changes neither', async () => {
    const { connection } = await addLink(store(), { lastRefreshedAt: now })
    const { id, userId, loginId, upstreamId } = connection
    const refreshed = async () => (await store().connections.find(id))?.lastRefreshedAt
    for (const lastRefreshedAt of [now - 1, null, now + 1]) {
      const again = newConnection(userId, loginId, { upstreamId, lastRefreshedAt })
      assert.equal((await store().connections.save(again)).lastRefreshedAt, now)
    }
    await store().connections.setRefreshed(id, now - 1, { isReported: false })
    assert.equal(await refreshed(), now)
    await store().connections.setRefreshed(id, now + 2, { isReported: false })
    assert.equal(await refreshed(), now + 2)
    await store().connections.setRefreshed(id, now - 7, { isReported: true })
    assert.equal(await refreshed(), now - 7)
  })

  test('a first refresh is set where there was none', async () => {
    const { connection } = await addLink(store())
    await store().connections.setRefreshed(connection.id, now, { isReported: false })
    assert.equal((await store().connections.find(connection.id))?.lastRefreshedAt, now)
  })

  test('a connection that is being deleted is shown to operators only', async () => {
    const { user, login, connection } = await addLink(store())
    await replaceAccounts(store(), connection.id, [newAccount()])
    await store().connections.setStatus(connection.id, 'deleting')
    assert.deepEqual(await store().connections.list(user.id), [])
    assert.equal(await store().connections.get(user.id, connection.id), null)
    assert.deepEqual(await store().accounts.list(user.id), [])
    const shown = { ...connection, status: 'deleting' }
    assert.deepEqual(await store().connections.find(connection.id), shown)
    assert.deepEqual(await store().connections.listByLogin(login.id), [shown])
  })

  test('a connection that is being deleted stays so, and a new link to the same place is another', async () => {
    const { user, connection } = await addLink(store())
    const { setStatus } = store().connections
    assert.equal(await setStatus(connection.id, 'invalidated'), true)
    assert.equal(await setStatus(connection.id, 'invalidated'), false)
    assert.equal(await setStatus(connection.id, 'deleting'), true)
    assert.equal(await setStatus(connection.id, 'deleting'), false)
    assert.equal(await setStatus(connection.id, 'active'), false)
    assert.equal(await setStatus(newId<ConnectionId>(), 'active'), false)
    await store().connections.repoint(connection.id, someUpstreamId())
    assert.deepEqual(await store().connections.find(connection.id), {
      ...connection,
      status: 'deleting',
    })
    const { upstreamId, loginId } = connection
    const fresh = await store().connections.save(newConnection(user.id, loginId, { upstreamId }))
    assert.notEqual(fresh.id, connection.id)
    assert.deepEqual(await store().connections.list(user.id), [fresh])
    await store().connections.setStatus(fresh.id, 'deleting')
    assert.equal((await store().connections.listByLogin(loginId)).length, 2)
  })

  test('a deletion keeps that the end at the provider was asked for, which is never taken back', async () => {
    const { connection } = await addLink(store())
    const { startDeletion, find, listByLogin, listDeleting } = store().connections
    const start = (endsAtProvider: boolean) =>
      startDeletion(connection.id, { endsAtProvider, at: now })
    assert.equal(connection.endsAtProvider, false)
    assert.equal(await start(false), true)
    assert.equal(await start(false), false)
    const deleting = { ...connection, status: 'deleting' }
    assert.deepEqual(await find(connection.id), deleting)
    assert.equal(await start(true), true)
    const asked = { ...deleting, endsAtProvider: true }
    assert.deepEqual(await find(connection.id), asked)
    assert.deepEqual(await listByLogin(connection.loginId), [asked])
    const waiting = await listDeleting({ after: null, limit: 1000 })
    assert.deepEqual(
      waiting.filter(({ id }) => id === connection.id),
      [asked],
    )
    assert.deepEqual([await start(true), await start(false)], [false, false])
    assert.deepEqual(await find(connection.id), asked)
    assert.equal(
      await startDeletion(newId<ConnectionId>(), { endsAtProvider: true, at: now }),
      false,
    )
  })

  test('when a deletion began is kept, whatever is learnt or reported of its status later', async () => {
    const { user, login, connection } = await addLink(store())
    const { startDeletion, saveLearntStatus, saveReportedStatus, find, list } = store().connections
    const from = ['active', 'invalidated'] as const
    const news = { from, to: 'revoked', at: now + 9 } as const
    await startDeletion(connection.id, { endsAtProvider: false, at: now + 5 })
    await startDeletion(connection.id, { endsAtProvider: false, at: now + 6 })
    // Later the end at the provider is asked for, too.
    assert.equal(await startDeletion(connection.id, { endsAtProvider: true, at: now + 7 }), true)
    await saveLearntStatus({ login, connectionId: null, ...news })
    assert.equal(await saveReportedStatus({ connectionId: connection.id, ...news }), false)
    assert.equal((await find(connection.id))?.statusAt, now + 5)
    const other = await store().connections.save(newConnection(user.id, login.id))
    await saveLearntStatus({ login, connectionId: other.id, ...news })
    assert.deepEqual(await list(user.id), [{ ...other, status: 'revoked', statusAt: now + 9 }])
  })

  test('a deletion may ask for the end at the provider from the first, and another connection of the login does not', async () => {
    const { user, login, connection } = await addLink(store())
    const other = await store().connections.save(newConnection(user.id, login.id))
    assert.equal(
      await store().connections.startDeletion(connection.id, { endsAtProvider: true, at: now }),
      true,
    )
    const rows = await store().connections.listByLogin(login.id)
    const asked = rows.filter(({ endsAtProvider }) => endsAtProvider)
    assert.deepEqual(
      asked.map(({ id, status }) => [id, status]),
      [[connection.id, 'deleting']],
    )
    assert.deepEqual(await store().connections.list(user.id), [other])
  })

  test('connections of all users that are being deleted are listed by id, page by page', async () => {
    const made = [await addLink(store()), await addLink(store()), await addLink(store())]
    const kept = await addLink(store())
    for (const { connection } of made)
      await store().connections.setStatus(connection.id, 'deleting')
    const all = await store().connections.listDeleting({ after: null, limit: 1000 })
    const ids = all.map(({ id }) => id)
    assert.deepEqual(ids, ids.toSorted())
    assert.ok(all.every(({ status }) => status === 'deleting'))
    assert.ok(made.every(({ connection }) => ids.includes(connection.id)))
    assert.ok(!ids.includes(kept.connection.id))
    const paged: ConnectionId[] = []
    for (let after: ConnectionId | null = null; ; after = paged.at(-1) ?? null) {
      const page = await store().connections.listDeleting({ after, limit: 2 })
      assert.ok(page.length <= 2)
      if (page.length === 0) break
      paged.push(...page.map(({ id }) => id))
    }
    assert.deepEqual(paged, ids)
    for (const id of ids) await store().connections.delete(id)
    assert.deepEqual(await store().connections.listDeleting({ after: null, limit: 2 }), [])
  })

  test('a renewed consent changes the upstream id and keeps ours', async () => {
    const { user, connection } = await addLink(store())
    const upstreamId = someUpstreamId()
    await store().connections.repoint(connection.id, upstreamId)
    const moved = { ...connection, upstreamId }
    assert.deepEqual(await store().connections.list(user.id), [moved])
    const again = newConnection(user.id, connection.loginId, { upstreamId })
    assert.deepEqual(await store().connections.save(again), moved)
  })

  test('the consent that a connection had before is one of its own that is being deleted, and shown to nobody', async () => {
    const { user, connection } = await addLink(store())
    await store().connections.repoint(connection.id, someUpstreamId())
    const [shown] = await store().connections.list(user.id)
    await store().connections.leaveFormer(connection, now + 7)
    assert.deepEqual(await store().connections.list(user.id), [shown])
    const [former, ...others] = await store().connections.listByLogin(connection.loginId)
    assert.deepEqual(others, [shown])
    const { id } = former ?? assert.fail('it is not stored')
    assert.notEqual(id, connection.id)
    const at = { createdAt: now + 7, statusAt: now + 7 }
    assert.deepEqual(former, { ...connection, id, status: 'deleting', ...at })
    const waiting = await store().connections.listDeleting({ after: null, limit: 1000 })
    assert.ok(waiting.some((row) => row.id === id))
  })

  test('the end of a consent is stored, changed and forgotten, but not for a connection that is being deleted', async () => {
    const { connection } = await addLink(store(), { consentExpiresAt: now })
    const { id } = connection
    const read = async () => (await store().connections.find(id))?.consentExpiresAt
    for (const at of [now, now + 1, null, null, now + 2]) {
      await store().connections.setConsentExpiry(id, at)
      assert.equal(await read(), at)
    }
    await store().connections.setStatus(id, 'deleting')
    await store().connections.setConsentExpiry(id, null)
    assert.equal(await read(), now + 2)
  })

  test('consents that end before a time are listed page by page, the earliest first', async () => {
    const first = now - 9 * 365 * 86_400_000
    const add = async (at: number | null, status: 'active' | 'invalidated' | 'revoked') => {
      const { connection } = await addLink(store(), { consentExpiresAt: at, status })
      return connection.id
    }
    const ids = [await add(first + 1, 'invalidated')]
    ids.push(...[await add(first + 2, 'active'), await add(first + 2, 'active')].toSorted())
    await add(first + 3, 'active')
    await add(null, 'active')
    await add(first, 'revoked')
    const leaving = await add(first, 'active')
    await store().connections.setStatus(leaving, 'deleting')
    const { listExpiring } = store().connections
    const seen: ConnectionId[] = []
    for (let after: Parameters<typeof listExpiring>[0]['after'] = null; ; ) {
      const page = await listExpiring({ before: first + 3, after, limit: 1 })
      if (page[0] === undefined) break
      after = page[0]
      seen.push(page[0].id)
    }
    assert.deepEqual(seen, ids)
  })

  test('deleting a connection deletes its accounts and keeps the login', async () => {
    const { user, login, connection } = await addLink(store())
    await replaceAccounts(store(), connection.id, [newAccount()])
    await store().connections.delete(connection.id)
    assert.equal(await store().connections.find(connection.id), null)
    assert.deepEqual(await store().accounts.list(user.id), [])
    assert.deepEqual(await store().logins.get(login.id), login)
    await store().connections.delete(connection.id)
  })

  test('an unknown connection is null, and changing it does nothing', async () => {
    const user = await addUser(store())
    const id = newId<ConnectionId>()
    assert.equal(await store().connections.get(user.id, id), null)
    assert.equal(await store().connections.find(id), null)
    await store().connections.setStatus(id, 'revoked')
    await store().connections.setRefreshed(id, now, { isReported: false })
    await store().connections.repoint(id, someUpstreamId())
    await store().connections.delete(id)
  })
}
