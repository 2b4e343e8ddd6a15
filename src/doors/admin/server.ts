/** The admin listener answers monitoring at once, everything else by the admin door, loaded when asked. */
import type { FastifyInstance } from 'fastify'
import { bind } from '../listener/bind.ts'
import { makeLateRouter } from '../listener/late-router.ts'
import type { Listener, RequestHandler } from '../listener/listener.ts'
import type { HealthLane } from './health.ts'

export interface AdminServerOptions {
  readonly listener: Listener
  readonly health: HealthLane
  /** Loads the admin door. */
  readonly open: () => Promise<FastifyInstance>
  readonly onFailure: (error: unknown) => void
}

export interface AdminServer {
  /** Binds and resolves with the port; rejects when the port is in use. */
  listen(host: string, port: number): Promise<number>
  /** To be called once the listener is drained. */
  close(): Promise<void>
}

export function makeAdminServer({
  listener,
  health,
  open,
  onFailure,
}: AdminServerOptions): AdminServer {
  const router = makeLateRouter(async () => {
    const door = await open()
    await door.ready()
    return { serve: door.routing, close: () => door.close() }
  }, onFailure)
  const serve: RequestHandler = (request, response) => {
    if (health.owns(request)) void health.serve(request, response)
    else router.serve(request, response)
  }
  return {
    listen: (host, port) => bind(listener, serve, host, port),
    close: router.close,
  }
}
