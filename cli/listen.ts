/**
 * `tributary webhooks listen`: a receiver on this machine. It creates an endpoint for itself, verifies and
 * prints the events, and removes the endpoint when it ends, also after a failure.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Environment } from '#settings/environment-file.ts'
import { findForgery } from '#webhooks/sign.ts'
import { toPrintable } from './printable.ts'
import { type Server as AdminServer, callServer, findServer, Refusal } from './server.ts'

export interface ListenStart {
  /** Id or e-mail address. */
  readonly user: string
  /** 0: any free one. */
  readonly port: number
  readonly json: boolean
}

export interface ListenTerminal {
  readonly environment: Environment
  readonly workingDirectory: string
  readonly out: (text: string) => void
  /** Resolves when the command is asked to end. */
  readonly untilStopped: () => Promise<void>
  /** Resolves when the output is no longer read. */
  readonly untilUnread: () => Promise<void>
}

/** One object may be larger than a chunk. */
const maxBodyBytes = 16 * 1024 * 1024
const host = '127.0.0.1'

/** Resolves when it was stopped and the endpoint is removed. @throws Refusal */
export async function listen(start: ListenStart, terminal: ListenTerminal): Promise<0> {
  // Registered first: an early stop must not leave an endpoint behind.
  const stopped = Promise.race([terminal.untilStopped(), terminal.untilUnread()])
  const admin = await findServer(terminal.environment, terminal.workingDirectory)
  // Known once the endpoint is created; an event that arrives earlier waits for it.
  const secret = Promise.withResolvers<string>()
  const receiver = createServer((request, response) => {
    receive(request, response, secret.promise)
      .then((arrived) => terminal.out(start.json ? toLine(arrived) : describe(arrived)))
      .catch(() => response.destroy())
  })
  const port = await bind(receiver, start.port)
  try {
    const url = `http://${host}:${port}/`
    const endpoint = await create(admin, start.user, url)
    try {
      secret.resolve(endpoint.secret)
      terminal.out(greet(start, url, endpoint.id))
      await stopped
    } finally {
      await remove(admin, endpoint.id)
    }
  } finally {
    receiver.closeAllConnections()
    receiver.close()
  }
  return 0
}

interface Endpoint {
  readonly id: string
  readonly secret: string
}

async function create(admin: AdminServer, user: string, url: string): Promise<Endpoint> {
  const path = `/admin/users/${encodeURIComponent(user)}/webhooks`
  try {
    return (await callServer(admin, { method: 'POST', path, body: { url } })) as Endpoint
  } catch (error) {
    const isAddress =
      error instanceof Refusal && error.envelope.error.details?.some((line) => /^url: /.test(line))
    if (isAddress !== true) throw error
    const message = 'This server sends no events to private addresses, so none reach this machine'
    const details = [
      'set WEBHOOK_ALLOW_PRIVATE=true on the server and restart it',
      'or make an endpoint with a public address: tributary webhooks create',
    ]
    throw new Refusal({ error: { message, details } }, { cause: error })
  }
}

async function remove(admin: AdminServer, id: string): Promise<void> {
  try {
    await callServer(admin, { method: 'DELETE', path: `/admin/webhooks/${id}`, body: null })
  } catch (error) {
    // It was removed meanwhile, perhaps together with its user.
    if (error instanceof Refusal && error.status === 404) return
    const message = `The webhook endpoint ${id} could not be removed`
    const details = [`remove it: tributary webhooks remove ${id}`]
    throw new Refusal({ error: { message, details } }, { cause: error })
  }
}

function bind(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE'
      const message = isTaken
        ? `port ${port} is taken by another process; choose another one with --port`
        : `port ${port} cannot be listened on (${String(error.code)})`
      reject(new Refusal({ error: { message } }, { cause: error }))
    })
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port))
  })
}

interface Arrived {
  readonly at: Date
  readonly headers: IncomingMessage['headers']
  readonly text: string
  /** Why it is refused; null: it is genuine. */
  readonly forgery: string | null
}

/** Answers 204 to a genuine event and 401 to anything else. */
async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  secret: Promise<string>,
): Promise<Arrived> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > maxBodyBytes) throw new RangeError('the body is too large')
    chunks.push(chunk)
  }
  const at = new Date()
  const body = Buffer.concat(chunks)
  const { headers } = request
  const nowSeconds = Math.floor(at.getTime() / 1000)
  const forgery = findForgery({ headers, body }, await secret, nowSeconds)
  response.writeHead(forgery === null ? 204 : 401).end()
  return { at, headers, text: body.toString('utf8'), forgery }
}

function greet({ user, json }: ListenStart, url: string, id: string): string {
  if (json) return `${JSON.stringify({ listening: { url, webhookId: id } })}\n`
  return `Listening for the events of ${toPrintable(user)} at ${url} until Ctrl-C (endpoint ${id}).\n`
}

/** The body as received: parsing would change integers that a float cannot represent. */
function toLine({ at, headers, text, forgery }: Arrived): string {
  const head = {
    at: at.toISOString(),
    eventId: headers['webhook-id'] ?? null,
    isGenuine: forgery === null,
    problem: forgery,
  }
  const body = read(text) === null ? JSON.stringify(text) : text.replaceAll(/[\r\n]/g, ' ')
  return `${JSON.stringify(head).slice(0, -1)},"body":${body}}\n`
}

function describe({ at, text, forgery }: Arrived): string {
  const envelope = read(text)
  const signature = forgery === null ? 'signature verified' : `REFUSED: ${forgery}`
  const head = envelope === null ? 'no event' : summarise(envelope)
  return `${at.toISOString()}  ${toPrintable(head)}  ${signature}\n  ${toPrintable(text)}\n`
}

/** An event that was fetched, as a line of JSON; the body as received. */
export function toFetchedLine(body: string): string {
  return `${JSON.stringify({ at: new Date().toISOString() }).slice(0, -1)},"body":${body}}\n`
}

/** An event that was fetched, for a person. */
export function describeFetched(body: string): string {
  const envelope = read(body)
  const head = envelope === null ? 'no event' : summarise(envelope)
  return `${new Date().toISOString()}  ${toPrintable(head)}\n  ${toPrintable(body)}\n`
}

interface Envelope {
  readonly type?: unknown
  readonly metadata?: Readonly<Record<string, unknown>>
}

function summarise({ type, metadata = {} }: Envelope): string {
  const { new_count, updated_count, chunk, total_chunks } = metadata
  return `${String(type)}  ${String(new_count)} new, ${String(updated_count)} updated  chunk ${String(chunk)} of ${String(total_chunks)}`
}

/** Null for what is no JSON object. */
function read(text: string): Envelope | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : null
  } catch {
    return null
  }
}
