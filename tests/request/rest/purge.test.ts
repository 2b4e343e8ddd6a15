/**
 * What invalidates cached answers (reading R10): each kind of change, also while an answer is being computed.
 */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { type Answer, type ServiceUser, startService } from '#tests/support/service.ts'
import { until } from '#tests/support/until.ts'

const service = await startService()
afterEach(() => {
  service.sandbox.fiskil.clearFaults()
  for (const person of Object.values(service.sandbox.fiskil.people)) {
    for (const consent of person.consents) consent.active = true
  }
})
after(() => service.close())

interface Linked {
  readonly user: ServiceUser
  readonly connection: ConnectionRow
  readonly account: AccountRow
  /** Every cached reading of this connection. */
  readonly paths: readonly string[]
}

/** A user of their own, linked to the healthy person's banks. */
async function link(): Promise<Linked> {
  const user = await service.createUser()
  await service.link(user, 'healthy', 'fiskil')
  const account = (await service.accounts(user)).find((row) => row.name === 'Everyday')
  assert(account !== undefined)
  const connection = await service.app.store.connections.find(account.connectionId)
  assert(connection !== null)
  const paths = [
    '/v1/connections',
    '/v1/accounts',
    `/v1/balances?accountIds=${account.id}`,
    `/v1/transactions?connectionId=${connection.id}&accountId=${account.id}`,
  ]
  return { user, connection, account, paths }
}

const cacheOf = (answer: Answer) => answer.headers['x-cache']

async function warm({ user, paths }: Linked): Promise<void> {
  for (const path of paths) {
    await service.get(path, user)
    assert.equal(cacheOf(await service.get(path, user)), 'HIT', path)
  }
}

async function assertPurged({ user, paths }: Linked): Promise<void> {
  for (const path of paths) assert.equal(cacheOf(await service.get(path, user)), 'MISS', path)
}

for (const status of ['invalidated', 'pending_mfa', 'revoked'] as const) {
  test(`R10: a connection that becomes ${status} purges what was cached`, async () => {
    const linked = await link()
    await warm(linked)
    await service.app.store.connections.setStatus(linked.connection.id, status)
    await assertPurged(linked)
    // Rows that came meanwhile have made it active again, unless it was withdrawn (reading R20b).
    await service.app.store.connections.setStatus(linked.connection.id, status)
    await service.app.store.connections.setStatus(linked.connection.id, 'active')
    await assertPurged(linked)
  })
}

test('R10: a change of timezone purges, and the dates are seen in the new zone', async () => {
  const linked = await link()
  await warm(linked)
  const before = await service.get(linked.paths[3] ?? '', linked.user)
  await service.app.store.users.setTimezone(linked.user.id, 'America/Los_Angeles')
  await assertPurged(linked)
  const after = await service.get(linked.paths[3] ?? '', linked.user)
  const shifted = after.body.data.filter((row: { id: string; date: string }) =>
    before.body.data.some(
      (old: { id: string; date: string }) => old.id === row.id && old.date !== row.date,
    ),
  )
  assert(shifted.length > 0)
})

test('R10: a removed connection is in no list, and its cached answers are not used', async () => {
  const linked = await link()
  await warm(linked)
  await service.app.connections.removeConnection(byOperator, linked.connection.id)
  const [connections, accounts, balances, transactions] = await Promise.all(
    linked.paths.map((path) => service.get(path, linked.user)),
  )
  assert.equal(connections?.body.data.length, 1)
  assert.equal(accounts?.body.pagination.total, 2)
  assert.equal(balances?.status, 404)
  assert.equal(transactions?.status, 404)
})

test('R10: linking another institution, and linking the same anew, purges', async () => {
  const linked = await link()
  await warm(linked)
  await service.link(linked.user, 'history', 'fiskil')
  await assertPurged(linked)
  assert.equal((await service.get('/v1/connections', linked.user)).body.data.length, 3)
  await service.app.store.connections.setStatus(linked.connection.id, 'invalidated')
  await service.get('/v1/connections', linked.user)
  await service.link(linked.user, 'healthy', 'fiskil')
  const { body } = await service.get('/v1/connections', linked.user)
  assert(body.data.every((row: { status: string }) => row.status === 'active'))
})

test("R10: one user's change leaves another's answers warm", async () => {
  const linked = await link()
  const other = await link()
  await warm(other)
  await service.app.store.connections.setStatus(linked.connection.id, 'invalidated')
  for (const path of other.paths) {
    assert.equal(cacheOf(await service.get(path, other.user)), 'HIT', path)
  }
})

const changes: Readonly<Record<string, (linked: Linked) => Promise<unknown>>> = {
  'a new status': ({ connection }) =>
    service.app.store.connections.setStatus(connection.id, 'pending_mfa'),
  'a new timezone': ({ user }) => service.app.store.users.setTimezone(user.id, 'Pacific/Auckland'),
  'another link': ({ user }) => service.link(user, 'history', 'fiskil'),
}
for (const [name, change] of Object.entries(changes)) {
  test(`R10: an answer whose computation began before ${name} is not stored`, async () => {
    const linked = await link()
    const path = linked.paths[3] ?? ''
    const { fiskil } = service.sandbox
    fiskil.addFault({
      when: (request) => request.path === '/v1/banking/transactions',
      times: 1,
      does: { kind: 'delay', ms: 200 },
    })
    const asked = fiskil.requests.length
    const slow = service.get(path, linked.user)
    await until('the bank is asked', () => fiskil.requests.length > asked, 1)
    await change(linked)
    const meanwhile = await service.get(path, linked.user)
    assert.equal(cacheOf(meanwhile), 'MISS', 'it does not join the older computation either')
    const answer = await slow
    assert.equal(answer.status, 200)
    const next = await service.get(path, linked.user)
    assert.equal(next.text, meanwhile.text)
  })
}

test('R20, R10: a consent that is lost during a read purges before the next request', async () => {
  const linked = await link()
  await warm(linked)
  const [consent] = service.sandbox.fiskil.people.healthy.consents
  assert(consent !== undefined)
  consent.active = false
  consent.terminationReason = 'Expired or Revoked'
  const path = `${linked.paths[3]}&to=2026-11-20`
  const lost = await service.get(path, linked.user)
  assert.equal(lost.status, 400)
  assert.equal(lost.body.error.code, 'upstream_bad_request')
  const { body } = await service.get('/v1/connections', linked.user)
  const row = body.data.find((one: { id: string }) => one.id === linked.connection.id)
  assert.notEqual(row.status, 'active')
})
