/**
 * The door of the authorization server: passes its requests on before bodies are parsed, and only under this
 * server's host names. All other rules are in src/auth/oauth.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { guardHeaders, pagePolicy, type RenderRefusal } from '#auth/oauth/answers.ts'
import { toEndpointName } from '#auth/oauth/edge.ts'
import type { OAuthRecord } from '#auth/oauth/port.ts'
import { apiError, toEnvelope } from '#contract/errors.ts'
import { type AllowedHostsOptions, makeAllowedHosts } from '../allowed-hosts.ts'
import type { RequestHandler } from '../listener.ts'
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
    const [path = ''] = (request.url ?? '').split('?')
    const endpoint = toEndpointName(request.method, path)
    if (endpoint === 'authorize' && prefersPage(request.headers.accept)) {
      refuseOnPage(response, oauth.renderRefusal)
    } else {
      refuse(response)
    }
    const durationMs = performance.now() - startedAt
    onRefused({ door: 'oauth', endpoint, status: foreignHost.status, durationMs })
  }
}

const foreignHost = apiError('foreign_host', {
  message: 'This server does not answer to that Host; see BASE_URL, MCP_URL and AUTH_URL',
})

function refuseOnPage(response: ServerResponse, renderRefusal: RenderRefusal): void {
  const page = renderRefusal({ error: 'foreign_host', error_description: foreignHost.message })
  write(response, 'text/html', page, { ...guardHeaders, 'content-security-policy': pagePolicy })
}

/** Refuses as `/mcp` does. The body is not read: the connection ends with the answer. */
function refuse(response: ServerResponse): void {
  write(response, 'application/json', JSON.stringify(toEnvelope(foreignHost)), {
    'cache-control': 'no-store',
    connection: 'close',
    'x-content-type-options': 'nosniff',
  })
}

function write(
  response: ServerResponse,
  type: string,
  text: string,
  headers: Readonly<Record<string, string>>,
): void {
  response.writeHead(foreignHost.status, {
    ...headers,
    'content-type': `${type}; charset=utf-8`,
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}
