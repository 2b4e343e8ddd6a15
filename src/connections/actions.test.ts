/**
 * What the actions on connections guarantee before a provider is called: no access for others, no change
 * without audit.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type By, byOperator } from '#contract/actor.ts'
import { makeMemoryWindows } from '#fast/memory-windows.ts'
import { newId, type SessionId, type UserId } from '#kernel/ids.ts'
import type { Store } from '#store/ports/store.ts'
import { openSqliteStore } from '#tests/contract/store/place.ts'
import { addLink, newConnection, now } from '#tests/contract/store/rows.ts'
import { makeConnections } from './connections.ts'

function connectionsOn(store: Store) {
  const report = {
    deletion: () => undefined,
    linking: () => undefined,
    failedLate: () => assert.fail('nothing is late here'),
    notListening: () => assert.fail('nothing is linked here'),
  }
  return makeConnections({
    store,
    adapters: {},
    clock: { now: () => now },
    windows: makeMemoryWindows({ now: () => now }),
    timeoutMs: 1000,
    report,
  })
}

test('for a person other users’ connections and accounts do not exist', async (t) => {
  const store = await openSqliteStore(t)
  const { user, connection } = await addLink(store)
  const [userId, id] = [user.id, connection.id]
  const connections = connectionsOn(store)
  const stranger: By = {
    actor: { kind: 'person', userId: newId<UserId>(), sessionId: newId<SessionId>() },
  }
  const akahu = { provider: 'akahu', userToken: 'user_token' }
  await assert.rejects(connections.linkConnections(stranger, userId, akahu), {
    entry: 'user_not_found',
  })
  const notFound = { entry: 'connection_not_found' }
  await assert.rejects(connections.refreshConnection(stranger, id, { priority: 'user' }), notFound)
  await assert.rejects(connections.removeConnection(stranger, id), notFound)
  assert.equal(await connections.deleteUser(stranger, userId), false)
  assert.equal((await store.connections.find(id))?.status, 'active')
  assert.deepEqual(await store.auditLog.list({ userId, after: null, limit: 10 }), [])
})

test('no removal and no deletion begins where its audit row cannot be written', async (t) => {
  const store = await openSqliteStore(t)
  const { user, connection } = await addLink(store)
  const [userId, id] = [user.id, connection.id]
  const audit = async () => assert.fail('the audit is full')
  const connections = connectionsOn({
    ...store,
    transact: (work) => store.transact((tx) => work({ ...tx, audit })),
  })
  await assert.rejects(connections.removeConnection(byOperator, id), /audit is full/)
  await assert.rejects(connections.deleteUser(byOperator, userId), /audit is full/)
  assert.equal((await store.connections.find(id))?.status, 'active')
  assert.notEqual(await store.users.find(userId), null)
})

test('removing a connection again while its provider is unavailable writes no second audit row', async (t) => {
  const store = await openSqliteStore(t)
  const { user, connection } = await addLink(store)
  const connections = connectionsOn(store)
  await connections.removeConnection(byOperator, connection.id)
  await connections.removeConnection(byOperator, connection.id)
  assert.equal((await store.connections.find(connection.id))?.status, 'deleting')
  const rows = await store.auditLog.list({ userId: user.id, after: null, limit: 10 })
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['connections.remove'],
  )
})

test('R20b: a challenge marks the connections of a person, except those whose consent was revoked', async (t) => {
  const store = await openSqliteStore(t)
  const { user, login, connection } = await addLink(store)
  const revoked = await store.connections.save(
    newConnection(user.id, login.id, { status: 'revoked' }),
  )
  await connectionsOn(store).noteChange(byOperator, {
    action: 'sandbox.login.challenge',
    details: { person: 'everyday', providers: ['fiskil'] },
    outdated: [user.id],
    challenged: [connection.id, revoked.id],
  })
  assert.equal((await store.connections.find(connection.id))?.status, 'pending_mfa')
  assert.equal((await store.connections.find(revoked.id))?.status, 'revoked')
})

test('a change at a provider is recorded under a known name and with ids, or refused', async (t) => {
  const store = await openSqliteStore(t)
  const { noteChange } = connectionsOn(store)
  const details = { person: 'everyday', providers: ['fiskil', 'akahu'], ms: 4 }
  const change = { action: 'sandbox.reset', details, outdated: [], challenged: [] }
  const wrongs = [{ action: 'users.create' }, { outdated: ['x'] }, { details: { x: 'a\nb' } }]
  for (const wrong of wrongs) {
    const refused = noteChange(byOperator, { ...change, ...wrong })
    await assert.rejects(refused, { entry: 'invalid_params' })
  }
  await noteChange(byOperator, change)
  const rows = await store.auditLog.list({ userId: null, after: null, limit: 10 })
  assert.deepEqual(
    rows.map(({ action, subject }) => [action, subject]),
    [['sandbox.reset', 'everyday fiskil akahu 4']],
  )
})
