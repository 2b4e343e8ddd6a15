/**
 * The public listener: one node:http server. `/v1` goes to the REST lane before any router; everything else to Fastify
 * behind the same server, and what no door owns comes back to the lane's `not_found` (reading R4). Every wait of a slow
 * or silent client is bounded here.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import {
  answerTunnel,
  answerUnparsed,
  hasProperHost,
  refuseHost,
  toOriginForm,
} from './unparsed-requests.ts'

export interface PublicServerOptions {
  /** The REST lane; it also answers for whatever no door owns. */
  readonly lane: (request: IncomingMessage, response: ServerResponse) => void
  /** Mounts the other doors. */
  readonly mount: (fastify: FastifyInstance) => Promise<void>
  readonly times?: ListenerTimes
}

/** How long the listener waits for a client, in milliseconds. */
export interface ListenerTimes {
  /** For a whole head, from the connection or from its first byte. */
  readonly headers: number
  /** For a whole request, its body included. */
  readonly request: number
  /** Between two requests. */
  readonly keepAlive: number
  /** For a sign of life while an answer is awaited or written. Must be longer than any answer takes. */
  readonly silence: number
  /** How often heads and requests are looked at. */
  readonly check: number
}

export interface PublicServer {
  /** Binds and resolves with the port; rejects when the port is taken. */
  listen(host: string, port: number): Promise<number>
  /** No new connections; those in flight finish, at most for `graceMs`, then they are cut off. */
  drain(graceMs: number): Promise<void>
}

export const listenerTimes: ListenerTimes = {
  headers: 15_000,
  request: 30_000,
  /** Above the idle time of the usual proxies in front (60 s), so that they close first. */
  keepAlive: 75_000,
  silence: 240_000,
  check: 5000,
}
const maxConnections = 10_000

export async function makePublicServer(options: PublicServerOptions): Promise<PublicServer> {
  const { lane, times = listenerTimes } = options
  const answers: Answers = { areLast: false, awaited: new Set() }
  let server: Server | null = null

  const fastify = Fastify({
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    serverFactory: (handler) => {
      server = makeServer(times, answers, (request, response) => {
        if (!hasProperHost(request)) return refuseHost(response)
        request.url = toOriginForm(request.url ?? '/')
        if (isRest(request.url)) lane(request, response)
        else handler(request, response)
      })
      return server
    },
    clientErrorHandler: answerUnparsed,
    // A path that cannot be decoded is owned by nobody.
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      lane(request.raw, reply.raw)
    },
  })
  fastify.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return
    reply.hijack()
    lane(request.raw, reply.raw)
  })
  await options.mount(fastify)
  await fastify.ready()

  return {
    async listen(host, port) {
      await fastify.listen({ host, port })
      return (fastify.server.address() as AddressInfo).port
    },
    async drain(graceMs) {
      answers.areLast = true
      for (const response of answers.awaited) response.shouldKeepAlive = false
      const running = server
      if (running === null || !running.listening) return
      const cut = setTimeout(() => running.closeAllConnections(), graceMs)
      await new Promise<void>((resolve) => {
        running.close(() => resolve())
        running.closeIdleConnections()
      })
      clearTimeout(cut)
      await fastify.close()
    },
  }
}

/** While draining, every answer is the last one of its connection, and says so: also one that was begun before. */
interface Answers {
  areLast: boolean
  /** Those that were not written in the turn of their request. */
  readonly awaited: Set<ServerResponse>
}

function makeServer(
  times: ListenerTimes,
  answers: Answers,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const server = createServer(
    {
      headersTimeout: times.headers,
      requestTimeout: times.request,
      keepAliveTimeout: times.keepAlive,
      connectionsCheckingInterval: times.check,
      // Judged by `hasProperHost`, so that the refusal is the envelope.
      requireHostHeader: false,
    },
    (request, response) => {
      if (answers.areLast) response.shouldKeepAlive = false
      handler(request, response)
      if (!response.writableEnded) {
        answers.awaited.add(response)
        response.once('close', () => answers.awaited.delete(response))
      }
      // A client that stops reading its answer holds nothing for ever. Node's own timer for this would be set anew with
      // every request; most are answered and sent by now, and need none.
      if (!isSent(response)) request.socket.setTimeout(times.silence)
    },
  )
  server.maxConnections = maxConnections
  // RFC 9110 §10.1.1: an expectation that nobody knows may be ignored.
  server.on('checkExpectation', handler)
  server.on('connect', (_request, socket) => answerTunnel(socket))
  return server
}

/** The answer is complete and the system has taken all of it. */
function isSent(response: ServerResponse): boolean {
  return response.writableEnded && response.socket?.writableLength === 0
}

/** `/v1` and everything below it. */
function isRest(url: string): boolean {
  if (!url.startsWith('/v1')) return false
  return url.length === 3 || url[3] === '/' || url[3] === '?'
}
