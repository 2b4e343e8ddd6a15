/**
 * A load generator that uses little CPU: keep-alive sockets that send one prepared request, count the bytes
 * of its answer by Content-Length, and send the next. It knows nothing about the server.
 */
import { connect, type Socket } from 'node:net'
import type { Child } from './child.ts'
import type { Sample } from './turns.ts'

export interface LoadOptions {
  readonly port: number
  /** Called before each request where every request has another. */
  readonly path: string | (() => string)
  readonly headers?: Readonly<Record<string, string>>
  /** With a body the request is a POST. */
  readonly body?: string
  readonly connections: number
  readonly durationMs: number
}

export interface LoadResult {
  readonly requests: number
  /** Milliseconds of each answer, sorted. */
  readonly latencies: Float64Array
  /** Answers whose status was not 200. */
  readonly failures: number
  readonly elapsedMs: number
}

const headEnd = Buffer.from('\r\n\r\n')

/** Generates load for the given time; rejects when a connection is lost. */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const { path, headers = {}, body } = options
  const length = body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`]
  const method = body === undefined ? 'GET' : 'POST'
  const rest = [
    'host: 127.0.0.1',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...length,
    '',
    body ?? '',
  ].join('\r\n')
  const toRequest = (one: string) => Buffer.from(`${method} ${one} HTTP/1.1\r\n${rest}`)
  const prepared = typeof path === 'string' ? toRequest(path) : null
  const next = () => prepared ?? toRequest(typeof path === 'string' ? path : path())
  const latencies: number[] = []
  let failures = 0
  const stayAwake = keepAwake()
  const started = performance.now()
  const until = started + options.durationMs
  await Promise.all(
    Array.from({ length: options.connections }, () =>
      drive(connect(options.port, '127.0.0.1'), next, until, (ms, ok) => {
        latencies.push(ms)
        if (!ok) failures += 1
      }),
    ),
  )
  const elapsedMs = performance.now() - started
  stayAwake.stop()
  return {
    requests: latencies.length,
    latencies: Float64Array.from(latencies).sort(),
    failures,
    elapsedMs,
  }
}

/**
 * Keeps this process from sleeping between two answers. Waking a sleeping process costs the writer several
 * microseconds, most for the slower candidate, whose answers leave the load generator more time to sleep.
 */
function keepAwake() {
  let awake = true
  const turn = () => {
    if (awake) setImmediate(turn)
  }
  turn()
  return {
    stop() {
      awake = false
    },
  }
}

function drive(
  socket: Socket,
  next: () => Buffer,
  until: number,
  answered: (ms: number, ok: boolean) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let missing = -1
    let held: Buffer | null = null
    let ok = false
    let sentAt = 0
    const send = () => {
      sentAt = performance.now()
      socket.write(next())
    }
    const finish = () => {
      answered(performance.now() - sentAt, ok)
      missing = -1
      if (performance.now() < until) return send()
      socket.destroy()
      resolve()
    }
    socket.setNoDelay(true)
    socket.on('error', reject)
    socket.on('connect', send)
    socket.on('data', (chunk: Buffer) => {
      if (missing >= 0) {
        missing -= chunk.length
        if (missing === 0) finish()
        return
      }
      const bytes: Buffer = held === null ? chunk : Buffer.concat([held, chunk])
      const end = bytes.indexOf(headEnd)
      if (end === -1) {
        held = bytes
        return
      }
      held = null
      const head = bytes.subarray(0, end).toString('latin1')
      const length = /content-length: (\d+)/i.exec(head)?.[1]
      if (length === undefined) return reject(new Error(`no Content-Length: ${head}`))
      ok = head.startsWith('HTTP/1.1 200')
      missing = Number(length) - (bytes.length - end - 4)
      if (missing === 0) finish()
    })
  })
}

/** Puts load on a child and measures: requests per second, CPU per request, latencies in milliseconds. */
export async function measureLoad(child: Child<unknown>, options: LoadOptions): Promise<Sample> {
  const before = await child.usage()
  const result = await load(options)
  const after = await child.usage()
  if (result.failures > 0) throw new Error(`${result.failures} answers were not 200`)
  return {
    requests: result.requests,
    rate: (result.requests / result.elapsedMs) * 1000,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / result.requests,
    p50: percentile(result.latencies, 0.5),
    p99: percentile(result.latencies, 0.99),
  }
}

/** The value below which a share of the sorted values lies. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
