/** The metrics of `/metrics` as OpenTelemetry has them: the same names, labels and values. */
import { type HrTime, ValueType } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'
import type { Clock, Millis } from '#kernel/time.ts'
import type { MetricReading, PointReading } from '../registry.ts'

/** All metrics as they are now. */
export type ReadMetrics = () => Promise<readonly MetricReading[]>

/** Gives the exporter all metrics as they are when it asks, as sums since the start of the process. */
export function makeMetricProducer(
  read: ReadMetrics,
  resource: Resource,
  clock: Clock,
): MetricProducer {
  const startTime = toHrTime(clock.now())
  return {
    async collect() {
      const times = { startTime, endTime: toHrTime(clock.now()) }
      const metrics = (await read()).map((metric) => toMetricData(metric, times))
      const scopeMetrics = [{ scope: { name: 'tributary' }, metrics }]
      return { resourceMetrics: { resource, scopeMetrics }, errors: [] }
    },
  }
}

interface Times {
  readonly startTime: HrTime
  readonly endTime: HrTime
}

function toMetricData({ name, help, ...metric }: MetricReading, times: Times): MetricData {
  const head = {
    descriptor: { name, description: help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  const toPoint = <Value>({ labels }: PointReading, value: Value) => {
    return { ...times, attributes: { ...labels }, value }
  }
  if (metric.type === 'histogram') {
    const { bounds, points } = metric
    return {
      ...head,
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: points.map((point) =>
        toPoint(point, {
          buckets: { boundaries: [...bounds], counts: [...point.counts] },
          sum: point.sum,
          count: point.counts.reduce((sum, count) => sum + count, 0),
        }),
      ),
    }
  }
  const dataPoints = metric.points.map((point) => toPoint(point, point.value))
  return metric.type === 'counter'
    ? { ...head, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...head, dataPointType: DataPointType.GAUGE, dataPoints }
}

/** Seconds and nanoseconds. */
const toHrTime = (at: Millis): HrTime => [Math.floor(at / 1000), (at % 1000) * 1_000_000]
