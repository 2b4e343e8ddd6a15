/**
 * The admin door: the admin API and the monitoring paths. It has its own listener, never the public one. It
 * translates and refuses; the rooms behind it decide what an action means. Bodies are never logged.
 */
import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { lazily } from '#kernel/lazily.ts'
import { readText } from '../listener/request-body.ts'
import { withoutSchemas } from '../without-schemas.ts'
import { makeTokenCheck, refuseForeignHosts } from './admin-auth.ts'
import { answerUnknownPath, makeErrorAnswer } from './errors.ts'
import { type HealthLane, healthPaths, makeHealthLane } from './health.ts'
import type { AdminDoorOptions } from './options.ts'
import { addAdminRoutes } from './routes.ts'

export type { AdminDoorOptions, RequestSync } from './options.ts'

/** An e-mail address of 254 characters, each of them percent-encoded. */
const maxParamLength = 3 * 254

/** Builds the door; it listens to nothing. The caller closes it. */
export function makeAdminDoor(options: AdminDoorOptions): FastifyInstance {
  const answerError = makeErrorAnswer(options.log)
  const app = Fastify({
    schemaController: withoutSchemas,
    logger: false,
    routerOptions: { maxParamLength },
    exposeHeadRoutes: false,
    requestIdHeader: false,
    genReqId: () => randomUUID(),
    // Their requests reach no hook.
    frameworkErrors: (error, request, reply) => {
      setHeaders(request, reply)
      answerError(error, request, reply)
    },
  })
  readJsonOnly(app)
  app.setErrorHandler(answerError)
  app.setNotFoundHandler(answerUnknownPath)
  app.addHook('onRequest', async (request, reply) => {
    setHeaders(request, reply)
    refuseForeignHosts(options.listener, request.headers.host)
  })
  // After the token check and before the body: Fastify has its own rules for bodies by method (QUERY).
  app.addHook('preParsing', async (request, reply) => {
    if (request.is404) answerUnknownPath(request, reply)
  })
  addHealthRoutes(app, makeHealthLane(options))
  // Like the public document it reveals nothing, so tools read it without the token.
  const document = lazily(async () => {
    const { makeAdminOpenApi } = await import('./openapi.ts')
    return makeAdminOpenApi(options.describeService().version)
  })
  app.get('/openapi.json', document)
  app.register(async (admin) => addGuardedScope(admin, options), { prefix: '/admin' })
  options.addPages?.(app)
  return app
}

function setHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  reply.header('cache-control', 'no-store')
  reply.header('x-content-type-options', 'nosniff')
}

/** For requests that are injected: on the listener they never come this far. */
function addHealthRoutes(app: FastifyInstance, health: HealthLane): void {
  for (const path of healthPaths) {
    app.get(path, { exposeHeadRoute: path !== '/metrics' }, (request, reply) => {
      reply.hijack()
      health.serve(request.raw, reply.raw)
    })
  }
}

/**
 * A Fastify scope of its own: its hooks guard its routes and its unknown paths, however their URL is spelled.
 */
function addGuardedScope(admin: FastifyInstance, options: AdminDoorOptions): void {
  const checkToken = makeTokenCheck(options)
  admin.addHook('onRequest', async (request) => checkToken(request))
  admin.addHook('onResponse', async (request, reply) => {
    options.log.info(
      {
        requestId: request.id,
        method: request.method,
        // The route's template, because real paths contain e-mail addresses.
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
      },
      'admin request',
    )
  })
  admin.setNotFoundHandler(answerUnknownPath)
  addAdminRoutes(admin, options)
  options.extension?.(admin)
}

/** Accepts JSON only; an empty body counts as absent, whatever its declared type. */
function readJsonOnly(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, _payload, done) => {
    readText(request.raw).then((text) => {
      if (text === '') done(null, undefined)
      else parseJson(request, text, done)
    }, done)
  })
}
