/**
 * Receivers that outlive the service: they verify every message, keep what arrived first under each id, and
 * now and then fail, reset or are slow. It alone records which events a receiver got.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '#sandbox/seed.ts'
import { SyncedEvent } from '#tests/support/synced-event.ts'
import { findForgery } from '#webhooks/sign.ts'

export interface ReceiverEndpoint {
  /** Its path, and its name in what is reported. */
  readonly name: string
  /** Set once the endpoint is made. */
  secret: string
  id: string
  /** The first arrival of each event, in order. */
  readonly arrivals: SyncedEvent[]
}

export interface Receiver {
  readonly url: string
  readonly endpoints: readonly ReceiverEndpoint[]
  /** What no receiver may ever see, in words. */
  readonly problems: string[]
  /** Messages so far, those that came again counted. */
  count(): number
  /** Called with every message; what it returns is waited for before the answer. */
  onMessage: () => void | Promise<void>
  /** From now on every message is answered with this status at once. */
  behave(status?: number): void
  close(): Promise<void>
}

interface Parts {
  readonly random: Random
  readonly nowMs: () => number
}

const slowMs = 150

export async function startReceiver({ random, nowMs }: Parts): Promise<Receiver> {
  const endpoints = ['all', 'news'].map(
    (name): ReceiverEndpoint => ({ name, secret: '', id: '', arrivals: [] }),
  )
  const problems: string[] = []
  /** By event, whichever endpoint got it: both are sent the same bytes. */
  const bodies = new Map<string, string>()
  let messages = 0
  let always: number | null = null

  const server = createServer(async (request, response) => {
    const body = await readBody(request).catch(() => null)
    // The sender was killed before it had sent everything.
    if (body === null) return void response.destroy()
    messages += 1
    try {
      take(request, body)
    } catch (error) {
      problems.push(`a message that cannot be read: ${String(error)}`)
    }
    await receiver.onMessage()
    await answer(response)
  })

  function take(request: IncomingMessage, body: Buffer): void {
    const endpoint = endpoints.find(({ name }) => request.url === `/${name}`)
    if (endpoint === undefined) return void problems.push(`a message to ${request.url}`)
    const received = { headers: request.headers, body }
    const forgery = findForgery(received, endpoint.secret, Math.floor(nowMs() / 1000))
    if (forgery !== null) problems.push(`a message to ${endpoint.name}: ${forgery}`)
    const id = String(request.headers['webhook-id'])
    const hash = createHash('sha256').update(body).digest('base64')
    const known = bodies.get(id)
    if (known !== undefined && known !== hash) problems.push(`${id} came with other bytes`)
    bodies.set(id, hash)
    const parsed = SyncedEvent.safeParse(JSON.parse(body.toString('utf8')))
    if (!parsed.success) return void problems.push(`${id} is not an event: ${parsed.error.message}`)
    const envelope = parsed.data
    if (envelope.id !== id) problems.push(`${id} came with the body of ${envelope.id}`)
    if (!endpoint.arrivals.some((one) => one.id === id)) endpoint.arrivals.push(envelope)
  }

  async function answer(response: ServerResponse): Promise<void> {
    if (always !== null) return void response.writeHead(always).end()
    const drawn = random.next()
    if (drawn < 0.06) return void response.writeHead(500).end()
    if (drawn < 0.1) return void response.destroy()
    if (drawn < 0.2) await sleep(slowMs)
    response.writeHead(200).end()
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}`,
    endpoints,
    problems,
    count: () => messages,
    onMessage: () => {},
    behave(status = 200) {
      always = status
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request as AsyncIterable<Uint8Array>) chunks.push(chunk)
  return Buffer.concat(chunks)
}
