/**
 * How late syncs begin and events arrive when a tenth of the endpoints never answers. The workers, the store
 * and its statements are the service's own; reading a provider and posting to a receiver are waits of virtual
 * time.
 */
import type { JobReport } from '#jobs/periodic.ts'
import type { EndpointId } from '#kernel/ids.ts'
import type { Store } from '#store/ports/store.ts'
import type { ClaimedSync } from '#store/ports/syncs.ts'
import type { RunSync } from '#syncs/run-sync.ts'
import { makeRuns } from '#syncs/runs.ts'
import { makeSyncClaim } from '#syncs/worker.ts'
import type { WebhooksReport } from '#webhooks/options.ts'
import type { Post } from '#webhooks/post.ts'
import { startDeliveryWorker } from '#webhooks/worker.ts'
import { makeEvent } from '../deliver-messages.ts'
import { openPlace, type Place } from '../ground.ts'
import { percentile } from '../load.ts'
import type { Person } from './fill.ts'
import { makeVirtualTime, type VirtualTime } from './virtual-time.ts'

export interface LagOptions {
  readonly now: number
  readonly minutes: number
  /** Processes that sync and deliver. */
  readonly workers: number
}

export interface Lag {
  readonly syncs: number
  readonly deliveries: number
  /** Milliseconds of virtual time. */
  readonly syncP95: number
  /** Of endpoints that answer. */
  readonly deliveryP95: number
  readonly deadAttempts: number
}

const intervalMs = 6 * 3_600_000
/** A provider with a few pages; a receiver that answers; one that does not. */
const syncMs = () => 1000 + 2000 * Math.random()
const answerMs = () => 50 + 250 * Math.random()
const deadMs = 15_000
const schedule = [0, 5, 300, 1800, 7200]
const claimEveryMs = 10_000
const deliverEveryMs = 1000

interface Fleet {
  readonly time: VirtualTime
  readonly store: Store
  readonly lags: { readonly sync: number[]; readonly delivery: number[] }
  readonly dead: ReadonlySet<string>
  readonly counts: { deadAttempts: number }
}

export async function measureLag(
  place: Place,
  people: readonly Person[],
  { now, minutes, workers }: LagOptions,
): Promise<Lag> {
  const time = makeVirtualTime(now)
  const opened = await openPlace(place)
  const endpoints = people.flatMap(({ endpoint }) => endpoint ?? [])
  const fleet: Fleet = {
    time,
    store: time.watch(opened),
    lags: { sync: [], delivery: [] },
    dead: new Set<EndpointId>(endpoints.filter((_, index) => index % 10 === 0)),
    counts: { deadAttempts: 0 },
  }
  const stops = Array.from({ length: workers }, () => [startSyncs(fleet), startDeliveries(fleet)])
  try {
    await time.runUntil(now + minutes * 60_000)
  } finally {
    const stopped = stops.flat().map((stop) => stop())
    // Whatever is still pending is completed.
    await time.runUntil(Number.POSITIVE_INFINITY)
    await Promise.all(stopped)
    await opened.close()
  }
  const sorted = (values: readonly number[]) => Float64Array.from(values).sort()
  return {
    syncs: fleet.lags.sync.length,
    deliveries: fleet.lags.delivery.length,
    syncP95: percentile(sorted(fleet.lags.sync), 0.95),
    deliveryP95: percentile(sorted(fleet.lags.delivery), 0.95),
    deadAttempts: fleet.counts.deadAttempts,
  }
}

/** A failure of the simulation ends it. */
const fail = (_task: string, error: unknown) => {
  throw new Error('a step of the fleet failed', { cause: error })
}
const jobs: JobReport = { done() {}, failed: fail }

/** Resolves to its end. */
type Stop = () => Promise<void>

function startSyncs(fleet: Fleet): Stop {
  const { time, store } = fleet
  const stopping = new AbortController()
  let isClaiming = false
  let isWoken = false
  const run: RunSync = async (sync) => {
    fleet.lags.sync.push(time.clock.now() - sync.dueAt)
    await time.sleep(syncMs())
    await commit(fleet, sync)
    return { kind: 'lost' }
  }
  const runs = makeRuns({ run, onEnd: () => void claim() })
  const task = makeSyncClaim({ syncs: store.syncs, clock: time.clock, runs })
  async function claim(): Promise<void> {
    isWoken = true
    if (isClaiming) return
    isClaiming = true
    while (isWoken && !stopping.signal.aborted) {
      isWoken = false
      await task.run(stopping.signal)
    }
    isClaiming = false
  }
  void every(time, claimEveryMs, stopping.signal, () => void claim())
  return async () => stopping.abort()
}

/** One new row each, so that each sync has an event to send. */
async function commit({ time, store }: Fleet, sync: ClaimedSync): Promise<void> {
  const { runId, userId, connectionId } = sync
  const now = time.clock.now()
  const sealed = await store.events.seal([
    makeEvent(userId, connectionId, { rows: 1, createdAt: now }),
  ])
  await store.transact(async (tx) => {
    await tx.events.accept(sealed)
    await tx.syncs.finish(runId, {
      outcome: {
        kind: 'succeeded',
        newCount: 1,
        updatedCount: 0,
        chunks: 1,
        rowsReadAt: now,
        ledgerFrom: now,
      },
      endedAt: now,
      nextDueAt: now + intervalMs * (0.9 + 0.2 * Math.random()),
    })
  })
}

function startDeliveries(fleet: Fleet): Stop {
  const { time, store, lags, dead, counts } = fleet
  const stopping = new AbortController()
  const post: Post = async ({ url, body }) => {
    const isDead = dead.has(url.slice(url.lastIndexOf('/') + 1))
    const { created } = JSON.parse(Buffer.from(body).toString()) as { created: number }
    if (isDead) counts.deadAttempts += 1
    else lags.delivery.push(time.clock.now() - created * 1000)
    const durationMs = isDead ? deadMs : Math.round(answerMs())
    await time.sleep(durationMs)
    return isDead
      ? { outcome: { kind: 'silent', failure: 'no answer' }, durationMs, answer: null }
      : {
          outcome: { kind: 'answered', head: { status: 200, headers: {} } },
          durationMs,
          answer: '',
        }
  }
  const report: WebhooksReport = { attempt() {}, warning() {}, shredded() {}, failed: fail }
  const worker = startDeliveryWorker(
    { store, clock: time.clock, post, schedule, redact: (text) => text, report, writers: 1 },
    jobs,
  )
  const forget = store.onWork(() => worker.wake())
  void every(time, deliverEveryMs, stopping.signal, () => worker.wake())
  return () => {
    forget()
    stopping.abort()
    return worker.stop()
  }
}

async function every(time: VirtualTime, ms: number, stop: AbortSignal, work: () => void) {
  while (!stop.aborted) {
    work()
    await time.sleep(ms * (0.9 + 0.1 * Math.random()))
  }
}
