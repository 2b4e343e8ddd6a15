/**
 * When a connection was refreshed last: what the provider says, our own reads where it says nothing, else
 * null.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { byOperator } from '#contract/actor.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { linkBroker } from '#tests/support/broker.ts'
import { type ServiceUser, startService } from '#tests/support/service.ts'

const service = await startService()
after(() => service.close())

/** Not the answer that is kept for a minute, but what it would be made of. */
const refreshedAt = async ({ id }: ConnectionRow) => {
  const at = (await service.app.store.connections.find(id))?.lastRefreshedAt ?? null
  return at === null ? null : new Date(at).toISOString()
}

/** Times are written in the background. */
async function becomes(row: ConnectionRow, wanted: string): Promise<void> {
  for (let look = 0; look < 200 && (await refreshedAt(row)) !== wanted; look += 1) await sleep(10)
  assert.equal(await refreshedAt(row), wanted)
}

const now = () => new Date(service.clock.now()).toISOString()
const refresh = ({ id }: ConnectionRow) =>
  service.app.connections.refreshConnection(byOperator, id, { priority: 'user' })

async function shown(user: ServiceUser, row: ConnectionRow): Promise<string | null> {
  const { body } = await service.get('/v1/connections', user)
  return body.data.find(({ id }: { id: string }) => id === row.id).lastRefreshedAt
}

test('Akahu: null while it reports no time, then its time, even an earlier one, and never our own', async () => {
  const user = await service.createUser()
  const { akahu } = service.sandbox
  const reported = (at: string | null) =>
    akahu.addFault({
      when: ({ path }) => path.endsWith('/accounts'),
      does: {
        kind: 'edit',
        edit: (reply) => {
          const body = reply.body as { readonly items?: readonly object[] }
          const refreshed = at === null ? {} : { balance: at }
          const items = body.items?.map((item) => ({ ...item, refreshed }))
          return { ...reply, body: { ...body, items } }
        },
      },
    })
  reported(null)
  const [row] = await service.link(user, 'healthy', 'akahu')
  assert(row !== undefined)
  assert.equal(await shown(user, row), null)
  await refresh(row)
  assert.equal(await refreshedAt(row), null)
  for (const at of ['2026-11-20T10:00:00.000Z', '2026-11-18T11:00:00.000Z']) {
    akahu.clearFaults()
    reported(at)
    await refresh(row)
    assert.equal(await refreshedAt(row), at)
  }
  akahu.clearFaults()
  reported(null)
  service.clock.advance(3_600_000)
  const account = (await service.accounts(user)).find((one) => one.connectionId === row.id)
  await service.get(`/v1/balances?accountIds=${account?.id}`, user)
  await service.get(`/v1/transactions?connectionId=${row.id}`, user)
  await refresh(row)
  assert.equal(await refreshedAt(row), '2026-11-18T11:00:00.000Z')
  akahu.clearFaults()
  reported('2026-11-20T12:00:00.000Z')
  await service.get(`/v1/balances?accountIds=${account?.id}&n=2`, user)
  await becomes(row, '2026-11-20T12:00:00.000Z')
  akahu.clearFaults()
})

test('SnapTrade: null while no account was synced, then its newest sync', async () => {
  const user = await service.createUser()
  const broker = await linkBroker(service, user, [{ holdingsSyncedAt: null }])
  assert.equal(await shown(user, broker.connection), null)
  await service.get(`/v1/holdings?connectionId=${broker.connection.id}`, user)
  await refresh(broker.connection)
  assert.equal(await refreshedAt(broker.connection), null)
  const [account] = broker.upstream
  assert(account !== undefined)
  account.holdingsSyncedAt = '2026-11-19 18:42:46.561408+00:00'
  await refresh(broker.connection)
  assert.equal(await refreshedAt(broker.connection), '2026-11-19T18:42:46.561Z')
})

test('Fiskil reports no time: our links, refreshes and reads count, at most once a minute', async () => {
  const user = await service.createUser()
  const [row] = await service.link(user, 'healthy', 'fiskil')
  assert(row !== undefined)
  assert.equal(await shown(user, row), now())
  const account = (await service.accounts(user)).find((one) => one.connectionId === row.id)
  const reads = [
    `/v1/balances?accountIds=${account?.id}`,
    `/v1/transactions?connectionId=${row.id}&accountId=${account?.id}`,
    `/v1/transactions?connectionId=${row.id}&from=2020-01-01&to=2020-01-02`,
  ]
  for (const path of reads) {
    service.clock.advance(600_000)
    await service.get(path, user)
    await becomes(row, now())
  }
  const last = now()
  service.clock.advance(30_000)
  await service.get(`${reads[0]}&n=2`, user)
  await sleep(50)
  assert.equal(await refreshedAt(row), last)
  service.clock.advance(30_000)
  await service.get(`${reads[0]}&n=3`, user)
  await becomes(row, now())
  assert.notEqual(now(), last)
})

test('Fiskil: a read that failed or found a lost consent is not a refresh', async () => {
  const user = await service.createUser()
  const [row] = await service.link(user, 'healthy', 'fiskil')
  assert(row !== undefined)
  const linkedAt = await refreshedAt(row)
  const account = (await service.accounts(user)).find((one) => one.connectionId === row.id)
  const { fiskil } = service.sandbox
  service.clock.advance(600_000)
  fiskil.addFault({ does: { kind: 'reply', reply: { status: 500, body: {} } } })
  await service.get(`/v1/balances?accountIds=${account?.id}`, user)
  fiskil.clearFaults()
  fiskil.faultControls.consent.expire('healthy')
  await service.get(`/v1/balances?accountIds=${account?.id}&n=2`, user)
  await service.get(`/v1/transactions?connectionId=${row.id}`, user)
  assert.equal((await refresh(row)).status, 'invalidated')
  await sleep(50)
  assert.equal(await refreshedAt(row), linkedAt)
  fiskil.faultControls.consent.renew('healthy')
})

test('R10: a refresh of ours leaves every cached answer alone, the list of connections for its minute too', async () => {
  const user = await service.createUser()
  const [row] = await service.link(user, 'healthy', 'fiskil')
  assert(row !== undefined)
  service.clock.advance(600_000)
  const before = await shown(user, row)
  const account = (await service.accounts(user)).find((one) => one.connectionId === row.id)
  await service.get(`/v1/balances?accountIds=${account?.id}`, user)
  await becomes(row, now())
  const again = await service.get('/v1/connections', user)
  assert.equal(again.headers['x-cache'], 'HIT')
  service.clock.advance(60_000)
  assert.notEqual(await shown(user, row), before)
})
