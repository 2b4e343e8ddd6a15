/**
 * `tributary doctor --mcp URL` against the real service, and against other servers that people give by
 * mistake.
 */
import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { runCommand } from '#tests/support/command.ts'
import { startService } from '#tests/support/service.ts'
import { examineMcp, type McpDiagnosis } from './mcp-doctor.ts'

const service = await startService()
const user = await service.createUser()
await service.link(user, 'healthy', 'fiskil')
after(() => service.close())

const examine = (url: string, key: string | null = null) => examineMcp({ url, key, json: false })
const failing = ({ checks }: McpDiagnosis) => checks.find(({ status }) => status === 'error')

const command = (args: readonly string[], input = '') => runCommand(args, { input })

test('a correct server passes every step, up to a call with a key', async () => {
  const { status, checks } = await examine(`${service.baseUrl}/mcp`, user.key)
  assert.equal(status, 'ok', JSON.stringify(checks))
  assert.deepEqual(
    checks.map(({ name }) => name),
    [
      'address',
      'challenge',
      'resource',
      'authorization server',
      'registration',
      'sign-in page',
      'key',
      'tools, 2025-11-25',
      'tools, 2026-07-28',
      'call',
    ],
  )
})

test('without a key it ends at the sign-in page', async () => {
  const { status, checks } = await examine(`${service.baseUrl}/mcp`)
  assert.equal(status, 'ok')
  assert.equal(checks.at(-1)?.name, 'sign-in page')
})

test('a wrong path says where agents are served', async () => {
  const found = failing(await examine(`${service.baseUrl}/`))
  assert.equal(found?.name, 'address')
  assert.equal(found?.action, `Agents are served at ${service.baseUrl}/mcp`)
})

test('a password in the URL is said to be wrong there, and is not repeated', async () => {
  const found = failing(await examine(service.baseUrl.replace('//', '//me:sekrit@')))
  assert.equal(found?.message, 'it has a user or a password')
  assert.equal(found?.action, `Give agents ${service.baseUrl}/mcp`)
})

test('another name of the same server says which name to give or to set', async () => {
  const url = `${service.baseUrl.replace('127.0.0.1', 'localhost')}/mcp`
  const found = failing(await examine(url))
  assert.equal(found?.name, 'resource')
  assert.match(found?.action ?? '', /set MCP_URL to http:\/\/localhost:\d+$/)
})

test('a bad key and a plan without access give different findings', async () => {
  const wrong = failing(await examine(`${service.baseUrl}/mcp`, 'nonsense'))
  assert.equal(wrong?.name, 'key')
  assert.match(wrong?.action ?? '', /keys create/)
  const stranger = await service.createUser({ plan: 'none' })
  const refused = failing(await examine(`${service.baseUrl}/mcp`, stranger.key))
  assert.equal(refused?.name, 'key')
  assert.match(refused?.message ?? '', /403 API access requires/)
})

/** A server that is not this product, for the length of a test. */
async function listen(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const strangers: Readonly<Record<string, readonly [number, RegExp]>> = {
  'a page': [200, /Another service answers/],
  'an unknown path': [404, /the path is \/mcp/],
  'a proxy that redirects': [301, /Another service answers/],
  'a name it does not know': [403, /BASE_URL or MCP_URL/],
  'a proxy that strips the challenge': [401, /strip WWW-Authenticate/],
  'a limit': [429, /wait a minute/],
  'a broken gateway': [502, /Another service answers/],
}
for (const [name, [status, action]] of Object.entries(strangers)) {
  test(`${name} (${status}) is named in the step of the challenge`, async (t) => {
    const origin = await listen(t, (_request, response) => {
      response.writeHead(status, { 'content-type': 'text/html' }).end('<html></html>')
    })
    const found = failing(await examine(`${origin}/mcp`))
    assert.equal(found?.name, 'challenge')
    assert.match(found?.message ?? '', new RegExp(String(status)))
    assert.match(found?.action ?? '', action)
  })
}

/** A proxy in front of the product that can change each document. */
function impostor(t: TestContext, bend: (origin: string) => Readonly<Record<string, unknown>>) {
  let own = ''
  return listen(t, ({ url = '/', method }, response) => {
    const documents: Readonly<Record<string, unknown>> = {
      '/.well-known/oauth-protected-resource': {
        resource: `${own}/mcp`,
        authorization_servers: [own],
      },
      '/.well-known/oauth-authorization-server': {
        issuer: own,
        authorization_endpoint: `${own}/authorize`,
        token_endpoint: `${own}/token`,
        registration_endpoint: `${own}/register`,
        code_challenge_methods_supported: ['S256'],
      },
      ...bend(own),
    }
    const document = documents[url.split('?')[0] ?? '']
    if (document !== undefined) {
      const status = method === 'POST' ? 201 : 200
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(document))
      return
    }
    if (url.startsWith('/mcp')) {
      const metadata = `${own}/.well-known/oauth-protected-resource`
      response.writeHead(401, {
        'www-authenticate': `Bearer resource_metadata="${metadata}"`,
      })
    } else response.writeHead(404)
    response.end()
  }).then((origin) => {
    own = origin
    return origin
  })
}

const server = '/.well-known/oauth-authorization-server'
const bent: readonly (readonly [string, (own: string) => Record<string, unknown>, RegExp])[] = [
  [
    'resource',
    () => ({ '/.well-known/oauth-protected-resource': {} }),
    /identifies itself as nothing/,
  ],
  [
    'resource',
    (own) => ({ '/.well-known/oauth-protected-resource': { resource: `${own}/mcp` } }),
    /no authorization server/,
  ],
  [
    'authorization server',
    () => ({ [server]: { issuer: 'https://x.example' } }),
    /identifies itself as/,
  ],
  ['authorization server', (own) => ({ [server]: { issuer: own } }), /PKCE with S256/],
  [
    'authorization server',
    (own) => ({ [server]: { issuer: own, code_challenge_methods_supported: ['S256'] } }),
    /names no authorization_endpoint/,
  ],
  ['registration', () => ({}), /a new client is answered 404/],
  ['sign-in page', () => ({ '/register': { client_id: 'x' } }), /the browser is answered 404/],
]
for (const [step, bend, message] of bent) {
  test(`${step}: ${message.source} is found and named`, async (t) => {
    const origin = await impostor(t, bend)
    const found = failing(await examine(`${origin}/mcp`))
    assert.equal(found?.name, step, JSON.stringify(found))
    assert.match(found?.message ?? '', message)
    assert.notEqual(found?.action, null)
  })
}

test('a server that cannot be reached is reported with the network error', async (t) => {
  const origin = await listen(t, (request) => request.socket.destroy())
  const found = failing(await examine(`${origin}/mcp`))
  assert.equal(found?.name, 'challenge')
  assert.match(found?.message ?? '', /cannot be reached|other side closed/)
})

test('the command prints marks, or one JSON document, and ends with 1 when a step fails', async () => {
  const sound = await command(['doctor', '--mcp', `${service.baseUrl}/mcp`, '--key', user.key])
  assert.equal(sound.code, 0, sound.out)
  assert.match(sound.out, /✓ call: list_connections answers with \d+ connections/)
  const piped = await command(['doctor', `--mcp=${service.baseUrl}/mcp`, '--key', '-'], user.key)
  assert.equal(piped.code, 0, piped.out)
  const broken = await command(['doctor', '--mcp', service.baseUrl, '--json'])
  assert.equal(broken.code, 1)
  assert.equal(JSON.parse(broken.out).status, 'error')
  const wrong = await command(['doctor', '--mcp', 'example.com'])
  assert.equal(wrong.code, 2)
  assert.match(wrong.err, /usage: tributary doctor --mcp URL \[--key KEY\]/)
})
