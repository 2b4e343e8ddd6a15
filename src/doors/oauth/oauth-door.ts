/**
 * The door of the authorization server: mounts its endpoints and discovery documents before anything reads their bodies.
 * Other methods and paths are left to whoever answers `not_found`. Every rule stands behind it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

export interface OAuthDoorOptions {
  readonly oauth: {
    readonly routes: readonly {
      readonly method: 'GET' | 'POST' | 'OPTIONS'
      readonly path: string
    }[]
    handler(request: IncomingMessage, response: ServerResponse): void
  }
}

/** A Fastify plugin; register it without a prefix. */
export async function oauthDoor(
  fastify: FastifyInstance,
  { oauth }: OAuthDoorOptions,
): Promise<void> {
  for (const { method, path } of oauth.routes) {
    fastify.route({
      method,
      url: path,
      exposeHeadRoute: false,
      // Before the body is parsed: the engine reads its own. The answer is on its way when this returns.
      onRequest: async (request, reply) => {
        reply.hijack()
        oauth.handler(request.raw, reply.raw)
      },
      handler: async () => {
        throw new Error('a hijacked request came through')
      },
    })
  }
}
