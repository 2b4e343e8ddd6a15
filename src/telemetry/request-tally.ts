/**
 * Counts and times requests as plain numbers. Every request is counted here; the metrics library would build names and
 * check labels each time, which costs more than all the other work of a cached answer. Labels come from closed sets
 * only.
 */
import type { OperationName } from '#contract/operations.ts'

/** The facts counted of one request. */
export interface CountedRequest {
  readonly door: 'rest' | 'mcp'
  /** `unknown`: a path that belongs to no operation. */
  readonly operation: OperationName | 'unknown'
  readonly status: number
  readonly cache: 'HIT' | 'MISS' | 'BYPASS'
  readonly durationMs: number
}

export interface RequestTally {
  add(event: CountedRequest): void
  /** `tributary_requests_total` and `tributary_request_duration_seconds` in Prometheus' text format, version 0.0.4. */
  text(): string
}

/** Upper bounds in seconds. */
const bounds = [0.001, 0.005, 0.025, 0.1, 0.5, 2, 10, 60]

interface Count {
  readonly labels: string
  readonly times: Times
  count: number
}

interface Times {
  readonly labels: string
  /** Requests per bucket: above the previous bound, up to this one; the last bucket has no upper bound. */
  readonly buckets: number[]
  sum: number
}

/** Starts empty. It grows with the combinations of operation, status and cache result that occur. */
export function makeRequestTally(): RequestTally {
  const counts: Count[] = []
  const times = new Map<string, Times>()
  // By operation, then by status and cache result packed into one small number: finding a count builds no string.
  const found = new Map<string, Map<number, Count>>()

  function open(event: CountedRequest): Count {
    const { door, operation, status, cache } = event
    const timed = `operation="${operation}",cache="${cache}"`
    const its = times.get(timed) ?? { labels: timed, buckets: bounds.map(() => 0), sum: 0 }
    if (!times.has(timed)) its.buckets.push(0)
    times.set(timed, its)
    const labels = `door="${door}",operation="${operation}",status="${status}",cache="${cache}"`
    const count = { labels, times: its, count: 0 }
    counts.push(count)
    return count
  }

  function find(event: CountedRequest): Count {
    let ofOperation = found.get(event.operation)
    if (ofOperation === undefined) {
      ofOperation = new Map()
      found.set(event.operation, ofOperation)
    }
    const place = (event.status * 3 + caches[event.cache]) * 2 + doors[event.door]
    let count = ofOperation.get(place)
    if (count === undefined) {
      count = open(event)
      ofOperation.set(place, count)
    }
    return count
  }

  return {
    add(event) {
      const count = find(event)
      count.count += 1
      const seconds = event.durationMs / 1000
      count.times.sum += seconds
      let at = 0
      while (at < bounds.length && seconds > (bounds[at] ?? 0)) at += 1
      count.times.buckets[at] = (count.times.buckets[at] ?? 0) + 1
    },
    text: () => [...toCounter(counts), ...toHistogram([...times.values()])].join('\n'),
  }
}

const caches = { HIT: 0, MISS: 1, BYPASS: 2 } as const
const doors = { rest: 0, mcp: 1 } as const

function toCounter(counts: readonly Count[]): string[] {
  const name = 'tributary_requests_total'
  return [
    `# HELP ${name} Requests answered, by operation and outcome.`,
    `# TYPE ${name} counter`,
    ...counts.map(({ labels, count }) => `${name}{${labels}} ${count}`),
    '',
  ]
}

function toHistogram(all: readonly Times[]): string[] {
  const name = 'tributary_request_duration_seconds'
  const lines = all.flatMap(({ labels, buckets, sum }) => {
    let below = 0
    const cumulated = buckets.map((count, at) => {
      below += count
      return `${name}_bucket{le="${bounds[at] ?? '+Inf'}",${labels}} ${below}`
    })
    return [...cumulated, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${below}`]
  })
  return [
    `# HELP ${name} From a request’s arrival to the end of its answer.`,
    `# TYPE ${name} histogram`,
    ...lines,
    '',
  ]
}
