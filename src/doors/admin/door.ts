/**
 * The operators' door: the admin API and the paths that monitors ask. It has a listener of its own, never the public
 * one. It translates and refuses; what an action means is decided in the rooms behind it. Bodies are never logged.
 */
import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import { makeTokenCheck, refuseForeignHosts } from './admission.ts'
import { addConnectionRoutes } from './connections.ts'
import type { AdminDoorDeps } from './deps.ts'
import { addDoctorRoute } from './doctor.ts'
import { answerUnknownPath, makeErrorAnswer } from './errors.ts'
import { addKeyRoutes } from './keys.ts'
import { addMonitorRoutes } from './monitor.ts'
import { addUserRoutes } from './users.ts'

export type { AdminDoorDeps } from './deps.ts'

/** Specification, Limits: request body. */
const bodyLimit = 16 * 1024
/** An e-mail address of 254 characters, each of them percent-encoded. */
const maxParamLength = 3 * 254

/** Builds the door; the caller listens and closes. */
export function makeAdminDoor(deps: AdminDoorDeps): FastifyInstance {
  const answerError = makeErrorAnswer(deps.log)
  const app = Fastify({
    logger: false,
    bodyLimit,
    routerOptions: { maxParamLength },
    exposeHeadRoutes: false,
    requestIdHeader: false,
    genReqId: () => randomUUID(),
    requestTimeout: 30_000,
    forceCloseConnections: 'idle',
    frameworkErrors: answerError,
  })
  readJsonOnly(app)
  app.setErrorHandler(answerError)
  app.setNotFoundHandler(answerUnknownPath)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    reply.header('cache-control', 'no-store')
    reply.header('x-content-type-options', 'nosniff')
    refuseForeignHosts(deps.listener, request)
  })
  addMonitorRoutes(app, deps)
  app.register(async (admin) => addAdminRoutes(admin, deps), { prefix: '/admin' })
  return app
}

/** A scope of its own: its hooks guard its routes and its unknown paths, however their URL is spelled. */
function addAdminRoutes(admin: FastifyInstance, deps: AdminDoorDeps): void {
  const checkToken = makeTokenCheck(deps)
  admin.addHook('onRequest', async (request) => checkToken(request))
  admin.addHook('onResponse', async (request, reply) => {
    deps.log.info(
      {
        requestId: request.id,
        method: request.method,
        // The template: addresses of people stand in the path itself.
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
      },
      'admin request',
    )
  })
  admin.setNotFoundHandler(answerUnknownPath)
  addUserRoutes(admin, deps)
  addKeyRoutes(admin, deps)
  addConnectionRoutes(admin, deps)
  addDoctorRoute(admin, deps)
  deps.extension?.(admin)
}

/** JSON alone; an empty body is an absent one, whatever its declared type. */
function readJsonOnly(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    (request, body, done) => {
      if (body === '') done(null, undefined)
      else parseJson(request, body, done)
    },
  )
}
