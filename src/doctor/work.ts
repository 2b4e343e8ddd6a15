/**
 * Syncs and deliveries: whether due work is claimed, and whether a lease is held for longer than work can
 * last. Other processes may do the work, so the store is queried instead of this process.
 */
import { type Clock, hourMs, minuteMs } from '#kernel/time.ts'
import type { StuckLease } from '#store/ports/inspector.ts'
import type { Store } from '#store/ports/store.ts'
import type { Installation } from './configuration.ts'
import { type Check, type Finding, fault, ok, warning } from './finding.ts'

export interface WorkOptions {
  readonly store: Pick<Store, 'inspector' | 'syncs' | 'deliveries'>
  readonly clock: Clock
  readonly installation: Installation
}

/** A worker claims due work within seconds, unless it is busy. */
const lateMs = 10 * minuteMs

export function checkSyncs({ store, clock, installation }: WorkOptions): Check {
  return async () => {
    const now = clock.now()
    const { oldestDueAt, due, running } = await store.syncs.readBacklog(now)
    const counts = `${due} due, ${running} running`
    return [
      judgeAge({ name: 'syncs', counts, oldestDueAt, now, isIdle: running === 0, installation }),
    ]
  }
}

export function checkDeliveries({ store, clock, installation }: WorkOptions): Check {
  return async () => {
    const now = clock.now()
    const { oldestDueAt, pending } = await store.deliveries.readBacklog(now)
    const counts = `${pending} pending`
    return [judgeAge({ name: 'deliveries', counts, oldestDueAt, now, isIdle: false, installation })]
  }
}

interface Aged {
  readonly name: 'syncs' | 'deliveries'
  readonly counts: string
  readonly oldestDueAt: number | null
  readonly now: number
  /** No process works on any. */
  readonly isIdle: boolean
  readonly installation: Installation
}

function judgeAge({ name, counts, oldestDueAt, now, isIdle, installation }: Aged): Finding {
  const age = oldestDueAt === null ? 0 : Math.max(0, now - oldestDueAt)
  if (age < lateMs) return ok(name, counts)
  const message = `${counts}; the oldest has been due for ${toWords(age)}`
  const action = `${adviseOn(isIdle, installation)} (docs/operations/incidents.md, Overdue work)`
  return age < hourMs ? warning(name, message, action) : fault(name, message, action)
}

function adviseOn(isIdle: boolean, { role }: Installation): string {
  const aWorker = 'a process with ROLE=worker or ROLE=all'
  if (role === 'api') return `This process does no background work: see that ${aWorker} runs`
  if (isIdle) return 'No process takes it: look for "background work failed" in the log'
  return `The processes that take it are busy or fail: look for "background work failed" in the log, or add ${aWorker}`
}

/** Twice what a sync may take (docs/operations/incidents.md, Failed syncs). */
const longestRunMs = 30 * minuteMs
/** Leases last two minutes at most, and are renewed. */
const longestLeaseMs = 10 * minuteMs
const maxNamed = 20

export function checkLeases({ store, clock }: WorkOptions): Check {
  return async () => {
    const now = clock.now()
    const stuck = await store.inspector.listStuckLeases({
      now,
      startedBefore: now - longestRunMs,
      heldBeyond: now + longestLeaseMs,
      limit: maxNamed,
    })
    if (stuck.length === 0) return [ok('leases', 'none is held longer than work lasts')]
    return stuck.map((lease) => describe(lease, now))
  }
}

function describe(lease: StuckLease, now: number): Finding {
  const whose =
    lease.kind === 'sync' ? `the sync of connection ${lease.id}` : `endpoint ${lease.id}`
  const name = `lease:${lease.id}`
  const remainder = lease.leaseUntil - now
  if (remainder > longestLeaseMs) {
    return warning(
      name,
      `${whose} is held for another ${toWords(remainder)}: the clock of a process was ahead`,
      'Correct that clock; docs/operations/incidents.md, Stuck leases, says how to end the lease',
    )
  }
  const since = lease.kind === 'sync' ? ` for ${toWords(now - lease.startedAt)}` : ''
  return warning(
    name,
    `${whose} has been under way${since}`,
    'Restart the process that hangs: it is the one that logged nothing of this connection since',
  )
}

function toWords(ms: number): string {
  if (ms < 2 * hourMs) return `${Math.round(ms / minuteMs)} min`
  return ms < 48 * hourMs
    ? `${Math.round(ms / hourMs)} h`
    : `${Math.round(ms / (24 * hourMs))} days`
}
