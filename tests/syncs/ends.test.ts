/** Runs that are ended from outside: by their time limit, or because the process stops. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { EmulatorRequest } from '#sandbox/emulator.ts'
import { makeRunSync } from '#syncs/run-sync.ts'
import { startService } from '#tests/support/service.ts'
import { until } from '#tests/support/until.ts'
import { fiskilAgo, idsOf, watchFiskil } from './banks.ts'
import { makeSyncDeps } from './parts.ts'

const isRead = ({ path }: EmulatorRequest) => path.endsWith('/banking/transactions')

/** A bank that answers with rows only after a minute, and a run of it that a test ends. */
async function openSlowBank(t: TestContext) {
  const service = await startService()
  t.after(() => service.close())
  const bank = await watchFiskil(service)
  bank.plant([fiskilAgo(service, 'a', 1)])
  const { clock, sandbox, app } = service
  const deps = makeSyncDeps(t, service)
  const options = { now: clock.now(), leaseMs: 60_000, reason: 'schedule' } as const
  const claim = await app.store.syncs.claim(bank.connectionId, options)
  assert(claim?.kind === 'claimed')
  sandbox.fiskil.addFault({ when: isRead, does: { kind: 'delay', ms: 60_000 } })
  return { service, bank, deps, claimed: claim.sync }
}

test('a run that takes longer than it may fails, keeps nothing and says so', async (t) => {
  const { bank, deps: options, claimed } = await openSlowBank(t)
  const run = makeRunSync(options, 50)
  const end = await run(claimed, { stop: new AbortController().signal })
  assert.ok(end.kind === 'failed' && end.failure.code === 'too_long')
  const last = await bank.watcher.lastRun(bank.connectionId)
  assert.deepEqual([last.state, last.failure?.code], ['failed', 'too_long'])
  assert.deepEqual(await bank.watcher.takeEvents(), [])
})

test('a run of a process that stops is given back: it is no failure, and another process begins it at once', async (t) => {
  const { service, bank, deps: options, claimed } = await openSlowBank(t)
  const { fiskil } = service.sandbox
  const stopping = new AbortController()
  const ending = makeRunSync(options)(claimed, { stop: stopping.signal })
  await until('rows are read', () => fiskil.requests.some(isRead))
  stopping.abort(new Error('this process is stopping'))
  const end = await ending
  assert.ok(end.kind === 'failed' && end.failure.code === 'interrupted')
  const last = await bank.watcher.lastRun(bank.connectionId)
  assert.deepEqual([last.state, last.failure], ['abandoned', null])
  const now = service.clock.now()
  const due = await service.app.store.syncs.claimDue({ now, leaseMs: 60_000, limit: 10 })
  const again = due.find(({ connectionId }) => connectionId === bank.connectionId)
  assert.equal(again?.failures, 0)
  assert.ok(again !== undefined)
  fiskil.clearFaults()
  const done = await makeRunSync(options)(again, { stop: new AbortController().signal })
  assert.equal(done.kind, 'succeeded')
  const events = await bank.watcher.takeEvents()
  assert.deepEqual(
    events.flatMap(({ data }) => idsOf(data.new)),
    ['a'],
  )
})
