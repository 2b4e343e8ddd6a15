/**
 * What can be counted about a process, behind typed methods: nobody else sees the metrics library. Every label is a
 * bounded set: operations, routes, buckets; never an id, a path of a caller or a value out of somebody's data.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Bucket, OperationName } from '#contract/operations.ts'
import type { Provider } from '#contract/resources.ts'
import type { UpstreamReport } from '#providers/port.ts'
import { makeRequestTally } from './request-tally.ts'

export interface RequestEvent {
  readonly door: 'rest' | 'mcp'
  /** `unknown`: a path that no operation owns. */
  readonly operation: OperationName | 'unknown'
  readonly status: number
  readonly cache: 'HIT' | 'MISS' | 'BYPASS'
  readonly durationMs: number
}

/** `UpstreamReport` is part of it, so that adapters can be given the metrics as they are. */
export interface Metrics extends UpstreamReport {
  /** One request of an operation is answered (or given up: 499). Statuses are ours: a bounded set. */
  request(event: RequestEvent): void
  breakerOpened(provider: Provider): void
  /** A limiter said no; `concurrency` is the cap on heavy requests in flight. */
  refused(bucket: Bucket | 'concurrency' | 'preauth' | 'preauth_ip' | (string & {})): void
  /** Work that nobody waits for went wrong; `task` is its name in the code. */
  backgroundFailed(task: string): void
  /** Shared fast state is away (1) or back (0): memory stands in meanwhile. */
  sharedStateAway(isAway: boolean): void
  /** All of it in Prometheus' text format, version 0.0.4. */
  text(): Promise<string>
  /** The value of the `Content-Type` header for `text`. */
  readonly contentType: string
  /** Ends the measuring of the event loop. */
  close(): void
}

const exchangeBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30]
/** Names that come from code but not from a closed type; beyond so many distinct ones the rest are `other`. */
const maxNames = 100

/** Makes the metrics of one process with a registry of its own. */
export function makeMetrics(): Metrics {
  const registry = new Registry()
  const loop = monitorEventLoopDelay({ resolution: 20 })
  loop.enable()
  addProcessGauges(registry, loop)
  const counters = makeCounters(registry)
  const exchangeSeconds = makeExchangeHistogram(registry)
  const requests = makeRequestTally()
  const route = boundNames()
  const oddity = boundNames()
  const bucketName = boundNames()
  const taskName = boundNames()

  return {
    request: (event) => requests.add(event),
    exchange(event) {
      const labels = { provider: event.provider, route: route(event.route) }
      const outcome = typeof event.outcome === 'number' ? toStatus(event.outcome) : event.outcome
      counters.exchanges.inc({ ...labels, outcome })
      exchangeSeconds.observe(labels, event.durationMs / 1000)
    },
    alert: ({ provider }) => counters.alerts.inc({ provider }),
    oddity: ({ provider, what }) => counters.oddities.inc({ provider, what: oddity(what) }),
    breakerOpened: (provider) => counters.breakers.inc({ provider }),
    refused: (bucket) => counters.refusals.inc({ bucket: bucketName(bucket) }),
    backgroundFailed: (task) => counters.failures.inc({ task: taskName(task) }),
    sharedStateAway: (isAway) => counters.sharedAway.set(isAway ? 1 : 0),
    text: async () => `${requests.text()}\n${await registry.metrics()}`,
    contentType: registry.contentType,
    close: () => loop.disable(),
  }
}

/** A status is three digits or it is `other`: providers may answer anything. */
function toStatus(status: number): string {
  return Number.isInteger(status) && status >= 100 && status <= 599 ? String(status) : 'other'
}

function boundNames(): (name: string) => string {
  const known = new Set<string>()
  return (name) => {
    if (known.has(name)) return name
    if (known.size >= maxNames || name.length > maxNames) return 'other'
    known.add(name)
    return name
  }
}

function makeCounters(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name: `tributary_${name}`, help, labelNames, registers: [registry] })
  return {
    exchanges: counter('provider_exchanges_total', 'HTTP exchanges with providers.', [
      'provider',
      'route',
      'outcome',
    ]),
    alerts: counter('provider_alerts_total', 'What only the operator can mend at a provider.', [
      'provider',
    ]),
    oddities: counter('provider_oddities_total', 'Values of providers outside the known lists.', [
      'provider',
      'what',
    ]),
    breakers: counter('breaker_openings_total', 'Breakers that opened.', ['provider']),
    refusals: counter('limit_refusals_total', 'Requests refused by a limit, by bucket.', [
      'bucket',
    ]),
    failures: counter('background_failures_total', 'Background work that failed, by task.', [
      'task',
    ]),
    sharedAway: new Gauge({
      name: 'tributary_shared_state_away',
      help: 'Whether Valkey or Redis is away and memory stands in (1) or not (0).',
      registers: [registry],
    }),
  }
}

function makeExchangeHistogram(registry: Registry) {
  return new Histogram({
    name: 'tributary_provider_exchange_duration_seconds',
    help: 'One HTTP exchange with a provider, body included.',
    labelNames: ['provider', 'route'],
    buckets: exchangeBuckets,
    registers: [registry],
  })
}

const nanosPerSecond = 1_000_000_000

/** Named as the common dashboards expect them. */
function addProcessGauges(
  registry: Registry,
  loop: ReturnType<typeof monitorEventLoopDelay>,
): void {
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  const started = Math.floor(performance.timeOrigin / 1000)
  gauge('process_start_time_seconds', 'Start of the process, Unix seconds.', () => started)
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss())
  gauge('nodejs_heap_size_used_bytes', 'Heap in use.', () => process.memoryUsage().heapUsed)
  gauge('nodejs_external_memory_bytes', 'Memory outside the heap, buffers included.', () => {
    return process.memoryUsage().external
  })
  gauge('nodejs_eventloop_lag_p50_seconds', 'Event-loop delay since the last look, median.', () => {
    return toSeconds(loop.percentile(50))
  })
  gauge('nodejs_eventloop_lag_p99_seconds', 'Event-loop delay since the last look, p99.', () => {
    return toSeconds(loop.percentile(99))
  })
  // The last of the three: collecting goes in the order of registration, and a look starts a new stretch.
  gauge('nodejs_eventloop_lag_max_seconds', 'Event-loop delay since the last look, most.', () => {
    const most = toSeconds(loop.max)
    loop.reset()
    return most
  })
}

/** Right after a reset the histogram answers nonsense (NaN, 2^63 − 1): there is nothing to tell yet. */
function toSeconds(nanos: number): number {
  return Number.isFinite(nanos) && nanos < 3600 * nanosPerSecond ? nanos / nanosPerSecond : 0
}
