/**
 * The contract of the port for the status of consents, learnt with one login's credentials (readings R20,
 * R20b).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectionStatus } from '#contract/resources.ts'
import { type LoginId, newId } from '#kernel/ids.ts'
import type { StoreOf } from './place.ts'
import { raceRelink } from './races.ts'
import { addKey, addLink, epochOf, newAccount, newConnection, replaceAccounts } from './rows.ts'

const all: readonly ConnectionStatus[] = ['active', 'invalidated', 'pending_mfa', 'revoked']

export function testLearntStatus(store: StoreOf): void {
  test('R20b: a status of one connection changes it alone, one of the login all of them, each from its states', async () => {
    const { user, login, connection } = await addLink(store())
    const other = await store().connections.save(newConnection(user.id, login.id))
    const statuses = async () => [
      (await store().connections.find(connection.id))?.status,
      (await store().connections.find(other.id))?.status,
    ]
    const { connections } = store()
    await connections.saveLearntStatus({
      login,
      connectionId: connection.id,
      from: all,
      to: 'revoked',
    })
    assert.deepEqual(await statuses(), ['revoked', 'active'])
    const from = ['active', 'pending_mfa'] as const
    await connections.saveLearntStatus({ login, connectionId: null, from, to: 'invalidated' })
    assert.deepEqual(await statuses(), ['revoked', 'invalidated'])
    await connections.setStatus(connection.id, 'deleting')
    await connections.saveLearntStatus({ login, connectionId: null, from: all, to: 'active' })
    assert.deepEqual(await statuses(), ['deleting', 'active'])
  })

  test('R10: a changed status makes the epoch grow once, an unchanged one leaves it alone', async () => {
    const { user, login, connection } = await addLink(store())
    await store().connections.save(newConnection(user.id, login.id))
    const { hash } = await addKey(store(), user.id)
    const from = await epochOf(store(), hash)
    const learnt = { login, connectionId: null, from: all, to: 'invalidated' } as const
    await store().connections.saveLearntStatus(learnt)
    await store().connections.saveLearntStatus(learnt)
    await store().connections.saveLearntStatus({ ...learnt, connectionId: connection.id, from: [] })
    assert.equal(await epochOf(store(), hash), from + 1)
  })

  test('R20b: a status from credentials that were replaced meanwhile changes nothing, though the new ones are equal', async () => {
    const { login, connection } = await addLink(store())
    await store().logins.save(login)
    for (const to of ['invalidated', 'revoked', 'pending_mfa'] as const) {
      for (const connectionId of [null, connection.id]) {
        await store().connections.saveLearntStatus({ login, connectionId, from: all, to })
      }
    }
    await store().connections.saveLearntStatus({
      login: { id: newId<LoginId>(), version: 1 },
      connectionId: connection.id,
      from: all,
      to: 'revoked',
    })
    assert.equal((await store().connections.find(connection.id))?.status, 'active')
  })

  test('R20b: a loss under the old credentials never outlives a relink at the same moment', async () => {
    for (let round = 0; round < 20; round += 1) await raceRelink(store(), store())
  })

  test('fields of an account that the provider did not send stay, also when it was hidden or has moved', async () => {
    const { user, connection } = await addLink(store())
    const known = newAccount({ name: 'Travel', type: 'savings', currency: 'USD' })
    const replace = (...accounts: Parameters<typeof newAccount>[0][]) =>
      replaceAccounts(store(), connection.id, accounts.map(newAccount))
    await replace(known)
    const silent = {
      ...known,
      name: 'Account',
      type: 'other',
      accountNumber: null,
      currency: 'AUD',
      assumed: ['name', 'type', 'accountNumber', 'currency'],
    } as const
    const shown = async () => {
      const rows = await store().accounts.listByConnection(user.id, connection.id)
      return rows.map((row) => [row.name, row.type, row.accountNumber, row.currency])
    }
    const asKnown = [['Travel', 'savings', 'xxxx1234', 'USD']]
    await replace(silent)
    assert.deepEqual(await shown(), asKnown)
    await replace()
    await replace(silent)
    assert.deepEqual(await shown(), asKnown)
    const { upstreamId } = newAccount()
    await replace({ ...silent, upstreamId, previousUpstreamId: known.upstreamId })
    assert.deepEqual(await shown(), asKnown)
    await replace({ ...silent, upstreamId, assumed: ['name'] })
    assert.deepEqual(await shown(), [['Travel', 'other', null, 'AUD']])
  })

  test('a new account begins with what was assumed of it', async () => {
    const { connection } = await addLink(store())
    const given = newAccount({ currency: 'AUD', assumed: ['currency'] })
    const [row] = await replaceAccounts(store(), connection.id, [given])
    assert.equal(row?.currency, 'AUD')
  })
}
