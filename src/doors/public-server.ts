/**
 * The public listener: one node:http server. `/v1` goes to the REST lane before any router, and so does `/mcp` to the
 * lane of agents; everything else goes to Fastify, and for paths that no door owns the REST lane answers `not_found`
 * (reading R4). Fastify, the doors behind it and the lane of agents are loaded at the first request for them: who only
 * reads through the REST API never pays for them.
 */
import type { FastifyInstance } from 'fastify'
import { bind } from './bind.ts'
import { parseEndedBodies } from './ended-body.ts'
import { type LateDoors, makeLateRouter } from './late-router.ts'
import {
  type ConnectionLimits,
  type Handler,
  type ListenerTimes,
  makeListener,
} from './listener.ts'
import { withoutSchemas } from './without-schemas.ts'

export interface PublicServerOptions {
  /** The REST lane; it also answers paths that no door owns. */
  readonly lane: Handler
  /** Mounts the other doors, at the first request that is not for the lane; returns the lane of agents, if there is one. */
  readonly mount: (fastify: FastifyInstance) => Promise<Handler | null>
  /** Throws when they must not be loaded; absent: they may. */
  readonly checkCode?: () => void
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
  const { lane, onFailure } = options
  const listener = makeListener(options.times, options.limits)
  const doors = makeLateRouter(() => openDoors(options), onFailure)
  const serve: Handler = (request, response) => {
    if (isRest(request.url ?? '/')) lane(request, response)
    else doors.serve(request, response)
  }
  return {
    listen: (host, port) => bind(listener, serve, host, port),
    async drain(graceMs) {
      await listener.drain(graceMs)
      await doors.close()
    },
  }
}

/** Fastify as a router alone: it listens to nothing. */
async function openDoors({ lane, mount, checkCode }: PublicServerOptions): Promise<LateDoors> {
  checkCode?.()
  const { default: Fastify } = await import('fastify')
  const fastify = Fastify({
    schemaController: withoutSchemas,
    exposeHeadRoutes: false,
    // A path that cannot be decoded belongs to no door.
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      lane(request.raw, reply.raw)
    },
  })
  parseEndedBodies(fastify)
  fastify.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return
    reply.hijack()
    lane(request.raw, reply.raw)
  })
  const agents = await mount(fastify)
  await fastify.ready()
  return {
    serve(request, response) {
      if (agents !== null && request.url === '/mcp') agents(request, response)
      else fastify.routing(request, response)
    },
    close: () => fastify.close(),
  }
}

/** `/v1` and everything below it. */
function isRest(url: string): boolean {
  if (!url.startsWith('/v1')) return false
  return url.length === 3 || url[3] === '/' || url[3] === '?'
}
