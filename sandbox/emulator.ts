/**
 * The base server of the provider emulators: loopback HTTP that records requests, answers
 * JSON, and can be made slow or faulty. It knows no provider; their rules are in their own folders.
 */
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer } from '#kernel/node-http.ts'
import type { Clock } from '#kernel/time.ts'
import type { WebhookSender } from './webhook-sender.ts'

export interface EmulatorRequest {
  readonly method: string
  /** Path exactly as requested, without the query. */
  readonly path: string
  /** The raw query string without "?", exactly as sent. */
  readonly rawQuery: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface EmulatorReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown
}

/** How an answer fails: each kind has been observed at a real provider or network. */
export type Misbehaviour =
  | { readonly kind: 'reply'; readonly reply: EmulatorReply }
  | { readonly kind: 'reset' }
  | { readonly kind: 'truncate'; readonly afterBytes: number }
  | { readonly kind: 'hang' }
  | { readonly kind: 'drip'; readonly everyMs: number }
  | { readonly kind: 'endless' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'edit'; readonly edit: (reply: EmulatorReply) => EmulatorReply }

export interface Fault {
  /** Which requests it affects; every request when absent. */
  readonly when?: (request: EmulatorRequest) => boolean
  /** How many of them; unlimited when absent. */
  readonly times?: number
  readonly does: Misbehaviour
}

export interface Emulator {
  /** Origin, e.g. `http://127.0.0.1:40123`. */
  readonly url: string
  /** Every request so far, newest last (bounded: the oldest are dropped beyond 10,000). */
  readonly requests: EmulatorRequest[]
  /** Requests that the client aborted before their answer was complete. */
  readonly aborted: EmulatorRequest[]
  /** Delays every answer. */
  latencyMs: number
  addFault(fault: Fault): void
  clearFaults(): void
  close(): Promise<void>
}

/** An emulator that also sends webhooks. */
export interface SendingEmulator extends Emulator {
  readonly webhooks: WebhookSender
}

/** Null for an emulator that sends none. */
export function senderOf(emulator: Emulator | SendingEmulator): WebhookSender | null {
  return 'webhooks' in emulator ? emulator.webhooks : null
}

/** Closes the sender with the emulator. */
export function withWebhooks(emulator: Emulator, webhooks: WebhookSender): SendingEmulator {
  const close = emulator.close.bind(emulator)
  return Object.assign(emulator, {
    webhooks,
    async close() {
      await webhooks.close()
      await close()
    },
  })
}

export type Handler = (request: EmulatorRequest) => EmulatorReply | Promise<EmulatorReply>

const maxBodyBytes = 1_048_576
const maxRecorded = 10_000

export interface EmulatorOptions {
  /** 0, or absent: any free one. */
  readonly port?: number
  /** The time in the `Date` header; the machine's own when absent. */
  readonly clock?: Clock
}

/** Listens on loopback and answers with `handler` unless a fault applies. */
export async function startEmulator(
  handler: Handler,
  options: EmulatorOptions = {},
): Promise<Emulator> {
  const faults: { fault: Fault; left: number }[] = []
  const requests: EmulatorRequest[] = []
  const aborted: EmulatorRequest[] = []
  const stopping = new AbortController()

  const server: Server = createServer(async (incoming, response) => {
    // A client that aborts ends only its own connection.
    response.on('error', () => {})
    const body = await readBody(incoming).catch(() => null)
    if (body === null) return void response.destroy()
    const request = toRequest(incoming, body)
    if (options.clock !== undefined) {
      response.setHeader('date', new Date(options.clock.now()).toUTCString())
    }
    requests.push(request)
    if (requests.length > maxRecorded) requests.shift()
    response.on('close', () => {
      if (!response.writableFinished) aborted.push(request)
    })
    const entry = faults.find(({ fault, left }) => left > 0 && (fault.when?.(request) ?? true))
    if (entry !== undefined) entry.left -= 1
    try {
      const wait =
        emulator.latencyMs + (entry?.fault.does.kind === 'delay' ? entry.fault.does.ms : 0)
      if (wait > 0) await sleep(wait, undefined, { signal: stopping.signal })
      await misbehave(entry?.fault.does, request, response)
    } catch (error) {
      if (stopping.signal.aborted) return void response.destroy()
      send(response, { status: 500, body: { message: `emulator: ${String(error)}` } })
    }
  })

  async function misbehave(
    does: Misbehaviour | undefined,
    request: EmulatorRequest,
    response: ServerResponse,
  ) {
    if (does?.kind === 'reset') return void response.socket?.resetAndDestroy()
    if (does?.kind === 'hang') return
    if (does?.kind === 'reply') return send(response, does.reply)
    const reply = await handler(request)
    if (does?.kind === 'edit') return send(response, does.edit(reply))
    if (does?.kind === 'truncate') return truncate(response, reply, does.afterBytes)
    if (does?.kind === 'drip') return drip(response, reply, does.everyMs, stopping.signal)
    if (does?.kind === 'endless') return endless(response, stopping.signal)
    send(response, reply)
  }

  server.keepAliveTimeout = 30_000
  await listen(server, options.port ?? 0)
  const emulator: Emulator = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    aborted,
    latencyMs: 0,
    addFault: (fault) => void faults.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }),
    clearFaults: () => void faults.splice(0),
    close: () =>
      new Promise((resolve) => {
        stopping.abort()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return emulator
}

function toRequest(incoming: IncomingMessage, body: string): EmulatorRequest {
  const target = incoming.url ?? '/'
  const cut = target.indexOf('?')
  const rawQuery = cut === -1 ? '' : target.slice(cut + 1)
  return {
    method: incoming.method ?? 'GET',
    path: cut === -1 ? target : target.slice(0, cut),
    rawQuery,
    query: new URLSearchParams(rawQuery),
    headers: incoming.headers,
    body,
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
}

async function readBody(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size <= maxBodyBytes) chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function encode(reply: EmulatorReply): Buffer {
  if (reply.body === undefined) return Buffer.alloc(0)
  return Buffer.from(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body))
}

function head(reply: EmulatorReply): Record<string, string> {
  return { 'content-type': 'application/json', ...reply.headers }
}

function send(response: ServerResponse, reply: EmulatorReply): void {
  const bytes = encode(reply)
  response.writeHead(reply.status, { ...head(reply), 'content-length': String(bytes.length) })
  response.end(bytes)
}

function truncate(response: ServerResponse, reply: EmulatorReply, afterBytes: number): void {
  const bytes = encode(reply)
  response.writeHead(reply.status, { ...head(reply), 'content-length': String(bytes.length) })
  response.write(bytes.subarray(0, afterBytes), () => response.socket?.resetAndDestroy())
}

async function drip(
  response: ServerResponse,
  reply: EmulatorReply,
  everyMs: number,
  signal: AbortSignal,
) {
  const bytes = encode(reply)
  response.writeHead(reply.status, { ...head(reply), 'content-length': String(bytes.length) })
  for (let index = 0; index < bytes.length && !response.destroyed; index += 1) {
    response.write(bytes.subarray(index, index + 1))
    await sleep(everyMs, undefined, { signal })
  }
  response.end()
}

async function endless(response: ServerResponse, signal: AbortSignal): Promise<void> {
  const chunk = Buffer.alloc(65_536, 32)
  let wake = () => {}
  // One listener each for the whole answer: one per wait would accumulate thousands.
  response.on('drain', () => wake()).on('close', () => wake())
  response.writeHead(200, { 'content-type': 'application/json' })
  while (!response.destroyed && !signal.aborted) {
    const drained = new Promise<void>((resolve) => {
      wake = resolve
    })
    await (response.write(chunk) ? sleep(0) : drained)
  }
}
