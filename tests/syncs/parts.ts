/** What a room of syncs of a test's own needs: the store of a running service, adapters of the room's own. */
import type { TestContext } from 'node:test'
import { makeAdapters } from '#providers/adapters.ts'
import { makeGuard } from '#providers/guard.ts'
import type { SyncOptions } from '#syncs/options.ts'
import { makeMetrics } from '#telemetry/metrics.ts'
import { openReadings } from '#tests/support/readings.ts'
import type { Service } from '#tests/support/service.ts'
import { makeEvents } from '#webhooks/envelope.ts'

/** They are closed when the test ends. Connections are not refreshed. */
export function makeSyncDeps(t: TestContext, { app, clock, sandbox }: Service): SyncOptions {
  const metrics = makeMetrics()
  t.after(() => metrics.close())
  const adapters = makeAdapters({
    access: sandbox.access,
    timeoutMs: 60_000,
    clock,
    report: metrics,
    budget: () => async () => ({ allowed: true }),
    readings: openReadings(clock),
  })
  t.after(async () => {
    await Promise.all(Object.values(adapters).map((adapter) => adapter.close()))
  })
  const guard = makeGuard({
    breakers: app.kv.breakers,
    onConsentLost: async () => {},
    onBreakerOpen: () => {},
  })
  return {
    store: app.store,
    adapters,
    guard,
    clock,
    random: () => 0.5,
    intervalMinutes: 60,
    defaultTimezone: 'Australia/Sydney',
    refresh: async () => {},
    makeEvents,
    report: { ...metrics.syncs, around: (work) => work() },
    pendingSecret: new Uint8Array(32),
    jobs: { done: () => {}, failed: () => {} },
  }
}
