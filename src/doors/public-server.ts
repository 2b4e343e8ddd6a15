/**
 * The public listener: one node:http server. `/v1` goes to the REST lane before any router, and so does `/mcp` to the
 * lane of agents; everything else goes to Fastify, and for paths that no door owns the REST lane answers `not_found`
 * (reading R4). Fastify, the doors behind it and the lane of agents are loaded at the first request for them: who only
 * reads through the REST API never pays for them.
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
  /** Mounts the other doors, at the first request that is not for the lane; returns the lane of agents, if there is one. */
  readonly mount: (fastify: FastifyInstance) => Promise<Handler | null>
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
  let doors: Doors | null = null
  let isClosing = false
  const load = lazily(async () => {
    const opened = await openDoors(options)
    // The request that waited for them has been aborted, and nothing else closes them.
    if (isClosing) await opened.fastify.close()
    doors = opened
    return opened
  })
  const serve: Handler = (request, response) => {
    if (isRest(request.url ?? '/')) return lane(request, response)
    if (doors !== null) return pass(doors, request, response)
    load().then(
      (opened) => pass(opened, request, response),
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
      await doors?.fastify.close()
    },
  }
}

/** Everything but the REST lane. */
interface Doors {
  readonly fastify: FastifyInstance
  readonly agents: Handler | null
}

function pass({ fastify, agents }: Doors, ...exchange: Parameters<Handler>): void {
  if (agents !== null && exchange[0].url === '/mcp') agents(...exchange)
  else fastify.routing(...exchange)
}

/** Fastify as a router alone: it listens to nothing. */
async function openDoors({ lane, mount }: PublicServerOptions): Promise<Doors> {
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
  const agents = await mount(fastify)
  await fastify.ready()
  return { fastify, agents }
}

/** `/v1` and everything below it. */
function isRest(url: string): boolean {
  if (!url.startsWith('/v1')) return false
  return url.length === 3 || url[3] === '/' || url[3] === '?'
}
