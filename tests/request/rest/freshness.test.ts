/** `include=freshness` on connections and accounts (reading R40). */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { toIso } from '#kernel/time.ts'
import { plantBank } from '#tests/support/bank.ts'
import { startService } from '#tests/support/service.ts'

const service = await startService()
after(() => service.close())

const dayMs = 86_400_000
const succeeded = {
  kind: 'succeeded',
  newCount: 0,
  updatedCount: 0,
  chunks: 0,
  ledgerFrom: null,
} as const
/** Of what is read when somebody asks. */
const askedFor = { readAt: null, nextReadAt: null }

test('R40: with include=freshness each connection tells its kinds of data, and nothing else changes', async () => {
  const user = await service.createUser({ plan: 'professional' })
  await service.link(user, 'healthy')
  const plain = await service.get('/v1/connections', user)
  const fresh = await service.get('/v1/connections?include=freshness', user)
  assert.equal(fresh.status, 200)
  const kinds = {
    banking: ['balances', 'transactions'],
    brokerage: ['holdings', 'trades'],
  } as const
  const bare = fresh.body.data.map(
    ({ freshness, consentExpiresAt, ...row }: Record<string, unknown>) => {
      const own = kinds[row.category as keyof typeof kinds]
      assert.deepEqual(Object.keys(freshness as object), own)
      assert.ok(consentExpiresAt === null || typeof consentExpiresAt === 'string')
      return row
    },
  )
  assert.deepEqual(bare, plain.body.data)
  assert.ok(!plain.text.includes('freshness') && !plain.text.includes('consentExpiresAt'))
})

test('R40: a sync that failed is told with its time, code and sentence, with the next one; one that worked takes it back', async () => {
  const user = await service.createUser()
  const { app, clock } = service
  const consentExpiresAt = clock.now() + 90 * dayMs
  const { connection } = await plantBank(service, user, { consentExpiresAt })
  const run = async (kind: 'succeeded' | 'failed') => {
    clock.advance(61_000)
    const options = { now: clock.now(), leaseMs: 60_000, reason: 'schedule' } as const
    const claimed = await app.store.syncs.claim(connection.id, options)
    assert.ok(claimed?.kind === 'claimed')
    const outcome =
      kind === 'failed'
        ? ({ kind, code: 'unavailable', message: 'the provider did not answer' } as const)
        : ({ ...succeeded, rowsReadAt: clock.now() } as const)
    const endedAt = clock.now()
    const nextDueAt = endedAt + 3_600_000
    await app.store.syncs.finish(claimed.sync.runId, { outcome, endedAt, nextDueAt })
    return endedAt
  }
  const ask = async () => {
    clock.advance(61_000)
    const { body } = await service.get('/v1/connections?include=freshness', user)
    return body.data[0]
  }
  const failedAt = await run('failed')
  const row = await ask()
  assert.equal(row.consentExpiresAt, toIso(consentExpiresAt))
  assert.deepEqual(row.freshness.transactions, {
    asOf: null,
    readAt: null,
    failedAt: toIso(failedAt),
    error: { code: 'unavailable', message: 'the provider did not answer' },
    nextReadAt: toIso(failedAt + 3_600_000),
  })
  assert.equal(row.freshness.balances.nextReadAt, null)
  assert.equal(row.freshness.balances.failedAt, toIso(failedAt))
  const readAt = await run('succeeded')
  const better = await ask()
  assert.deepEqual(better.freshness.transactions, {
    asOf: null,
    readAt: toIso(readAt),
    failedAt: null,
    error: null,
    nextReadAt: toIso(readAt + 3_600_000),
  })
  assert.deepEqual(better.freshness.balances, { ...better.freshness.transactions, ...askedFor })
})

test('R40: a lost consent is told until the connection is active again', async () => {
  const user = await service.createUser()
  const { app, clock } = service
  const { connection } = await plantBank(service, user, { status: 'invalidated' })
  const options = { now: clock.now(), leaseMs: 60_000, reason: 'schedule' } as const
  const claimed = await app.store.syncs.claim(connection.id, options)
  assert.ok(claimed?.kind === 'claimed')
  const lost = { code: 'consent_lost', message: 'consent withdrawn, reconnect' }
  await app.store.syncs.finish(claimed.sync.runId, {
    outcome: { kind: 'failed', ...lost },
    endedAt: clock.now(),
    nextDueAt: clock.now() + 3_600_000,
  })
  const ask = async () => {
    clock.advance(61_000)
    const { body } = await service.get('/v1/connections?include=freshness', user)
    return body.data[0].freshness.transactions.error
  }
  assert.deepEqual(await ask(), lost)
  await app.store.connections.setStatus(connection.id, 'active')
  assert.equal(await ask(), null)
})

test('R40: accounts tell the freshness of their connection', async () => {
  const user = await service.createUser({ plan: 'professional' })
  await service.link(user, 'healthy', 'akahu')
  const { body } = await service.get('/v1/accounts?include=freshness&limit=3', user)
  const connections = await service.get('/v1/connections?include=freshness', user)
  const byId = new Map(connections.body.data.map((row: { id: string }) => [row.id, row]))
  assert.equal(body.data.length, 3)
  for (const account of body.data) {
    const own = byId.get(account.connectionId) as Record<string, unknown>
    assert.deepEqual(account.freshness, own.freshness)
    assert.match(account.freshness.balances.asOf, /^\d{4}-\d\d-\d\dT/)
    assert.equal(account.consentExpiresAt, own.consentExpiresAt)
  }
})
