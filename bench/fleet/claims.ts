/**
 * What one claim of due work costs as the fleet grows: syncs claimed one by one, as the worker does, and
 * endpoints claimed with a delivery each. A tenth of the fleet is due, as after an hour's outage.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Engine } from '#store/engine/engine.ts'
import type { AttemptResult, DeliveryStore } from '#store/ports/deliveries.ts'
import type { HealthChange } from '#store/ports/endpoints.ts'
import type { Store } from '#store/ports/store.ts'
import type { SyncOutcome } from '#store/ports/syncs.ts'
import { openPlace, type Place, toTime, withEngine } from '../ground.ts'
import { median } from '../turns.ts'
import { type FleetSize, fillDeliveries, fillFleet } from './fill.ts'

export interface ClaimCost {
  readonly size: FleetSize
  /** Medians, in milliseconds. */
  readonly sync: { readonly claim: number; readonly finish: number; readonly backlog: number }
  readonly delivery: {
    readonly claim: number
    readonly list: number
    readonly record: number
    readonly release: number
    readonly backlog: number
  }
  /** The longest event-loop stall meanwhile, in milliseconds. */
  readonly stall: number
}

const leaseMs = 120_000
const intervalMs = 6 * 3_600_000
const endpointsAtOnce = 16

/** Adds to the fleet until it has each size in turn, and measures `items` claims at each. */
export async function measureClaims(
  place: Place,
  sizes: readonly FleetSize[],
  items: number,
): Promise<readonly ClaimCost[]> {
  const costs: ClaimCost[] = []
  let filled: FleetSize = { connections: 0, endpoints: 0 }
  for (const size of sizes) {
    const now = Date.now()
    const more = {
      connections: size.connections - filled.connections,
      endpoints: size.endpoints - filled.endpoints,
    }
    filled = size
    const count = Math.min(items, Math.ceil(0.8 * more.connections))
    await withEngine(place, async (engine) => {
      const dueShare = Math.min(1, Math.max(0.1, (1.1 * count) / more.connections))
      const dueAt = (index: number) =>
        now + (((index * 7919) % more.connections) / more.connections - dueShare) * intervalMs
      const people = await fillFleet(engine, { ...more, now, dueAt })
      await fillDeliveries(engine, people, { now, each: 2 })
      await settle(engine, now)
    })
    const store = await openPlace(place)
    try {
      costs.push({
        size,
        ...(await measure(store, now, { syncs: count, endpoints: Math.ceil(more.endpoints / 2) })),
      })
    } finally {
      await store.close()
    }
  }
  return costs
}

/** Endpoints with a delivery are due; PostgreSQL's planner knows the tables, as after its own vacuum. */
async function settle({ kind, db }: Engine, now: number): Promise<void> {
  await sql`update webhook_endpoints set next_due_at = ${toTime(now - 1000)} where lease is null
    and id in (select endpoint_id from deliveries where status = 'pending')`.execute(db)
  if (kind === 'postgres') await sql`analyze`.execute(db)
}

interface Counts {
  readonly syncs: number
  /** At most; the others stay due. */
  readonly endpoints: number
}

async function measure(store: Store, now: number, { syncs, endpoints }: Counts) {
  const loop = monitorEventLoopDelay({ resolution: 1 })
  loop.enable()
  const sync = await measureSyncs(store, now, syncs)
  const delivery = await measureDeliveries(store, now, Math.min(syncs, endpoints))
  loop.disable()
  return { sync, delivery, stall: loop.max / 1e6 }
}

const nothingNew: SyncOutcome = {
  kind: 'succeeded',
  newCount: 0,
  updatedCount: 0,
  chunks: 0,
  rowsReadAt: null,
  ledgerFrom: null,
}

async function measureSyncs({ syncs }: Store, now: number, items: number) {
  const times = { claim: [] as number[], finish: [] as number[], backlog: [] as number[] }
  for (let item = 0; item < items; item += 1) {
    const [claimed] = await timed(times.claim, () => syncs.claimDue({ now, leaseMs, limit: 1 }))
    if (claimed === undefined) throw new Error('no sync is due')
    const end = { outcome: nothingNew, endedAt: now, nextDueAt: now + intervalMs }
    await timed(times.finish, () => syncs.finish(claimed.runId, end))
    if (item % 10 === 0) await timed(times.backlog, () => syncs.readBacklog(now))
  }
  return medians(times)
}

const healthy: HealthChange = {
  health: 'healthy',
  failures: 0,
  failingSince: null,
  warnedDays: 0,
  disabledReason: null,
}

async function measureDeliveries({ deliveries }: Store, now: number, items: number) {
  const times = {
    claim: [] as number[],
    list: [] as number[],
    record: [] as number[],
    release: [] as number[],
    backlog: [] as number[],
  }
  for (let done = 0; done < items; ) {
    const options = {
      now,
      leaseMs,
      limit: Math.min(endpointsAtOnce, items - done),
      unhealthy: false,
    }
    const claimed = await timed(times.claim, () => deliveries.claimEndpoints(options))
    if (claimed.length === 0) break
    done += claimed.length
    for (const { lease, endpoint } of claimed) {
      const due = await timed(times.list, () => deliveries.listDue(endpoint.id, { now, limit: 4 }))
      for (const { id } of due) await timed(times.record, () => deliver(deliveries, lease, id, now))
      await timed(times.release, () => deliveries.release(lease, { now, notBefore: 0 }))
    }
    await timed(times.backlog, () => deliveries.readBacklog(now))
  }
  return medians(times)
}

type Delivery = AttemptResult['deliveryId']

function deliver(deliveries: DeliveryStore, lease: string, deliveryId: Delivery, at: number) {
  const attempt = { at, status: 200, failure: null, durationMs: 1, response: null }
  const decision = { kind: 'succeeded' } as const
  const result = { lease, deliveryId, attempt, decision, holdUntil: null, health: () => healthy }
  return deliveries.record([result])
}

/** In a turn of its own: everything on SQLite happens in one, and shows as a stall. */
async function timed<Result>(times: number[], work: () => Promise<Result>): Promise<Result> {
  await nextTurn()
  const started = performance.now()
  const result = await work()
  times.push(performance.now() - started)
  return result
}

function medians<Names extends string>(times: Readonly<Record<Names, readonly number[]>>) {
  const entries = Object.entries<readonly number[]>(times)
  return Object.fromEntries(entries.map(([name, values]) => [name, median(values)])) as Record<
    Names,
    number
  >
}
