/**
 * Requests for events that wait (reading R42): the memory and the CPU of a process at which many wait, and
 * how long an event takes to reach those who wait for it.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { type Child, startChild } from './child.ts'
import type { Figure } from './figures.ts'
import { percentile } from './load.ts'

interface Sizes {
  readonly clients: number
  /** Of the clients, those of the user who has the events. */
  readonly own: number
  readonly idleMs: number
  readonly events: number
}

interface Facts {
  readonly port: number
  readonly key: string
  /** Of a user who has no events. */
  readonly otherKey: string
  readonly doorPort: number
}

const usual: Sizes = { clients: 5000, own: 100, idleMs: 20_000, events: 30 }
/** Connections that are opened at once. */
const openedAtOnce = 100
const [mostMb, mostCpu, mostMs] = [150, 1, 100]

export async function measureWaits({ clients, own, idleMs, events } = usual): Promise<Figure[]> {
  const provider = await startChild<object>('./hit-provider.ts', { core: 1 })
  const child = await startChild<Facts>('./waits-process.ts', {
    args: [JSON.stringify(provider.facts)],
    isService: true,
  })
  const sockets: Waiting[] = []
  try {
    await child.collect()
    const idle = await child.usage()
    const alone = await measureShare(child, idleMs)
    while (sockets.length < clients) {
      const { port, key, otherKey } = child.facts
      const count = Math.min(openedAtOnce, clients - sockets.length)
      const some = Array.from({ length: count }, (_, index) =>
        open(port, sockets.length + index < own ? key : otherKey),
      )
      sockets.push(...(await Promise.all(some)))
    }
    // What the connections themselves cost has settled.
    await sleep(idleMs / 4)
    const waiting = await measureShare(child, idleMs)
    const after = await child.usage()
    const latencies = await measureEvents(child, sockets.slice(0, own), events)
    return toFigures(clients, {
      memoryMb: (after.rssBytes - idle.rssBytes) / 1024 / 1024,
      // The measurement itself has its share.
      share: waiting - alone,
      p50: percentile(latencies, 0.5),
      p95: percentile(latencies, 0.95),
    })
  } finally {
    for (const { socket } of sockets) socket.destroy()
    await Promise.all([child.stop(), provider.stop()])
  }
}

interface Waiting {
  readonly socket: Socket
  /** Sends a request that waits for the next event. */
  ask(): void
  /** Resolves when the answer to it begins. */
  answered(): Promise<void>
}

/** Percent of one core. */
async function measureShare(child: Child<Facts>, ms: number): Promise<number> {
  const before = await child.usage()
  await sleep(ms)
  const after = await child.usage()
  return (after.cpuMicros - before.cpuMicros) / 10 / ms
}

async function open(port: number, key: string): Promise<Waiting> {
  const socket = connect(port, '127.0.0.1')
  await new Promise((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  let after = ''
  let answer = Promise.withResolvers<void>()
  const waiting: Waiting = {
    socket,
    ask() {
      answer = Promise.withResolvers()
      const query = `wait=55${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`
      socket.write(
        `GET /v1/events?${query} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n\r\n`,
      )
    },
    answered: () => answer.promise,
  }
  socket.on('data', (chunk: Buffer) => {
    const text = chunk.toString('latin1')
    if (text.startsWith('HTTP/') && !text.startsWith('HTTP/1.1 200'))
      answer.reject(new Error(text.slice(0, 300)))
    after = /"next":"([^"]+)"/.exec(text)?.[1] ?? after
    answer.resolve()
  })
  socket.on('error', (error) => answer.reject(error))
  waiting.ask()
  return waiting
}

/** Milliseconds from the acceptance of each event to the answer of each client, sorted. */
async function measureEvents(
  { facts }: Child<Facts>,
  sockets: readonly Waiting[],
  events: number,
): Promise<Float64Array> {
  const latencies: number[] = []
  for (let event = 0; event < events; event += 1) {
    const { body } = await request(`http://127.0.0.1:${facts.doorPort}/`)
    await body.dump()
    const at = performance.now()
    const note = () => latencies.push(performance.now() - at)
    await Promise.all(sockets.map(({ answered }) => answered().then(note)))
    for (const { ask } of sockets) ask()
    await sleep(200)
  }
  return Float64Array.from(latencies).sort()
}

interface Measured {
  readonly memoryMb: number
  /** Percent of one core. */
  readonly share: number
  readonly p50: number
  readonly p95: number
}

function toFigures(clients: number, { memoryMb, share, p50, p95 }: Measured): Figure[] {
  const who = `${clients.toLocaleString('en')} waiting clients`
  return [
    figure(`resident memory over idle, ${who}`, `${memoryMb.toFixed(0)} MB`, {
      goal: `≤ ${mostMb} MB`,
      met: memoryMb <= mostMb,
    }),
    figure(
      `CPU of one core that they take while nothing happens, ${who}`,
      `${share.toFixed(1)} %`,
      {
        goal: `≤ ${mostCpu} %`,
        met: share <= mostCpu,
      },
    ),
    figure(
      `from the acceptance of an event to the answer, p50 / p95, ${who}`,
      `${p50.toFixed(0)} / ${p95.toFixed(0)} ms`,
      { goal: `p95 ≤ ${mostMs} ms`, met: p95 <= mostMs },
    ),
  ]
}

function figure(what: string, text: string, verdict: Pick<Figure, 'goal' | 'met'>): Figure {
  return { bench: 'waits', what, figure: text, anchor: '', ratio: '', ...verdict }
}
