/**
 * The deliveries of a service on one store. `/round` accepts as many events as it says, then starts the
 * worker and answers with the milliseconds until all are delivered and kept; `/latency` accepts one after
 * another while the worker runs. Arguments: the URL of the receiver, the place of the store as JSON.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { EventId } from '#kernel/ids.ts'
import { systemClock } from '#kernel/time.ts'
import { makeGuardedAgent } from '#outbound/guarded-agent.ts'
import type { WebhooksReport } from '#webhooks/options.ts'
import { makePost, type Post } from '#webhooks/post.ts'
import { maxDeliveriesInFlight, startDeliveryWorker } from '#webhooks/worker.ts'
import { makeEvent } from './deliver-messages.ts'
import { fillFleet } from './fleet/fill.ts'
import { readBackends } from './fleet/servers.ts'
import { openPlace, withEngine } from './ground.ts'
import { serveChild } from './serve.ts'
import { measureStall, type StallSpan } from './span.ts'

const url = process.argv[2] ?? ''
const place = JSON.parse(process.argv[3] ?? '{}')
const endpoints = 16
const pauseMs = 20
/** As src/app/deliveries.ts has them. */
const writers = 1

const people = await withEngine(place, (engine) => {
  const now = Date.now()
  const size = { connections: 5 * endpoints, endpoints }
  return fillFleet(engine, { ...size, now, dueAt: () => now + 86_400_000, url })
})
const store = await openPlace(place)
const server =
  place.databaseUrl === null ? null : new Client({ connectionString: place.databaseUrl })
await server?.connect()
const backends = new Map<number, number>()
/** Of the server of PostgreSQL, in milliseconds. */
const readServerMs = async () =>
  server === null ? null : (await readBackends(server, backends)) / 1000

export interface Delivered extends StallSpan {
  /** Null: there is no server. */
  readonly serverMs: number | null
}

const agent = makeGuardedAgent({ allowPrivate: true, connections: maxDeliveriesInFlight })
const postOut = makePost({ agent, allowPrivate: true, userAgent: 'tributary-bench' })
/** When the receiver had the headers of an event, by its monotonic clock. */
const arrivals = new Map<string, bigint>()
const post: Post = async (message, stop) => {
  const posted = await postOut(message, stop)
  arrivals.set(message.headers['webhook-id'] ?? '', BigInt(posted.answer ?? 0))
  return posted
}

/** Runs the worker until it has made the given number of attempts. */
async function deliver(count: number, whileRunning: () => Promise<void>): Promise<Delivered> {
  const done = Promise.withResolvers<void>()
  let left = count
  const fail = (_task: string, error: unknown) => done.reject(error)
  const report: WebhooksReport = {
    attempt({ outcome, failure }) {
      if (outcome !== 'succeeded') done.reject(new Error(failure ?? outcome))
      left -= 1
      if (left === 0) done.resolve()
    },
    warning() {},
    shredded() {},
    failed: fail,
  }
  const jobs = { done() {}, failed: fail }
  const worker = startDeliveryWorker(
    { store, clock: systemClock, post, schedule: [0], redact: (text) => text, report, writers },
    jobs,
  )
  const forget = store.onWork(() => worker.wake())
  const before = await readServerMs()
  const span = await measureStall(async () => {
    worker.wake()
    await Promise.all([whileRunning(), done.promise])
  })
  forget()
  await worker.stop()
  const after = await readServerMs()
  return { ...span, serverMs: before === null || after === null ? null : after - before }
}

/** Spread over all connections, so that lanes do not make them wait for each other. */
async function accept(count: number, rows: number, each: (id: EventId) => Promise<void>) {
  for (let index = 0; index < count; index += 1) {
    const person = people[index % people.length]
    const connection = person?.connections[Math.floor(index / people.length) % 5]
    if (person === undefined || connection === undefined) throw new Error('there are no people')
    const event = makeEvent(person.id, connection, { rows })
    const sealed = await store.events.seal([event])
    await store.transact((tx) => tx.events.accept(sealed))
    await each(event.id)
  }
}

async function measureLatency(count: number, rows: number): Promise<readonly number[]> {
  const accepted = new Map<EventId, bigint>()
  await deliver(count, () =>
    accept(count, rows, async (id) => {
      accepted.set(id, process.hrtime.bigint())
      await sleep(pauseMs)
    }),
  )
  return [...accepted].map(([id, at]) => Number((arrivals.get(id) ?? at) - at) / 1e6)
}

const door = createServer(async (asked, response) => {
  const { pathname, searchParams } = new URL(asked.url ?? '/', 'http://127.0.0.1')
  const [count, rows] = [Number(searchParams.get('count')), Number(searchParams.get('rows'))]
  arrivals.clear()
  if (pathname === '/latency') {
    response.end(JSON.stringify(await measureLatency(count, rows)))
    return
  }
  await accept(count, rows, async () => {})
  response.end(JSON.stringify(await deliver(count, async () => {})))
})
door.listen(0, '127.0.0.1', () => serveChild({ port: (door.address() as AddressInfo).port }))
