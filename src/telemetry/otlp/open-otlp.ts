/**
 * Traces and metrics by OTLP over HTTP, with the official packages of OpenTelemetry. Loaded only where an
 * endpoint is configured (docs/operations/watch.md, OpenTelemetry). A collector that is away costs nothing
 * but its data: spans wait in a bounded queue, and what does not fit is dropped.
 */
import { randomUUID } from 'node:crypto'
import { DiagLogLevel, diag } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Clock } from '#kernel/time.ts'
import type { Tracing } from '../tracing.ts'
import { makeMetricProducer, type ReadMetrics } from './metric-data.ts'
import { makeSpans } from './spans.ts'

export interface OtlpOptions {
  /** Null: this kind is not sent. */
  readonly tracesUrl: string | null
  readonly metricsUrl: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly isCompressed: boolean
  readonly metricIntervalMs: number
  readonly serviceName: string
  readonly version: string
  readonly clock: Clock
  readonly readMetrics: ReadMetrics
  /** A sentence of the packages when something could not be sent. */
  readonly onFailure: (detail: string) => void
  /** Data were answered as taken, but not in OTLP. Said once: the next answers are no better. */
  readonly onOddAnswer: (detail: string) => void
}

/** The end of a process waits no longer than this for a collector. */
const closeMs = 5000

/** The packages warn with this of data that were taken, where they cannot read the body of the answer. */
const takenWords = 'Export succeeded'

/** What the packages say of a thing: the component first, where it has a name, then words and errors. */
function toSentence(words: readonly unknown[]): string {
  const said = words.map((word) => (word instanceof Error ? word.message : word))
  return said.filter((word) => typeof word === 'string').join(' ')
}

/** Sends spans and metrics to a collector until it is closed. */
export function openOtlp(options: OtlpOptions): Tracing {
  const { onFailure, clock } = options
  let isAnswerTold = false
  const told = (...words: readonly unknown[]) => {
    const detail = toSentence(words)
    if (!detail.includes(takenWords)) return onFailure(detail)
    if (!isAnswerTold) options.onOddAnswer(detail)
    isAnswerTold = true
  }
  const silent = () => {}
  const logger = { error: told, warn: told, info: silent, debug: silent, verbose: silent }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  const resource = resourceFromAttributes({
    'service.name': options.serviceName,
    'service.version': options.version,
    'service.instance.id': randomUUID(),
  })
  const transport = {
    headers: { ...options.headers },
    timeoutMillis: options.timeoutMs,
    compression: options.isCompressed ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
  }
  const tracers =
    options.tracesUrl === null
      ? null
      : new TracerProvider({
          resource,
          spanProcessors: [
            new BatchSpanProcessor({
              exporter: new OTLPTraceExporter({ ...transport, url: options.tracesUrl }),
              exportTimeoutMillis: options.timeoutMs,
            }),
          ],
        })
  const meters =
    options.metricsUrl === null
      ? null
      : new MeterProvider({
          resource,
          readers: [
            new PeriodicExportingMetricReader({
              exporter: new OTLPMetricExporter({ ...transport, url: options.metricsUrl }),
              exportIntervalMillis: options.metricIntervalMs,
              exportTimeoutMillis: Math.min(options.timeoutMs, options.metricIntervalMs),
              metricProducers: [makeMetricProducer(options.readMetrics, resource, clock)],
            }),
          ],
        })
  return {
    ...makeSpans(tracers, clock),
    async close() {
      const ends = [tracers?.shutdown(), meters?.shutdown()].map(async (end) => end)
      const late = new Promise<'late'>((resolve) => {
        setTimeout(() => resolve('late'), closeMs).unref()
      })
      const ended = await Promise.race([Promise.allSettled(ends), late])
      if (ended === 'late') return onFailure('the collector did not answer before the end')
      for (const one of ended) if (one.status === 'rejected') onFailure(String(one.reason))
    },
  }
}
