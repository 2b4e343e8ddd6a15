/**
 * The public listener: one node:http server. `/v1` goes to the REST lane before any router; everything else goes to
 * Fastify on the same server, and for paths that no door owns the lane answers `not_found` (reading R4).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import { type ConnectionLimits, type ListenerTimes, makeListener } from './listener.ts'

export interface PublicServerOptions {
  /** The REST lane; it also answers paths that no door owns. */
  readonly lane: (request: IncomingMessage, response: ServerResponse) => void
  /** Mounts the other doors. */
  readonly mount: (fastify: FastifyInstance) => Promise<void>
  readonly times?: ListenerTimes
  readonly limits?: ConnectionLimits
}

export interface PublicServer {
  /** Binds and resolves with the port; rejects when the port is in use. */
  listen(host: string, port: number): Promise<number>
  /** Refuses new connections; requests in flight may finish within `graceMs`, then they are aborted. */
  drain(graceMs: number): Promise<void>
}

export async function makePublicServer(options: PublicServerOptions): Promise<PublicServer> {
  const { lane } = options
  const listener = makeListener(options.times, options.limits)
  const fastify = Fastify({
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    serverFactory: (handler) =>
      listener.makeServer((request, response) => {
        if (isRest(request.url ?? '/')) lane(request, response)
        else handler(request, response)
      }),
    clientErrorHandler: listener.clientErrorHandler,
    // A path that cannot be decoded belongs to no door.
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
      await listener.drain(graceMs)
      await fastify.close()
    },
  }
}

/** `/v1` and everything below it. */
function isRest(url: string): boolean {
  if (!url.startsWith('/v1')) return false
  return url.length === 3 || url[3] === '/' || url[3] === '?'
}
