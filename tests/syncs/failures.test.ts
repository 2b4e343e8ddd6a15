/** Syncs that fail: they announce nothing, say why, and lose no row. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { EmulatorReply, EmulatorRequest } from '#sandbox/emulator.ts'
import type { SyncOutcome } from '#store/ports/syncs.ts'
import { startService } from '#tests/support/service.ts'
import { until } from '#tests/support/until.ts'
import { fiskilAgo, idsOf, watchFiskil } from './banks.ts'

const isPage = ({ path }: EmulatorRequest) => path.endsWith('/banking/transactions')
const isLaterPage = (request: EmulatorRequest) =>
  isPage(request) && request.query.has('page[after]')

/** A bank with 2,500 rows: three pages. */
async function openBank(t: TestContext) {
  const service = await startService()
  t.after(() => service.close())
  const bank = await watchFiskil(service)
  const rows = Array.from({ length: 2_500 }, (_, index) =>
    fiskilAgo(service, `row ${index}`, 1 + index / 1000),
  )
  bank.plant(rows)
  const { fiskil } = service.sandbox
  const failure = async () => (await bank.watcher.lastRun(bank.connectionId)).failure
  const status = async () => (await service.app.store.connections.find(bank.connectionId))?.status
  return { service, bank, fiskil, failure, status }
}

async function assertAllAnnounced(bank: Awaited<ReturnType<typeof openBank>>['bank']) {
  const { answer, new: found } = await bank.sync()
  assert.equal(answer.newCount, 2_500)
  assert.equal(new Set(idsOf(found)).size, 2_500)
}

test('a provider that fails on a later page fails the run; nothing is kept, and the next run announces all rows', async (t) => {
  const { bank, fiskil, failure } = await openBank(t)
  for (const does of [
    { kind: 'reply', reply: { status: 500, body: { name: 'internal', message: 'no' } } },
    { kind: 'truncate', afterBytes: 40_000 },
    { kind: 'reset' },
  ] as const) {
    fiskil.addFault({ when: isLaterPage, does })
    await assert.rejects(bank.sync(), { entry: 'provider_unavailable' }, does.kind)
    assert.deepEqual(await bank.watcher.takeEvents(), [])
    assert.equal((await failure())?.code, 'unavailable')
    fiskil.clearFaults()
  }
  await assertAllAnnounced(bank)
})

test('R23: an unreadable row fails the run, and the owner gets the reason without any part of the row', async (t) => {
  const { service, bank, failure } = await openBank(t)
  bank.plant([
    fiskilAgo(service, 'good', 1),
    fiskilAgo(service, 'bad', 80, { amount: '13,37', description: 'canary of the row' }),
  ])
  await assert.rejects(bank.sync(), { entry: 'provider_unavailable' })
  assert.deepEqual(await bank.watcher.takeEvents(), [])
  const said = await failure()
  assert.equal(said?.code, 'unreadable')
  assert.match(said?.message ?? '', /^The provider sent data that cannot be read: /)
  assert.doesNotMatch(said?.message ?? '', /13,37|canary/)
  assert.equal(service.logLines.join('').includes('canary of the row'), false)
  bank.plant([fiskilAgo(service, 'good', 1), fiskilAgo(service, 'bad', 80)])
  assert.deepEqual(idsOf((await bank.sync()).new), ['good', 'bad'])
})

test('R23: a sync reads what REST does not show: a detail that is no text fails it', async (t) => {
  const { service, bank, failure } = await openBank(t)
  bank.plant([fiskilAgo(service, 'odd', 1, { reference: 7 })])
  await assert.rejects(bank.sync(), { entry: 'provider_unavailable' })
  assert.equal((await failure())?.code, 'unreadable')
})

/** The consent ends before a later page is answered. */
function endConsent(
  { fiskil, service }: Awaited<ReturnType<typeof openBank>>,
  edit: (reply: EmulatorReply) => EmulatorReply,
): void {
  fiskil.addFault({
    when: isLaterPage,
    does: {
      kind: 'edit',
      edit(reply) {
        for (const consent of service.sandbox.fiskil.people.healthy.consents) consent.active = false
        return edit(reply)
      },
    },
  })
}

test('R20b: a consent that is lost during a run fails it, nothing of the run is stored, and the status is', async (t) => {
  const opened = await openBank(t)
  const { bank, failure, status, fiskil, service } = opened
  endConsent(opened, () => ({ status: 200, body: { transactions: [], links: {} } }))
  await assert.rejects(bank.sync(), { entry: 'upstream_bad_request' })
  assert.deepEqual(await bank.watcher.takeEvents(), [])
  const said = await failure()
  assert.deepEqual([said?.code, said?.message], ['consent_lost', 'consent withdrawn, reconnect'])
  assert.equal(await status(), 'revoked')
  fiskil.clearFaults()
  for (const consent of service.sandbox.fiskil.people.healthy.consents) consent.active = true
  await assertAllAnnounced(bank)
})

test('R20b: no rows are asked for where the consent is withdrawn', async (t) => {
  const { service, bank, fiskil, failure } = await openBank(t)
  for (const consent of service.sandbox.fiskil.people.healthy.consents) consent.active = false
  await assert.rejects(bank.sync(), { entry: 'upstream_bad_request' })
  assert.equal((await failure())?.code, 'consent_lost')
  assert.equal(fiskil.requests.filter(isPage).length, 0)
})

test('a sync that was requested once has one audit row, with its actor', async (t) => {
  const { service, bank, fiskil } = await openBank(t)
  await bank.sync()
  fiskil.addFault({ when: isPage, does: { kind: 'reset' } })
  await assert.rejects(bank.sync())
  const page = { userId: bank.user.id, after: null, limit: 50 }
  const rows = await service.app.store.auditLog.list(page)
  const syncs = rows.filter(({ action }) => action === 'connections.sync')
  assert.deepEqual(
    syncs.map(({ actor, subject }) => [actor, subject]),
    [
      ['admin', bank.connectionId],
      ['admin', bank.connectionId],
    ],
  )
})

test('a user cannot sync another user’s connection: it does not exist for them', async (t) => {
  const { service, bank } = await openBank(t)
  const stranger = await service.createUser()
  const sessionId = crypto.randomUUID() as never
  const by = { actor: { kind: 'person', userId: stranger.id, sessionId } } as const
  await assert.rejects(service.app.syncs.runSync(by, bank.connectionId), {
    entry: 'connection_not_found',
  })
})

test('a run whose lease was lost keeps nothing: another process has the connection by then', async (t) => {
  const { service, bank, fiskil } = await openBank(t)
  const { store } = service.app
  const hour = 3_600_000
  const claimed: ReturnType<typeof store.syncs.claimDue>[] = []
  fiskil.addFault({
    times: 1,
    when: isLaterPage,
    does: {
      kind: 'edit',
      edit(reply) {
        service.clock.advance(hour)
        const now = service.clock.now()
        claimed.push(store.syncs.claimDue({ now, leaseMs: hour, limit: 10 }))
        return reply
      },
    },
  })
  await assert.rejects(bank.sync(), { entry: 'service_unavailable' })
  const [others = []] = await Promise.all(claimed)
  assert.ok(others.some(({ connectionId }) => connectionId === bank.connectionId))
  assert.deepEqual(await bank.watcher.takeEvents(), [])
  assert.match(await service.metrics.text(), /syncs_total\{provider="fiskil",result="lost"\} 1/)
  service.clock.advance(2 * hour)
  await assertAllAnnounced(bank)
})

/** A run of another process, as the store sees it; `asked` resolves when an operator waits for it. */
async function beginElsewhere({ service, bank }: Awaited<ReturnType<typeof openBank>>) {
  const { store } = service.app
  const now = service.clock.now()
  const options = { now, leaseMs: 60_000, reason: 'schedule' } as const
  const claim = await store.syncs.claim(bank.connectionId, options)
  assert(claim?.kind === 'claimed')
  const { runId } = claim.sync
  return {
    runId,
    async asked() {
      const page = { userId: bank.user.id, after: null, limit: 50 }
      const isAsked = async () =>
        (await store.auditLog.list(page)).some(({ action }) => action === 'connections.sync')
      await until('an operator waits for it', isAsked)
    },
    end: (outcome: SyncOutcome) =>
      store.syncs.finish(runId, { outcome, endedAt: now, nextDueAt: now + 60_000 }),
  }
}

const succeeded = {
  kind: 'succeeded',
  newCount: 7,
  updatedCount: 2,
  rowsReadAt: null,
  ledgerFrom: null,
} as const

test('a sync that is under way elsewhere is waited for, and its result is the answer', async (t) => {
  const opened = await openBank(t)
  const { runId, asked, end } = await beginElsewhere(opened)
  const answer = opened.bank.sync()
  await asked()
  await end({ ...succeeded, chunks: 3 })
  const counts = { newCount: 7, updatedCount: 2, chunks: 3 }
  assert.deepEqual((await answer).answer, { syncRunId: runId, ...counts })
})

test('when a sync in another process read no rows or was abandoned, this process runs one', async (t) => {
  for (const outcome of [{ ...succeeded, chunks: 0 }, { kind: 'abandoned' }] as const) {
    const opened = await openBank(t)
    const { runId, asked, end } = await beginElsewhere(opened)
    const answering = opened.bank.sync()
    await asked()
    await end(outcome)
    const { answer } = await answering
    assert.notEqual(answer.syncRunId, runId)
    assert.equal(answer.newCount, 2_500)
  }
})

test('a sync that failed in another process fails for the waiting caller with the same message', async (t) => {
  const opened = await openBank(t)
  const { asked, end } = await beginElsewhere(opened)
  const waiting = assert.rejects(opened.bank.sync(), {
    entry: 'upstream_bad_request',
    message: 'The sync failed: consent withdrawn, reconnect',
  })
  await asked()
  await end({ kind: 'failed', code: 'consent_lost', message: 'consent withdrawn, reconnect' })
  await waiting
})

test('a ledger that ends while rows are read is not written to: the run is begun again', async (t) => {
  const { service, bank, fiskil, failure } = await openBank(t)
  const { ledgers } = service.app.store
  let ended: Promise<void> | null = null
  fiskil.addFault({
    times: 1,
    when: isLaterPage,
    does: {
      kind: 'edit',
      edit(reply) {
        ended = ledgers.end(bank.user.id).then(() => ledgers.begin(bank.user.id))
        return reply
      },
    },
  })
  await assert.rejects(bank.sync(), { entry: 'service_unavailable' })
  await ended
  assert.equal((await failure())?.code, 'interrupted')
  assert.equal((await ledgers.measure()).months, 0)
  await assertAllAnnounced(bank)
})
