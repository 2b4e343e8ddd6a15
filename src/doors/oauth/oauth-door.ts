/**
 * The door of the authorization server: passes its requests on before bodies are parsed, and only under this
 * server's host names. All other rules are in src/auth/oauth.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { guardHeaders, type RenderRefusal, refuseOnPage } from '#auth/oauth/answers.ts'
import { toEndpointName } from '#auth/oauth/edge.ts'
import type { OAuthRecord } from '#auth/oauth/port.ts'
import { apiError } from '#contract/errors.ts'
import { type AllowedHostsOptions, makeAllowedHosts } from '../allowed-hosts.ts'
import { withoutQuery } from '../client.ts'
import { answerError } from '../json-answer.ts'
import type { RequestHandler } from '../listener/listener.ts'
import { prefersPage } from '../preference.ts'

export interface OAuthDoorOptions extends AllowedHostsOptions {
  readonly oauth: {
    handler(request: IncomingMessage, response: ServerResponse): void
    readonly renderRefusal: RenderRefusal
  }
  /** Called for a request that was refused here; requests that reach the server are recorded there. */
  readonly onRefused: (record: OAuthRecord) => void
}

/** Makes the handler of the requests that the server owns (`OAuth.owns`); it answers each of them. */
export function makeOAuthDoor(options: OAuthDoorOptions): RequestHandler {
  const { oauth, onRefused } = options
  const names = makeAllowedHosts(options)
  return (request, response) => {
    // The Origin is not checked: pages of any origin may use endpoints that are made for agents.
    if (names.isOwnHost(request)) return oauth.handler(request, response)
    const startedAt = performance.now()
    const endpoint = toEndpointName(request.method, withoutQuery(request.url))
    if (endpoint === 'authorize' && prefersPage(request.headers.accept)) {
      showRefusal(response, oauth.renderRefusal)
    } else {
      // As `/mcp` does. The body is not read: the connection ends with the answer.
      response.shouldKeepAlive = false
      answerError(response, foreignHost)
    }
    const durationMs = performance.now() - startedAt
    onRefused({ door: 'oauth', endpoint, status: foreignHost.status, durationMs })
  }
}

const foreignHost = apiError('foreign_host', {
  message: 'This server does not answer to that Host; see BASE_URL, MCP_URL and AUTH_URL',
})

function showRefusal(response: ServerResponse, renderRefusal: RenderRefusal): void {
  const page = renderRefusal({ error: 'foreign_host', error_description: foreignHost.message })
  response.setHeaders(new Map(Object.entries(guardHeaders)))
  refuseOnPage(response, foreignHost.status, page)
}
