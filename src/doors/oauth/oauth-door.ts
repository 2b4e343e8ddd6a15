/**
 * The door of the authorization server: mounts its endpoints and discovery documents before anything reads their bodies,
 * under the names of this server alone. Other methods and paths are left to whoever answers `not_found`. Every other
 * rule stands behind it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type OAuthEvent, toEndpoint } from '#auth/oauth/edge.ts'
import { apiError, toEnvelope } from '#contract/errors.ts'
import { makeOwnNames, type OwnNamesOptions } from '../own-names.ts'

export interface OAuthDoorOptions extends OwnNamesOptions {
  readonly oauth: {
    readonly routes: readonly {
      readonly method: 'GET' | 'POST' | 'OPTIONS'
      readonly path: string
    }[]
    handler(request: IncomingMessage, response: ServerResponse): void
  }
  /** A request was refused here; what came further tells about itself. */
  readonly onRefused: (event: OAuthEvent) => void
}

/** A Fastify plugin; register it without a prefix. */
export async function oauthDoor(
  fastify: FastifyInstance,
  options: OAuthDoorOptions,
): Promise<void> {
  const { oauth, onRefused } = options
  const names = makeOwnNames(options)
  for (const { method, path } of oauth.routes) {
    fastify.route({
      method,
      url: path,
      exposeHeadRoute: false,
      // Before the body is parsed: the engine reads its own. The answer is on its way when this returns.
      onRequest: async (request, reply) => {
        // The Origin is not asked about: pages of any origin may use what is made for agents.
        if (!names.isOwnHost(request)) {
          onRefused({
            endpoint: toEndpoint(method, path),
            status: foreignHost.status,
            durationMs: reply.elapsedTime,
          })
          return refuse(reply)
        }
        reply.hijack()
        oauth.handler(request.raw, reply.raw)
      },
      handler: async () => {
        throw new Error('a hijacked request came through')
      },
    })
  }
}

const foreignHost = apiError('foreign_host', {
  message: 'This server does not answer to that Host; see BASE_URL, MCP_URL and AUTH_URL',
})

/** As `/mcp` refuses it. The body is not read: the connection ends with the answer. */
function refuse(reply: FastifyReply): FastifyReply {
  return reply
    .code(foreignHost.status)
    .headers({
      'cache-control': 'no-store',
      connection: 'close',
      'x-content-type-options': 'nosniff',
    })
    .type('application/json; charset=utf-8')
    .send(toEnvelope(foreignHost))
}
