/**
 * The composition root: it assembles the parts that the files beside it open, in the order of their
 * dependencies, and closes them in reverse. It contains no rule of its own. `ROLE` names the parts of a
 * process: `api` has the public listener, `worker` the background work, `all` both; each has the admin
 * listener.
 */
import type { UserActions } from '#auth/actions.ts'
import type { Connections } from '#connections/connections.ts'
import type { Origins } from '#contract/origins.ts'
import { readConnectionLimits } from '#doors/listener/connection-limits.ts'
import { listenerTimes, makeListener } from '#doors/listener/listener.ts'
import type { Kv } from '#fast/port.ts'
import { startPeriodic } from '#jobs/periodic.ts'
import { toLocalUrl } from '#settings/listener.ts'
import { toOrigins } from '#src/config.ts'
import type { Store } from '#store/ports/store.ts'
import type { Syncs } from '#syncs/syncs.ts'
import type { Backlog } from '#telemetry/backlog-metrics.ts'
import { assembleAdmin } from './admin.ts'
import { startBackground } from './background.ts'
import { openFoundation } from './foundation.ts'
import type { AppOptions } from './options.ts'
import { openServing } from './serving.ts'
import { makeAppSyncs } from './syncs.ts'

/** After this long, requests in flight are aborted (docs/operations/scale.md, Stopping). */
const drainMs = 25_000
/** Syncs in progress have this long to end; then they are aborted, and are due again at once. */
const syncGraceMs = 15_000
/** Minimum for the admin listener when the public one has used up the whole time. */
const adminDrainMs = 1000

export interface App {
  readonly store: Store
  readonly kv: Kv
  readonly actions: UserActions
  readonly connections: Connections
  readonly syncs: Pick<Syncs, 'runSync'>
  readonly backlog: Backlog
  /** Binds the listeners of its role; rejects when a port is taken. */
  listen(): Promise<{
    readonly origins: Origins
    readonly adminUrl: string
    /** The public listener as this machine reaches it; null for a worker, which has none. */
    readonly localUrl: string | null
  }>
  /** Refuses new work, lets requests in flight finish (at most 25 s), then closes everything. */
  close(): Promise<void>
}

export async function openApp(options: AppOptions): Promise<App> {
  const { config } = options
  // With port 0 they are known once the listener is bound, so each answer reads them (reading R2).
  let origins = toOrigins(config)
  const foundation = await openFoundation(options, () => origins)
  const { store, kv, adapters, readings, actions, connections } = foundation
  const syncs = makeAppSyncs(foundation)
  const parts = { ...foundation, syncs }
  const serving = config.role === 'worker' ? null : await openServing(parts)
  let draining = false
  const adminListener = makeListener(listenerTimes, readConnectionLimits().admin)
  const admin = assembleAdmin(
    { ...parts, adminListener, settleUsage: serving?.settleUsage ?? null },
    () => draining,
  )
  const looking = startPeriodic(foundation.queues.task, foundation.reports.jobs)
  const background = config.role === 'api' ? null : startBackground(parts)

  return {
    store,
    kv,
    actions,
    connections,
    syncs,
    backlog: foundation.backlog,
    async listen() {
      const { host, port } = config.adminListener
      const adminUrl = toLocalUrl(host, await admin.listen(host, port))
      if (serving === null) return { origins, adminUrl, localUrl: null }
      const publicPort = await serving.listen()
      origins = toOrigins(config, publicPort)
      return { origins, adminUrl, localUrl: toLocalUrl(config.listener.host, publicPort) }
    },
    async close() {
      draining = true
      const cutAt = performance.now() + drainMs
      // Background work stops at once: a new run would be new work. Requests in flight keep their time.
      const workEnd = background?.stop(syncGraceMs) ?? syncs.close(syncGraceMs)
      await Promise.all([serving?.drain(drainMs), workEnd, looking.stop()])
      // What people's requests began goes on behind their answers.
      await connections.close(Math.max(0, cutAt - performance.now()))
      // The admin listener closes last: it reports the drain. Its requests have had the same time by now.
      await adminListener.drain(Math.max(adminDrainMs, cutAt - performance.now()))
      await admin.close()
      await serving?.close()
      await readings.close()
      await Promise.all(Object.values(adapters).map((adapter) => adapter.close()))
      await kv.close()
      await store.close()
    },
  }
}
