/**
 * Gauges of stored and due work of all processes together, read from the store when metrics are collected. A
 * store that is slow or unavailable never fails or delays the collection: its gauges are then absent instead
 * of out of date.
 */

import { type Clock, minuteMs } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'
import { type MetricReading, makeRegistry, type Registry } from './registry.ts'

export interface Backlog {
  /** In Prometheus' text format, version 0.0.4. Never rejects; takes at most `timeoutMs` per reading. */
  text(): Promise<string>
  /** The same as data. */
  read(): Promise<readonly MetricReading[]>
}

export interface BacklogOptions {
  readonly store: Pick<Store, 'syncs' | 'ledgers' | 'endpoints' | 'events' | 'deliveries' | 'mails'>
  readonly clock: Clock
  /** A reading failed or was late; `reading` is its name. */
  readonly onFailure: (reading: string, error: unknown) => void
  /** 2000 when absent. */
  readonly timeoutMs?: number
  /** A clock that only goes forward, in milliseconds; tests replace it. */
  readonly monotonicMs?: () => number
}

const defaultTimeoutMs = 2000
/**
 * Due work is found by indexes, so it is read for every collection, but not by several collectors at once.
 */
const dueFreshMs = 10_000
/** Sizes are summed over all rows of events and of the ledger, so they are read rarely. */
const sizesFreshMs = 300_000
/** After a failure the gauges are absent for this long, because each failure is a line of the log. */
const restMs = minuteMs

/** Makes the gauges of one process; nothing is read before the first `text`. */
export function makeBacklog(options: BacklogOptions): Backlog {
  const { store, clock } = options
  const registry = makeRegistry()
  const readings = [
    makeReading(options, {
      name: 'backlog-due',
      freshMs: dueFreshMs,
      ...makeDueGauges(registry),
      read: () => readDue(store, clock),
    }),
    makeReading(options, {
      name: 'backlog-sizes',
      freshMs: sizesFreshMs,
      ...makeSizeGauges(registry),
      read: () => readSizes(store),
    }),
  ]
  const refreshAll = () => Promise.all(readings.map((refresh) => refresh()))
  return {
    async text() {
      await refreshAll()
      return registry.text()
    },
    async read() {
      await refreshAll()
      return registry.read()
    },
  }
}

interface ReadingOptions<Value> {
  readonly name: string
  readonly freshMs: number
  read(): Promise<Value>
  show(value: Value): void
  hide(): void
}

/** The function resolves when the gauges show a fresh value or are hidden; it never rejects. */
function makeReading<Value>(options: BacklogOptions, reading: ReadingOptions<Value>) {
  const { timeoutMs = defaultTimeoutMs, monotonicMs = () => performance.now() } = options
  let freshUntil = Number.NEGATIVE_INFINITY
  let running: Promise<void> | null = null

  function fail(error: unknown): void {
    reading.hide()
    freshUntil = monotonicMs() + restMs
    options.onFailure(reading.name, error)
  }

  async function run(): Promise<void> {
    try {
      reading.show(await reading.read())
      freshUntil = monotonicMs() + reading.freshMs
    } catch (error) {
      fail(error)
    } finally {
      running = null
    }
  }

  return async (): Promise<void> => {
    if (monotonicMs() < freshUntil) return
    // A reading that was late may still be under way: no second one is started beside it.
    running ??= run()
    if (await isLate(running, timeoutMs)) fail(new Error(`not read within ${timeoutMs} ms`))
  }
}

async function isLate(work: Promise<void>, timeoutMs: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(true), timeoutMs)
  try {
    return await Promise.race([work.then(() => false), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

type Due = Awaited<ReturnType<typeof readDue>>
type Sizes = Awaited<ReturnType<typeof readSizes>>

async function readDue(store: BacklogOptions['store'], clock: Clock) {
  const now = clock.now()
  const syncs = await store.syncs.readBacklog(now)
  const deliveries = await store.deliveries.readBacklog(now)
  const endpoints = await store.endpoints.countByHealth()
  const mails = await store.mails.readBacklog(now)
  return {
    syncs,
    deliveries,
    endpoints,
    mails,
    mailsOldestSeconds: toAge(mails.oldestLateAt, now),
    syncsOldestSeconds: toAge(syncs.oldestDueAt, now),
    deliveriesOldestSeconds: toAge(deliveries.oldestDueAt, now),
  }
}

async function readSizes(store: BacklogOptions['store']) {
  return { events: await store.events.readBacklog(), ledger: await store.ledgers.measure() }
}

/** Seconds; 0 when nothing is due. */
function toAge(at: number | null, now: number): number {
  return at === null ? 0 : Math.max(0, now - at) / 1000
}

function makeDueGauges(registry: Registry) {
  const gauge = gaugesOf(registry)
  const syncsDue = gauge('syncs_due', 'Syncs that are due and not running.')
  const syncsRunning = gauge('syncs_running', 'Syncs that a process runs.')
  const syncsOldest = gauge('syncs_oldest_due_seconds', 'How long the oldest due sync waits.')
  const pending = gauge('deliveries_pending', 'Deliveries that have not ended.')
  const oldest = gauge('deliveries_oldest_due_seconds', 'How long the oldest due delivery waits.')
  const mails = gauge('mails_waiting', 'Mails that wait to be sent.')
  const oldestMail = gauge(
    'mails_oldest_waiting_seconds',
    'How long the oldest mail waits that is due or was tried.',
  )
  const endpoints = gauge('webhook_endpoints', 'Webhook endpoints, by health.', ['health'])
  const gauges = [
    syncsDue,
    syncsRunning,
    syncsOldest,
    pending,
    oldest,
    mails,
    oldestMail,
    endpoints,
  ]
  return {
    show(due: Due): void {
      syncsDue.set({}, due.syncs.due)
      syncsRunning.set({}, due.syncs.running)
      syncsOldest.set({}, due.syncsOldestSeconds)
      pending.set({}, due.deliveries.pending)
      oldest.set({}, due.deliveriesOldestSeconds)
      mails.set({}, due.mails.waiting)
      oldestMail.set({}, due.mailsOldestSeconds)
      for (const [health, count] of Object.entries(due.endpoints)) endpoints.set({ health }, count)
    },
    hide(): void {
      for (const one of gauges) one.clear()
    },
  }
}

function makeSizeGauges(registry: Registry) {
  const gauge = gaugesOf(registry)
  const payloads = gauge('event_payloads', 'Sealed payloads of events.')
  const payloadBytes = gauge('event_payload_bytes', 'Bytes of the sealed payloads of events.')
  const ledgerBytes = gauge('ledger_bytes', 'Bytes of the ledger of seen rows.')
  return {
    show({ events, ledger }: Sizes): void {
      payloads.set({}, events.events)
      payloadBytes.set({}, events.bytes)
      ledgerBytes.set({}, ledger.bytes)
    },
    hide(): void {
      for (const one of [payloads, payloadBytes, ledgerBytes]) one.clear()
    },
  }
}

function gaugesOf(registry: Registry) {
  return <Label extends string = never>(
    name: string,
    help: string,
    labels: readonly Label[] = [],
  ) => registry.gauge(`tributary_${name}`, `${help} In all processes together.`, labels)
}
