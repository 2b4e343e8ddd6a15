/**
 * The public listener: one node:http server. `/v1` goes to the REST lane before any router; everything else goes to
 * Fastify, and for paths that no door owns the lane answers `not_found` (reading R4). Fastify and the doors behind it are
 * loaded at the first request for them: who only reads through the REST API never pays for them.
 */
import type { FastifyInstance } from 'fastify'
import { lazily } from '#kernel/lazily.ts'
import { bind } from './bind.ts'
import {
  type ConnectionLimits,
  type Handler,
  type ListenerTimes,
  makeListener,
} from './listener.ts'
import { answerFailedLoad } from './unparsed-requests.ts'

export interface PublicServerOptions {
  /** The REST lane; it also answers paths that no door owns. */
  readonly lane: Handler
  /** Mounts the other doors, at the first request that is not for the lane. */
  readonly mount: (fastify: FastifyInstance) => Promise<void>
  /** The other doors could not be loaded; the next request tries again. */
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
  const { lane } = options
  const listener = makeListener(options.times, options.limits)
  let doors: FastifyInstance | null = null
  let isClosing = false
  const load = lazily(async () => {
    const opened = await openDoors(options)
    // The request that waited for them has been aborted, and nothing else closes them.
    if (isClosing) await opened.close()
    doors = opened
    return opened
  })
  const serve: Handler = (request, response) => {
    if (isRest(request.url ?? '/')) return lane(request, response)
    if (doors !== null) return doors.routing(request, response)
    load().then(
      ({ routing }) => routing(request, response),
      (error: unknown) => {
        options.onFailure(error)
        answerFailedLoad(response)
      },
    )
  }
  const makeServer = () => {
    const server = listener.makeServer(serve)
    return server.on('clientError', listener.clientErrorHandler)
  }
  return {
    listen: (host, port) => bind(makeServer, host, port),
    async drain(graceMs) {
      await listener.drain(graceMs)
      isClosing = true
      await doors?.close()
    },
  }
}

/** Fastify as a router alone: it listens to nothing. */
async function openDoors({ lane, mount }: PublicServerOptions): Promise<FastifyInstance> {
  const { default: Fastify } = await import('fastify')
  const fastify = Fastify({
    exposeHeadRoutes: false,
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
  await mount(fastify)
  await fastify.ready()
  return fastify
}

/** `/v1` and everything below it. */
function isRest(url: string): boolean {
  if (!url.startsWith('/v1')) return false
  return url.length === 3 || url[3] === '/' || url[3] === '?'
}
