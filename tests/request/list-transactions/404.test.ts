/**
 * Connections and accounts that are not there for the caller (contract, Errors; readings R3 step 10, R12).
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
await service.link(user, 'healthy', 'fiskil')
await service.link(user, 'healthy', 'akahu')
const rows = await service.accounts(user)
after(() => service.close())

const unknownId = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'

async function assertNotFound(query: string, code: string): Promise<void> {
  const answer = await service.get(`/v1/transactions?${query}`, user)
  assert.deepEqual([answer.status, codeOf(answer)], [404, code], query)
}

function accountNamed(name: string): AccountRow {
  const row = rows.find((one) => one.name === name)
  assert(row !== undefined)
  return row
}

test('an unknown connection is connection_not_found, whatever the format of the id', async () => {
  for (const id of [unknownId, 'x', '0', '%00', 'null', unknownId.slice(1), `${unknownId}0`]) {
    await assertNotFound(`connectionId=${id}`, 'connection_not_found')
  }
})

test('an account of another connection of the same user is account_not_found', async () => {
  const everyday = accountNamed('Everyday')
  const joint = accountNamed('Joint Account')
  assert.notEqual(everyday.connectionId, joint.connectionId)
  const query = `connectionId=${everyday.connectionId}&accountId=${joint.id}`
  await assertNotFound(query, 'account_not_found')
  await assertNotFound(`connectionId=${everyday.connectionId}&accountId=x`, 'account_not_found')
  const swapped = `connectionId=${everyday.id}&accountId=${everyday.connectionId}`
  await assertNotFound(swapped, 'connection_not_found')
})

test('an account closed at the bank is not found, and has the same id when it is open again', async () => {
  const wallet = accountNamed('Sharesies Wallet')
  const person = service.sandbox.akahu.people.healthy
  const all = person.accounts
  person.accounts = all.filter((one) => one.name !== 'Sharesies Wallet')
  await service.app.connections.refreshConnection(byOperator, wallet.connectionId, {
    priority: 'user',
  })
  const query = `connectionId=${wallet.connectionId}&accountId=${wallet.id}`
  await assertNotFound(query, 'account_not_found')
  person.accounts = all
  await service.app.connections.refreshConnection(byOperator, wallet.connectionId, {
    priority: 'user',
  })
  assert.equal((await service.get(`/v1/transactions?${query}`, user)).status, 200)
})

test('a connection that is being deleted is not found while its consent is still being ended', async () => {
  const joint = accountNamed('Joint Account')
  service.sandbox.fiskil.addFault({
    when: ({ method }) => method === 'DELETE',
    does: { kind: 'reply', reply: { status: 500 } },
  })
  await service.app.connections.removeConnection(byOperator, joint.connectionId)
  const stored = await service.app.store.connections.find(joint.connectionId)
  assert.equal(stored?.status, 'deleting')
  await assertNotFound(`connectionId=${joint.connectionId}`, 'connection_not_found')
  const { body } = await service.get('/v1/connections', user)
  assert(body.data.every((row: { id: string }) => row.id !== joint.connectionId))
  const accounts = await service.get('/v1/accounts?limit=200', user)
  assert(accounts.body.data.every((row: { id: string }) => row.id !== joint.id))
})
