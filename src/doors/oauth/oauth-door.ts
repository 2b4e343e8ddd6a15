/**
 * The door of the authorization server: mounts its endpoints and discovery documents before bodies are parsed, and only
 * under this server's host names. For other methods and paths the public server answers `not_found`. All other rules
 * are in src/auth/oauth.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { guardHeaders, pagePolicy, type RenderRefusal } from '#auth/oauth/answers.ts'
import { toEndpoint } from '#auth/oauth/edge.ts'
import type { OAuthRecord } from '#auth/oauth/port.ts'
import { apiError, toEnvelope } from '#contract/errors.ts'
import { type AllowedHostsOptions, makeAllowedHosts } from '../allowed-hosts.ts'
import { prefersPage } from '../preference.ts'

export interface OAuthDoorOptions extends AllowedHostsOptions {
  readonly oauth: {
    readonly routes: readonly {
      readonly method: 'GET' | 'POST' | 'OPTIONS'
      readonly path: string
    }[]
    handler(request: IncomingMessage, response: ServerResponse): void
    readonly renderRefusal: RenderRefusal
  }
  /** Called for a request that was refused here; requests that reach the server are recorded there. */
  readonly onRefused: (record: OAuthRecord) => void
}

/** A Fastify plugin; register it without a prefix. */
export async function oauthDoor(
  fastify: FastifyInstance,
  options: OAuthDoorOptions,
): Promise<void> {
  const { oauth, onRefused } = options
  const names = makeAllowedHosts(options)
  for (const { method, path } of oauth.routes) {
    fastify.route({
      method,
      url: path,
      exposeHeadRoute: false,
      // Runs before body parsing: the engine reads the body itself. The answer may still be in progress when this
      // returns.
      onRequest: async (request, reply) => {
        // The Origin is not checked: pages of any origin may use endpoints that are made for agents.
        if (!names.isOwnHost(request)) {
          onRefused({
            door: 'oauth',
            endpoint: toEndpoint(method, path),
            status: foreignHost.status,
            durationMs: reply.elapsedTime,
          })
          return toEndpoint(method, path) === 'authorize' && prefersPage(request.headers.accept)
            ? refuseOnPage(reply, oauth.renderRefusal)
            : refuse(reply)
        }
        reply.hijack()
        oauth.handler(request.raw, reply.raw)
      },
      handler: async () => {
        throw new Error('a hijacked request was handled again')
      },
    })
  }
}

const foreignHost = apiError('foreign_host', {
  message: 'This server does not answer to that Host; see BASE_URL, MCP_URL and AUTH_URL',
})

/** The page for a person whose browser used another host name. */
function refuseOnPage(reply: FastifyReply, renderRefusal: RenderRefusal): FastifyReply {
  return reply
    .code(foreignHost.status)
    .headers({ ...guardHeaders, 'content-security-policy': pagePolicy })
    .type('text/html; charset=utf-8')
    .send(renderRefusal({ error: 'foreign_host', error_description: foreignHost.message }))
}

/** Refuses as `/mcp` does. The body is not read: the connection ends with the answer. */
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
