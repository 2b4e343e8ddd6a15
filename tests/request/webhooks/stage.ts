/**
 * Deliveries as a process makes them: a real store, the worker, the guarded way out, and receivers that
 * really listen. The clock stands still until it is moved; then the worker looks again.
 */

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { byOperator } from '#contract/actor.ts'
import type { SyncEventType } from '#contract/events.ts'
import {
  type ConnectionId,
  type EndpointId,
  newId,
  type SyncRunId,
  type UserId,
} from '#kernel/ids.ts'
import { reconnectDueAt } from '#mail/reconnect-due.ts'
import { makeGuardedAgent } from '#outbound/guarded-agent.ts'
import type { DeliveryRow } from '#store/ports/deliveries.ts'
import type { Store } from '#store/ports/store.ts'
import { makeRedactor } from '#telemetry/redact.ts'
import { makeMigratedPlace, type Place } from '#tests/contract/store/place.ts'
import { addUser } from '#tests/contract/store/rows.ts'
import { makeEvents } from '#webhooks/envelope.ts'
import type { DeliverOptions, WebhooksReport } from '#webhooks/options.ts'
import { makePost } from '#webhooks/post.ts'
import { makeWebhooks, type Webhooks } from '#webhooks/webhooks.ts'
import { maxDeliveriesInFlight, startDeliveryWorker } from '#webhooks/worker.ts'

export const start = Date.UTC(2026, 10, 20, 3, 15)
export const schedule = [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly id: string
}

export type Answer = (response: ServerResponse, received: Received) => void

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  /** How it answers from now on. */
  answer: Answer
}

export const withStatus =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end()

export interface Stage {
  readonly store: Store
  readonly webhooks: Webhooks
  readonly userId: UserId
  readonly attempts: Parameters<WebhooksReport['attempt']>[0][]
  readonly warnings: Parameters<WebhooksReport['warning']>[0][]
  readonly failures: unknown[]
  now(): number
  /** Moves the clock, and lets the worker look. */
  pass(ms: number): void
  receive(answer?: Answer): Promise<Receiver>
  /** An endpoint of the user at this URL. */
  addEndpoint(url: string, input?: object): Promise<{ id: EndpointId; secret: string }>
  /** Accepts the events of one run; resolves to their ids in order. */
  emit(news?: readonly string[], run?: EmitOptions): Promise<readonly string[]>
  /** One more process, with a store of its own. */
  addWorker(): Promise<void>
  /** Oldest first. */
  deliveries(id: EndpointId): Promise<readonly DeliveryRow[]>
}

export interface EmitOptions {
  readonly connectionId?: ConnectionId
  readonly type?: SyncEventType
  readonly userId?: UserId
}

export interface StageOptions {
  readonly place?: Place
  readonly timeoutMs?: number
  readonly schedule?: readonly number[]
  /** Resolves the names of receivers. */
  readonly lookup?: LookupFunction
  /** After an attempt was stored and before its endpoint is released. */
  readonly onAttempt?: () => void
  /** How many processes send, each with a store of its own; one when absent. */
  readonly workers?: number
}

/** Opens it; the test's end takes it down. */
export async function openStage(t: TestContext, options: StageOptions = {}): Promise<Stage> {
  const place = options.place ?? makeMigratedPlace()
  const store = await place.open({ reconnectDueAt })
  const { id: userId } = await addUser(store)
  let now = start
  const clock = { now: () => now }
  const attempts: Stage['attempts'] = []
  const warnings: Stage['warnings'] = []
  const failures: unknown[] = []
  const report: WebhooksReport = {
    attempt(event) {
      attempts.push(event)
      options.onAttempt?.()
    },
    shredded: () => {},
    warning: (event) => void warnings.push(event),
    failed: (task, error) => void failures.push(error ?? task),
  }
  const stores: Store[] = [store]
  const workers: ReturnType<typeof startWorker>[] = []
  async function addWorker(): Promise<void> {
    // SQLite lets one process open a store.
    const own = workers.length === 0 ? store : await place.open()
    if (own !== store) stores.push(own)
    workers.push(startWorker(own, { clock, report, options }))
  }
  t.after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()))
    await Promise.all(stores.map((own) => own.close()))
    await place.remove()
  })
  for (let count = 0; count < (options.workers ?? 1); count += 1) await addWorker()
  return {
    store,
    webhooks: makeWebhooks({ store, clock, allowPrivate: true }),
    userId,
    addWorker,
    attempts,
    warnings,
    failures,
    now: () => now,
    pass(ms) {
      now += ms
      for (const worker of workers) worker.wake()
    },
    receive: (answer) => startReceiver(t, answer ?? withStatus(200)),
    async addEndpoint(url, input = {}) {
      const webhooks = makeWebhooks({ store, clock, allowPrivate: true })
      const made = await webhooks.createEndpoint(byOperator, userId, { url, ...input })
      return { id: made.row.id, secret: made.secret }
    },
    async emit(news = [], run = {}) {
      const events = makeEvents({
        userId: run.userId ?? userId,
        connectionId: run.connectionId ?? newId<ConnectionId>(),
        runId: newId<SyncRunId>(),
        type: run.type ?? 'transactions.synced',
        createdAt: now,
        new: news,
        updated: [],
      })
      const sealed = await store.events.seal(events)
      await store.events.accept(sealed)
      return sealed.map(({ id }) => id)
    },
    async deliveries(id) {
      return [...(await store.deliveries.list(id, { after: null, limit: 1000 }))].reverse()
    },
  }
}

export interface WorkerOptions {
  readonly clock: { now(): number }
  readonly report: WebhooksReport
  readonly options?: Pick<StageOptions, 'timeoutMs' | 'schedule' | 'lookup'>
}

/** Sends what is due in this store, until it is stopped. */
export function startWorker(store: Store, options: WorkerOptions) {
  const { agent, sending } = makeDeliverOptions(store, options)
  const worker = startDeliveryWorker(sending, { done: () => {}, failed: options.report.failed })
  const unsubscribe = store.onWork((kind) => {
    if (kind === 'delivery') worker.wake()
  })
  return {
    wake: worker.wake,
    async stop() {
      unsubscribe()
      await worker.stop()
      await agent.destroy()
    },
  }
}

/** What sending needs; the caller destroys the agent. */
function makeDeliverOptions(store: Store, { clock, report, options = {} }: WorkerOptions) {
  const agent = makeGuardedAgent({
    allowPrivate: true,
    connections: maxDeliveriesInFlight,
    ...(options.lookup === undefined ? {} : { lookup: options.lookup }),
  })
  const timeoutMs = options.timeoutMs ?? 5000
  const post = makePost({ agent, allowPrivate: true, userAgent: 'tributary/test', timeoutMs })
  const sending: DeliverOptions = {
    store,
    clock,
    post,
    schedule: options.schedule ?? schedule,
    redact: makeRedactor(),
    report,
    writers: 1,
    random: () => 0.5,
  }
  return { agent, sending }
}

/** A receiver on this machine, for as long as the test runs. */
export async function startReceiver(t: TestContext, answer: Answer): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk)
    const { headers } = request
    const body = Buffer.concat(chunks).toString('utf8')
    const one = { headers, body, id: String(headers['webhook-id']) }
    received.push(one)
    receiver.answer(response, one)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = { url: `http://127.0.0.1:${port}/hook`, received, answer }
  return receiver
}

/** Time for the worker to do what it must not do: it has looked for work several times. */
export const aWhile = () => wait(1500)
