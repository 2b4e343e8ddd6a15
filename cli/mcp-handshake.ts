/**
 * The steps of a client's handshake with `/mcp` (MCP 2025-11-25 and 2026-07-28, RFC 9728, RFC 8414, RFC 7591,
 * PKCE), one function each. Every wait and every body is bounded; the server's statements are shown but not
 * trusted.
 */
import { createHash, randomBytes } from 'node:crypto'
import { ask, type McpAnswer, reasonOf } from './mcp-request.ts'

export interface HandshakeStep {
  readonly name: string
  readonly status: 'ok' | 'error'
  readonly message: string
  /** Null when nothing needs to be done. */
  readonly action: string | null
}

type Check = () => Promise<HandshakeStep>
type Fields = Readonly<Record<string, unknown>>

const callback = 'http://127.0.0.1:53682/callback'

/** The steps in their order; a later one uses the results of an earlier one. */
export function makeChecks({ url, key }: { readonly url: string; readonly key: string | null }) {
  let metadataUrl = ''
  let server: Fields = {}
  let clientId = ''

  const checks: Check[] = [
    named('address', async () => checkAddress(url)),
    named('challenge', async () => {
      const answer = await ask(url, { body: initialize })
      const header = answer.headers.get('www-authenticate') ?? ''
      metadataUrl = /resource_metadata="([^"]+)"/.exec(header)?.[1] ?? ''
      if (answer.status === 401 && metadataUrl !== '') {
        return ok(`401, and the challenge points to ${metadataUrl}`)
      }
      return fault(
        `a request without credentials is answered ${answer.status}`,
        adviseChallenge(answer),
      )
    }),
    named('resource', async () => {
      const document = await readDocument(metadataUrl)
      const { resource, authorization_servers: servers } = document
      if (resource !== url) {
        return fault(
          `the protected resource identifies itself as ${shown(resource)}`,
          `Give agents exactly that URL, or set MCP_URL to ${new URL(url).origin}`,
        )
      }
      const issuer = Array.isArray(servers) ? servers[0] : undefined
      if (typeof issuer !== 'string' || !URL.canParse(issuer)) {
        return fault('it names no authorization server', 'See AUTH_URL')
      }
      server = { issuer }
      return ok(`it is ${url}, and ${issuer} authorizes agents`)
    }),
    named('authorization server', async () => {
      const issuer = String(server.issuer)
      server = await readDocument(`${issuer}/.well-known/oauth-authorization-server`)
      return judgeServer(server, issuer)
    }),
    named('registration', async () => {
      const answer = await ask(String(server.registration_endpoint), { body: registration })
      if (answer.status === 201 && typeof answer.body.client_id === 'string') {
        clientId = answer.body.client_id
        return ok('a client may register itself (this one is deleted if it stays unused)')
      }
      const action =
        'Wait a minute if it was asked too often (RATE_LIMIT_REGISTER); else see the log'
      return fault(`a new client is answered ${answer.status} ${shown(answer.body.error)}`, action)
    }),
    named('sign-in page', () => checkSignIn(server, { clientId, resource: url })),
  ]
  return key === null ? checks : [...checks, ...checksWithKey(url, key)]
}

/** What a client with an API key does, in both eras of the protocol. */
function checksWithKey(url: string, key: string): Check[] {
  const authorization = `Bearer ${key}`
  return [
    named('key', async () => {
      const answer = await ask(url, { body: initialize, headers: { authorization } })
      const version = fieldsOf(answer.body.result).protocolVersion
      if (answer.status === 200 && typeof version === 'string')
        return ok(`accepted; protocol version ${version}`)
      const action =
        answer.status === 401
          ? 'The key is wrong, revoked or expired: make one with "tributary keys create"'
          : 'The plan of its user may lack access: see "tributary plans set"'
      return fault(`initialize is answered ${answer.status} ${messageOf(answer)}`, action)
    }),
    named('tools, 2025-11-25', async () => {
      const body = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
      const headers = { authorization, 'mcp-protocol-version': '2025-11-25' }
      return judgeTools(await ask(url, { body, headers }))
    }),
    named('tools, 2026-07-28', async () => {
      const version = '2026-07-28'
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': version,
        'io.modelcontextprotocol/clientCapabilities': {},
      }
      const body = { jsonrpc: '2.0', id: 3, method: 'tools/list', params: { _meta } }
      const headers = { authorization, 'mcp-protocol-version': version, 'mcp-method': 'tools/list' }
      return judgeTools(await ask(url, { body, headers }))
    }),
    named('call', async () => {
      const params = { name: 'list_connections', arguments: {} }
      const body = { jsonrpc: '2.0', id: 4, method: 'tools/call', params }
      const answer = await ask(url, { body, headers: { authorization } })
      const result = fieldsOf(answer.body.result)
      const { data } = fieldsOf(result.structuredContent)
      if (Array.isArray(data)) return ok(`list_connections answers with ${data.length} connections`)
      return fault(
        `list_connections is answered ${answer.status} ${messageOf(answer)}`,
        'Wait a minute if the limit is reached; else see the log under its X-Request-Id',
      )
    }),
  ]
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'tributary doctor', version: '1' },
  },
}

const registration = {
  client_name: 'tributary doctor',
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

type Outcome = Omit<HandshakeStep, 'name'>

const ok = (message: string): Outcome => ({ status: 'ok', message, action: null })
const fault = (message: string, action: string): Outcome => ({ status: 'error', message, action })

/** A step never throws: a connection error becomes its finding. */
function named(name: string, look: () => Promise<Outcome>): Check {
  return async () => {
    try {
      return { name, ...(await look()) }
    } catch (error) {
      const action = 'Check that the server runs, and check DNS, proxy and certificate'
      return { name, ...fault(reasonOf(error), action) }
    }
  }
}

function checkAddress(url: string): Outcome {
  const { protocol, hostname, pathname, username, password, host } = new URL(url)
  if (username + password !== '') {
    return fault('it has a user or a password', `Give agents ${protocol}//${host}/mcp`)
  }
  if (pathname !== '/mcp') {
    return fault(`its path is ${pathname}`, `Agents are served at ${new URL('/mcp', url)}`)
  }
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  if (protocol === 'https:') return ok('https')
  if (isLocal) return ok('http on this machine: agents in the cloud cannot reach it')
  return fault('http', 'Serve it by https: agents refuse to send tokens over http')
}

function adviseChallenge({ status }: McpAnswer): string {
  switch (status) {
    case 403:
      return 'The server does not know this name: set BASE_URL or MCP_URL to it, and let the proxy forward Host'
    case 404:
      return 'There is no endpoint here: the path is /mcp, and the proxy must forward it unchanged'
    case 429:
      return 'Too many attempts from here: wait a minute'
    case 401:
      return 'The challenge names no resource_metadata: does a proxy strip WWW-Authenticate?'
    default:
      return 'Another service answers here: check the proxy'
  }
}

/** What clients require of an authorization server before they begin. */
function judgeServer(server: Fields, issuer: string): Outcome {
  if (server.issuer !== issuer) {
    return fault(`it identifies itself as ${shown(server.issuer)}, not ${issuer}`, 'See AUTH_URL')
  }
  const methods = server.code_challenge_methods_supported
  if (!Array.isArray(methods) || !methods.includes('S256')) {
    return fault('it does not offer PKCE with S256', 'Is it this product that answers at AUTH_URL?')
  }
  const endpoints = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint']
  const missing = endpoints.find((name) => !URL.canParse(String(server[name])))
  if (missing !== undefined) {
    return fault(`it names no ${missing}`, 'Is it this product that answers at AUTH_URL?')
  }
  return ok('it offers codes with PKCE and takes new clients')
}

async function checkSignIn(
  server: Fields,
  { clientId, resource }: { readonly clientId: string; readonly resource: string },
): Promise<Outcome> {
  const verifier = randomBytes(32).toString('base64url')
  const asked = new URL(String(server.authorization_endpoint))
  asked.search = new URLSearchParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: callback,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope: 'mcp:read brokerage:read',
    state: randomBytes(16).toString('base64url'),
    resource,
  }).toString()
  const answer = await ask(asked.href)
  const location = answer.headers.get('location') ?? ''
  if ((answer.status === 302 || answer.status === 303) && !location.startsWith(callback)) {
    return ok('the browser is sent to it')
  }
  const problem = new URL(location || '/', asked).searchParams.get('error') ?? answer.status
  return fault(`the browser is answered ${problem}`, 'See the log of the server')
}

function judgeTools(answer: McpAnswer): Outcome {
  const { tools } = fieldsOf(answer.body.result)
  if (Array.isArray(tools) && tools.length > 0) return ok(`${tools.length} tools`)
  return fault(
    `tools/list is answered ${answer.status} ${messageOf(answer)}`,
    'Does a proxy strip the headers Mcp-Method or MCP-Protocol-Version?',
  )
}

async function readDocument(url: string): Promise<Fields> {
  const { status, body } = await ask(url)
  if (status === 200) return body
  throw new Error(`${url} answers ${status}`)
}

function messageOf({ body }: McpAnswer): string {
  return shown(fieldsOf(body.error).message)
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 200) : 'nothing'
}
