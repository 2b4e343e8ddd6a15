/**
 * The public listener: one node:http server. `/v1` goes to the REST lane before any router. Doors that know
 * their own paths come next, and everything else goes to Fastify; for paths that no door owns the REST lane
 * answers `not_found` (reading R4). Each of these doors, and Fastify with the doors behind it, is loaded at
 * the first request for it: who only reads through the REST API never pays for them, and an agent does not
 * pay for pages.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { withoutQuery } from './client.ts'
import { bind } from './listener/bind.ts'
import type { ConnectionLimits } from './listener/connection-limits.ts'
import { type DirectDoor, type LateDoors, makeLateRouter } from './listener/late-router.ts'
import { type ListenerTimes, makeListener, type RequestHandler } from './listener/listener.ts'
import { withoutSchemas } from './without-schemas.ts'

export interface PublicServerOptions {
  /** The REST lane; it also answers paths that no door owns. */
  readonly lane: RequestHandler
  /** Doors that need no router. */
  readonly direct: readonly DirectDoor[]
  /** Mounts the other doors, at the first request for none of those. */
  readonly mount: (fastify: FastifyInstance) => Promise<void>
  /** Throws when they must not be loaded; absent: they may. */
  readonly checkCode?: () => void
  /** Wraps the handler of every request; absent: nothing does. */
  readonly around?: (handler: RequestHandler) => RequestHandler
  /** The other doors could not be loaded. */
  readonly onFailure: (error: unknown) => void
  readonly times?: ListenerTimes
  readonly limits?: ConnectionLimits
}

export interface PublicServer {
  /** Binds and resolves with the port; rejects when the port is in use. */
  listen(host: string, port: number): Promise<number>
  /** Refuses new connections; requests in flight may finish within `graceMs`, then they are aborted. */
  drain(graceMs: number): Promise<void>
}

export function makePublicServer(options: PublicServerOptions): PublicServer {
  const { lane, checkCode, onFailure } = options
  const listener = makeListener(options.times, options.limits)
  const openLater = (open: () => Promise<LateDoors>) =>
    makeLateRouter(async () => {
      checkCode?.()
      return open()
    }, onFailure)
  const direct = options.direct.map(({ owns, open }) => ({ owns, ...openLater(open) }))
  const routed = openLater(() => openRouter(options))
  const serve: RequestHandler = (request, response) => {
    const url = request.url ?? '/'
    // Such a target (`*`) is no path, so that no door owns it (RFC 9112 §3.2.4).
    if (isRest(url) || !url.startsWith('/')) return lane(request, response)
    const path = withoutQuery(url)
    const door = direct.find(({ owns }) => owns(request.method, path)) ?? routed
    door.serve(request, response)
  }
  return {
    listen: (host, port) => bind(listener, options.around?.(serve) ?? serve, host, port),
    async drain(graceMs) {
      await listener.drain(graceMs)
      await Promise.all([...direct, routed].map((door) => door.close()))
    },
  }
}

/** Fastify as a router alone: it listens to nothing. */
async function openRouter({ lane, mount }: PublicServerOptions): Promise<LateDoors> {
  const { default: Fastify } = await import('fastify')
  const answerUnknown = (request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack()
    lane(request.raw, reply.raw)
  }
  const fastify = Fastify({
    schemaController: withoutSchemas,
    exposeHeadRoutes: false,
    // A path that cannot be decoded belongs to no door.
    frameworkErrors: (_error, request, reply) => answerUnknown(request, reply),
  })
  // Each door says what it reads, and reads it by `readBody`.
  fastify.removeAllContentTypeParsers()
  // Before a body is read, and for a path below a door's own that turns out to name nothing.
  fastify.addHook('onRequest', async (request, reply) => {
    if (request.is404) answerUnknown(request, reply)
  })
  fastify.setNotFoundHandler(answerUnknown)
  await mount(fastify)
  await fastify.ready()
  return { serve: fastify.routing, close: () => fastify.close() }
}

/** `/v1` and everything below it. */
function isRest(url: string): boolean {
  if (!url.startsWith('/v1')) return false
  return url.length === 3 || url[3] === '/' || url[3] === '?'
}
