/**
 * The metrics of a process behind typed methods. Every label has a bounded set of values: operations, routes,
 * buckets; never an id, a caller's path or personal data.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Bucket, OperationName } from '#contract/operations.ts'
import { Provider } from '#contract/resources.ts'
import { systemClock } from '#kernel/time.ts'
import type { UpstreamReport } from '#providers/port.ts'
import type { SyncReport } from '#syncs/syncs.ts'
import { type MailMetrics, makeMailMetrics } from './mail-metrics.ts'
import { contentType, makeRegistry, type Registry } from './registry.ts'
import type { SimplefinRecord } from './request-record.ts'
import { makeSyncMetrics } from './sync-metrics.ts'
import { makeWebhookMetrics, type WebhookMetrics } from './webhook-metrics.ts'

interface CountedRequest {
  readonly door: 'rest' | 'mcp' | 'simplefin' | 'dashboard'
  /** `unknown`: a path that belongs to no operation. SimpleFIN names its own resources. */
  readonly operation: OperationName | 'unknown' | SimplefinRecord['resource']
  readonly status: number
  readonly cache: 'HIT' | 'MISS' | 'BYPASS'
  readonly durationMs: number
}

/** Extends `UpstreamReport`, so that adapters can receive the metrics directly. */
export interface Metrics extends UpstreamReport {
  /** A request of an operation was answered (or its client left: 499). Statuses are ours: a bounded set. */
  request(event: CountedRequest): void
  breakerOpened(provider: Provider): void
  /** A webhook of a provider arrived; `outcome`: what became of it, in a word of the code. */
  providerWebhook(provider: Provider, outcome: string): void
  /** A link that was begun in a browser came back; `outcome`: how, in a word of the code. */
  linkingEnded(provider: Provider, outcome: string): void
  /** A limit refused a request; `concurrency` is the limit of heavy requests in flight. */
  refused(bucket: Bucket | 'concurrency' | 'preauth' | 'preauth_ip' | (string & {})): void
  /** Background work failed; `task` is its name in the code. */
  backgroundFailed(task: string): void
  /** One run of a periodic task ended. */
  backgroundRan(task: string, outcome: 'done' | 'failed'): void
  /** Shared fast state became unavailable (1) or available again (0); meanwhile memory serves. */
  sharedStateUnavailable(connection: 'limits' | 'cache', isUnavailable: boolean): void
  readonly webhooks: WebhookMetrics
  readonly syncs: Pick<SyncReport, 'ended'>
  readonly mails: MailMetrics
  /** All metrics in Prometheus' text format, version 0.0.4. */
  text(): string
  /** The same as data. */
  read: Registry['read']
  /** The value of the `Content-Type` header for `text`. */
  readonly contentType: string
  /** Stops measuring the event loop. */
  close(): void
}

/** Upper bounds in seconds. */
const requestBounds = [0.001, 0.005, 0.025, 0.1, 0.5, 2, 10, 60]
const exchangeBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30]
/** Limit of distinct names from code that no closed type bounds; further ones are counted as `other`. */
const maxNames = 100
/** What an alert watches (deploy/alerts.yaml). */
const refusedWebhooks = ['unsigned', 'forged', 'too_old', 'unreadable', 'unverified']

/** Makes the metrics of one process, with their own registry. */
export function makeMetrics(): Metrics {
  const registry = makeRegistry()
  const loop = monitorEventLoopDelay({ resolution: 20 })
  loop.enable()
  const requests = makeRequestMetrics(registry)
  addProcessGauges(registry, loop)
  const counters = makeCounters(registry)
  beginAtZero(counters)
  const exchangeSeconds = makeExchangeHistogram(registry)
  const route = boundNames()
  const oddity = boundNames()
  const webhookOutcome = boundNames()
  const linkingOutcome = boundNames()
  const bucketName = boundNames()
  const taskName = boundNames()

  return {
    request: requests.count,
    exchange(event) {
      const labels = { provider: event.provider, route: route(event.route) }
      const outcome = typeof event.outcome === 'number' ? toStatus(event.outcome) : event.outcome
      counters.exchanges.add({ ...labels, outcome })
      exchangeSeconds.observe(labels, event.durationMs / 1000)
    },
    alert: ({ provider }) => counters.alerts.add({ provider }),
    oddity: ({ provider, what }) => counters.oddities.add({ provider, what: oddity(what) }),
    breakerOpened: (provider) => counters.breakers.add({ provider }),
    providerWebhook: (provider, outcome) =>
      counters.providerWebhooks.add({ provider, outcome: webhookOutcome(outcome) }),
    linkingEnded: (provider, outcome) =>
      counters.linkings.add({ provider, outcome: linkingOutcome(outcome) }),
    refused: (bucket) => counters.refusals.add({ bucket: bucketName(bucket) }),
    backgroundFailed: (task) => counters.failures.add({ task: taskName(task) }),
    backgroundRan(task, outcome) {
      const labels = { task: taskName(task) }
      counters.runs.add({ ...labels, outcome })
      counters.failures.add(labels, 0)
      // The machine's time, because the scraper compares it with its own clock.
      if (outcome === 'done') counters.lastSuccess.set(labels, systemClock.now() / 1000)
    },
    sharedStateUnavailable: (connection, isUnavailable) =>
      counters.sharedUnavailable.set({ connection }, isUnavailable ? 1 : 0),
    webhooks: makeWebhookMetrics(registry),
    syncs: makeSyncMetrics(registry),
    mails: makeMailMetrics(registry),
    text: registry.text,
    read: registry.read,
    contentType,
    close: () => loop.disable(),
  }
}

/** Three digits, or `other`: a provider may answer anything. */
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
  const counter = <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    registry.counter(`tributary_${name}`, help, labels)
  return {
    exchanges: counter('provider_exchanges_total', 'HTTP exchanges with providers.', [
      'provider',
      'route',
      'outcome',
    ]),
    alerts: counter('provider_alerts_total', 'Provider problems that only the operator can fix.', [
      'provider',
    ]),
    oddities: counter('provider_oddities_total', 'Provider values outside the known lists.', [
      'provider',
      'what',
    ]),
    breakers: counter('breaker_openings_total', 'Breakers that opened.', ['provider']),
    providerWebhooks: counter(
      'provider_webhooks_total',
      'Webhooks of providers, by what became of them.',
      ['provider', 'outcome'],
    ),
    linkings: counter(
      'linkings_total',
      'Links that came back from the page of a provider, by outcome.',
      ['provider', 'outcome'],
    ),
    refusals: counter('limit_refusals_total', 'Requests refused by a limit, by bucket.', [
      'bucket',
    ]),
    failures: counter('background_failures_total', 'Background work that failed, by task.', [
      'task',
    ]),
    runs: counter('background_runs_total', 'Runs of periodic background work.', [
      'task',
      'outcome',
    ]),
    lastSuccess: registry.gauge(
      'tributary_background_last_success_seconds',
      'When periodic background work last succeeded, Unix seconds.',
      ['task'],
    ),
    sharedUnavailable: registry.gauge(
      'tributary_shared_state_away',
      'Whether the Valkey or Redis of limits, or of the cache, is unavailable (1) or not (0).',
      ['connection'],
    ),
  }
}

/** An alert on the increase of a counter would miss its first count if there were no value before it. */
function beginAtZero({ alerts, providerWebhooks }: ReturnType<typeof makeCounters>): void {
  for (const provider of Provider.options) {
    alerts.add({ provider }, 0)
    for (const outcome of refusedWebhooks) providerWebhooks.add({ provider, outcome }, 0)
  }
}

function makeRequestMetrics(registry: Registry) {
  const requests = registry.counter(
    'tributary_requests_total',
    'Requests answered, by operation and outcome.',
    ['door', 'operation', 'status', 'cache'],
  )
  const seconds = registry.histogram({
    name: 'tributary_request_duration_seconds',
    help: 'From a request’s arrival to the end of its answer.',
    bounds: requestBounds,
    labels: ['operation', 'cache'],
  })
  return {
    count(event: CountedRequest) {
      requests.add(event)
      seconds.observe(event, event.durationMs / 1000)
    },
  }
}

function makeExchangeHistogram(registry: Registry) {
  return registry.histogram({
    name: 'tributary_provider_exchange_duration_seconds',
    help: 'One HTTP exchange with a provider, body included.',
    bounds: exchangeBounds,
    labels: ['provider', 'route'],
  })
}

const nanosPerSecond = 1_000_000_000

/** Named as common dashboards expect them. */
function addProcessGauges(
  registry: Registry,
  loop: ReturnType<typeof monitorEventLoopDelay>,
): void {
  const gauge = registry.readGauge
  const started = Math.floor(performance.timeOrigin / 1000)
  gauge('process_start_time_seconds', 'Start of the process, Unix seconds.', () => started)
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss())
  gauge('nodejs_heap_size_used_bytes', 'Heap in use.', () => process.memoryUsage().heapUsed)
  gauge('nodejs_external_memory_bytes', 'Memory outside the heap, buffers included.', () => {
    return process.memoryUsage().external
  })
  gauge(
    'nodejs_eventloop_lag_p50_seconds',
    'Event-loop delay since the last scrape, median.',
    () => {
      return toSeconds(loop.percentile(50))
    },
  )
  gauge('nodejs_eventloop_lag_p99_seconds', 'Event-loop delay since the last scrape, p99.', () => {
    return toSeconds(loop.percentile(99))
  })
  // Must be the last of the three: gauges are read in the order of making, and this resets the histogram.
  gauge(
    'nodejs_eventloop_lag_max_seconds',
    'Event-loop delay since the last scrape, maximum.',
    () => {
      const most = toSeconds(loop.max)
      loop.reset()
      return most
    },
  )
}

/** Right after a reset the histogram returns NaN or 2^63 − 1: there is no measurement yet. */
function toSeconds(nanos: number): number {
  return Number.isFinite(nanos) && nanos < 3600 * nanosPerSecond ? nanos / nanosPerSecond : 0
}
