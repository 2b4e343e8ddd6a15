/**
 * Counters, gauges and histograms of one process, and their text in Prometheus' format, version 0.0.4. They
 * can also be read as data. A series is found by its label values in nested maps: every request is counted,
 * and finding its series builds no text.
 */

type Labels<Label extends string> = { readonly [name in Label]: string | number }

export interface Counter<Label extends string> {
  /** `by`: at least 0; 0 makes the series visible. */
  add(labels: Labels<Label>, by?: number): void
}

export interface Gauge<Label extends string> {
  set(labels: Labels<Label>, value: number): void
  /** Forgets all values. */
  clear(): void
}

export interface Histogram<Label extends string> {
  observe(labels: Labels<Label>, value: number): void
}

/** Names and help are constants of the code, in which nothing needs to be escaped. */
interface Described {
  readonly name: string
  readonly help: string
}

export interface PointReading {
  readonly labels: Readonly<Record<string, string>>
}

/** One metric with all of its series; a series that was never counted is not there. */
export type MetricReading = Described &
  (
    | {
        readonly type: 'counter' | 'gauge'
        readonly points: readonly (PointReading & { readonly value: number })[]
      }
    | {
        readonly type: 'histogram'
        readonly bounds: readonly number[]
        /** `counts`: of each bucket alone, one more than there are bounds. */
        readonly points: readonly (PointReading & {
          readonly counts: readonly number[]
          readonly sum: number
        })[]
      }
  )

/** Metrics appear in the order in which they were made. Without labels a metric has one series: `{}`. */
export interface Registry {
  counter<Label extends string = never>(
    name: string,
    help: string,
    labels?: readonly Label[],
  ): Counter<Label>
  gauge<Label extends string = never>(
    name: string,
    help: string,
    labels?: readonly Label[],
  ): Gauge<Label>
  /** A gauge without labels whose value is read for each text. */
  readGauge(name: string, help: string, read: () => number): void
  /** `bounds`: of its buckets, ascending; the last bucket has none. */
  histogram<Label extends string = never>(
    described: Described & {
      readonly bounds: readonly number[]
      readonly labels?: readonly Label[]
    },
  ): Histogram<Label>
  text(): string
  read(): readonly MetricReading[]
}

/** The value of the `Content-Type` header for the text. */
export const contentType = 'text/plain; version=0.0.4; charset=utf-8'

export function makeRegistry(): Registry {
  const readers: (() => MetricReading)[] = []
  return {
    counter(name, help, labels = []) {
      const series = makeSeries(labels, makeNumber)
      readers.push(() => ({ name, help, type: 'counter', points: series.list() }))
      series.begin()
      return {
        add(given, by = 1) {
          series.find(given).value += by
        },
      }
    },
    gauge(name, help, labels = []) {
      const series = makeSeries(labels, makeNumber)
      readers.push(() => ({ name, help, type: 'gauge', points: series.list() }))
      return {
        set(given, value) {
          series.find(given).value = value
        },
        clear: series.clear,
      }
    },
    readGauge(name, help, read) {
      readers.push(() => ({ name, help, type: 'gauge', points: [{ labels: {}, value: read() }] }))
    },
    histogram({ name, help, bounds, labels = [] }) {
      const series = makeSeries(labels, () => ({ counts: [...bounds.map(() => 0), 0], sum: 0 }))
      readers.push(() => ({ name, help, type: 'histogram', bounds, points: series.list() }))
      series.begin()
      return {
        observe(given, value) {
          const found = series.find(given)
          found.sum += value
          let at = 0
          while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1
          found.counts[at] = (found.counts[at] ?? 0) + 1
        },
      }
    },
    read: () => readers.map((read) => read()),
    text: () => `${readers.map((read) => toText(read())).join('\n\n')}\n`,
  }
}

function toText({ name, help, ...metric }: MetricReading): string {
  const lines =
    metric.type === 'histogram'
      ? metric.points.flatMap((point) => toHistogramLines(name, metric.bounds, point))
      : metric.points.map(({ labels, value }) => `${name}${inBraces(toPairs(labels))} ${value}`)
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${metric.type}`, ...lines].join('\n')
}

/** One series: its labels, and what was counted. */
type Series<Counted> = Counted & PointReading

const makeNumber = () => ({ value: 0 })

function toHistogramLines(
  name: string,
  bounds: readonly number[],
  { labels, counts, sum }: PointReading & { counts: readonly number[]; sum: number },
): readonly string[] {
  let below = 0
  const pairs = toPairs(labels)
  const buckets = counts.map((count, at) => {
    below += count
    return `${name}_bucket${inBraces([`le="${bounds[at] ?? '+Inf'}"`, ...pairs])} ${below}`
  })
  const series = inBraces(pairs)
  return [...buckets, `${name}_sum${series} ${sum}`, `${name}_count${series} ${below}`]
}

const toPairs = (labels: PointReading['labels']): readonly string[] =>
  Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(value)}"`)

const inBraces = (labels: readonly string[]) => (labels.length === 0 ? '' : `{${labels.join(',')}}`)

interface Node<Counted> {
  readonly next: Map<string | number, Node<Counted>>
  series: Series<Counted> | null
}

const makeNode = <Counted>(): Node<Counted> => ({ next: new Map(), series: null })

/** The series of one metric, in the order of their first count: one for each combination of labels. */
function makeSeries<Label extends string, Counted>(names: readonly Label[], make: () => Counted) {
  let root = makeNode<Counted>()
  let all: Series<Counted>[] = []

  function open(labels: PointReading['labels']): Series<Counted> {
    const series = { ...make(), labels }
    all.push(series)
    return series
  }

  return {
    find(labels: Labels<Label>): Series<Counted> {
      let node = root
      for (const name of names)
        node = node.next.getOrInsertComputed(labels[name], makeNode<Counted>)
      node.series ??= open(Object.fromEntries(names.map((name) => [name, String(labels[name])])))
      return node.series
    },
    /** A metric without labels has its series from the beginning. */
    begin() {
      if (names.length === 0) root.series = open({})
    },
    list: (): readonly Series<Counted>[] => all,
    clear() {
      root = makeNode()
      all = []
    },
  }
}

function escapeValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}
