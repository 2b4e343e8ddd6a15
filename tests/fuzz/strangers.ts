/**
 * Strangers at both listeners, from an address of their own: every method, tunnels, upgrades, expectations,
 * bodies for agents, forms and endpoints of OAuth, with and without a key, cut and reset at random moments.
 * What is one whole request gets one answer that is no failure of ours; whatever else is sent must end.
 */
import { METHODS } from 'node:http'
import fc from 'fast-check'
import { anyCharacter } from '#tests/support/any-character.ts'
import { Broken } from './judge.ts'
import { type Exchange, openWire, type Wire } from './wire.ts'
import type { World } from './world.ts'

/** Another address of this machine than the one that everybody else comes from. */
export const strangersAddress = '127.0.0.2'

export interface Message {
  readonly method: string
  readonly target: string
  readonly headers: readonly string[]
  readonly body: string
  readonly framing: 'none' | 'length' | 'chunked' | 'too-long' | 'too-short' | 'giant'
}

export interface Visit {
  readonly side: 'public' | 'admin'
  readonly messages: readonly Message[]
  /** Where the bytes are cut, as a share of the whole. */
  readonly cut: number
  readonly pauseMs: number
  readonly ending: 'wait' | 'half-close' | 'reset' | 'reset-in-the-middle' | 'leave-half-closed'
}

const methods = [...METHODS, 'PRI', 'FOO', 'get', 'CONNECT', 'POST', 'POST', 'POST', 'GET', 'GET']
const targets = {
  public: [
    '/v1/accounts',
    '/v1/nothing',
    '/mcp',
    '/mcp',
    '/mcp?x=%zz',
    '/sign-in',
    '/sign-up',
    '/sign-out',
    '/agents',
    '/authorize?response_type=code&client_id=x&redirect_uri=http%3A%2F%2F127.0.0.1%2Fa',
    '/authorize/nobody',
    '/token',
    '/token/revocation',
    '/register',
    '/.well-known/oauth-authorization-server',
    '/doc',
    '/openapi.json',
    '/',
    '*',
    'a:1',
    'http://localhost/v1/categories',
    '/%00',
    '/%ff%fe',
  ],
  admin: [
    '/healthz',
    '/readyz',
    '/metrics',
    '/admin/users',
    '/admin/users/nobody',
    '/admin/users/nobody/keys',
    '/admin/users/nobody/plan',
    '/admin/users/nobody/connections',
    '/admin/keys/nothing',
    '/admin/nothing',
    '/%ff%fe',
    'a:1',
    '*',
  ],
} as const

const headers = [
  'Authorization: Bearer nonsense',
  'Authorization: Bearer trib_live_0123456789',
  'Authorization: Bearer <key.own>',
  'Authorization: Bearer <admin>',
  'Authorization: Basic YTpi',
  'Content-Type: application/json',
  'Content-Type: application/json; charset=\u0001',
  'Content-Type: application/x-www-form-urlencoded',
  'Content-Type: multipart/form-data; boundary=x',
  'Accept: application/json, text/event-stream',
  'MCP-Protocol-Version: 2025-11-25',
  'Mcp-Session-Id: x',
  'Expect: 100-continue',
  'Expect: anything',
  'Connection: Upgrade\r\nUpgrade: websocket',
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk',
  'Cookie: tributary_session=nonsense; __Host-tributary=x',
  'Origin: https://elsewhere.example',
  'Origin: null',
  'X-Forwarded-For: 127.0.0.1',
  'X-Request-Id: \u00ff',
  'If-None-Match: *',
  'Range: bytes=0-0',
  'Accept-Encoding: gzip, br, zstd',
] as const

const rpc = (method: string, params: unknown) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
const bodies: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    '{}',
    '[]',
    'null',
    '{"__proto__":{"a":1}}',
    `[${'['.repeat(5000)}`,
    rpc('ping', {}),
    rpc('tools/list', {}),
    rpc('initialize', { protocolVersion: 'x', capabilities: {}, clientInfo: null }),
    rpc('tools/call', { name: 'list_accounts', arguments: {} }),
    rpc('tools/call', {
      name: 'list_transactions',
      arguments: { connectionId: '<own.banking.0>' },
    }),
    rpc('tools/call', { name: '__proto__', arguments: [] }),
    JSON.stringify(
      Array.from({ length: 11 }, () => ({ jsonrpc: '2.0', method: 'ping', id: null })),
    ),
    'email=a%40b.example&password=wrong-wrong-wrong',
    'email=%ff&password=%00&next=//evil.example',
    'email=a&email=b&csrf=x',
    'grant_type=refresh_token&refresh_token=x&client_id=y',
    'grant_type=authorization_code&code=x&client_id=y&redirect_uri=z&code_verifier=%00',
    'token=x&client_id=y',
    '{"redirect_uris":["http://127.0.0.1/a"],"client_name":"\u0000"}',
    '{"redirect_uris":[1],"jwks":{}}',
    '{"email":"stranger@fuzz.example","plan":{}}',
    '{"provider":"fiskil","endUserId":"\\u0000"}',
  ),
  fc
    .tuple(fc.constantFrom('tools/call', 'initialize', 'ping'), fc.jsonValue())
    .map(([method, params]) => rpc(method, params)),
  fc.json(),
  fc.string({ unit: anyCharacter, maxLength: 300 }),
  fc.nat({ max: 40_000 }).map((length) => 'a'.repeat(length)),
)

const sides = fc.constantFrom('public', 'public', 'public', 'admin') as fc.Arbitrary<Visit['side']>
const anyMessage = (side: Visit['side']): fc.Arbitrary<Message> =>
  fc.record<Message>({
    method: fc.constantFrom(...methods),
    target: fc.constantFrom<string>(...targets[side]),
    headers: fc.uniqueArray(fc.constantFrom(...headers), { maxLength: 5 }),
    body: bodies,
    framing: fc.constantFrom<Message['framing'][]>(
      'none',
      'length',
      'length',
      'chunked',
      'too-long',
      'too-short',
      'giant',
    ),
  })

export const anyVisit: fc.Arbitrary<Visit> = sides.chain((side) =>
  fc.record<Visit>({
    side: fc.constant(side),
    messages: fc.array(anyMessage(side), { minLength: 1, maxLength: 4 }),
    cut: fc.double({ min: 0, max: 1, noNaN: true }),
    pauseMs: fc.nat({ max: 6 }),
    ending: fc.constantFrom<Visit['ending'][]>(
      'wait',
      'half-close',
      'reset',
      'reset-in-the-middle',
      'leave-half-closed',
    ),
  }),
)

/**
 * Plays it and gives the statuses that were seen; throws when something hangs or is called a failure of ours.
 */
export async function playVisit(world: World, visit: Visit, timeoutMs: number): Promise<number[]> {
  const port = Number(new URL(visit.side === 'admin' ? world.adminUrl : world.baseUrl).port)
  const wire = openWire(port, strangersAddress)
  try {
    if (visit.ending === 'wait') return await waitForAnswer(world, visit, { wire, timeoutMs })
    const bytes = Buffer.concat(visit.messages.map((message) => toBytes(world, message)))
    const cut = Math.floor(bytes.length * visit.cut)
    wire.write(bytes.subarray(0, cut))
    await pause(visit.pauseMs)
    if (visit.ending !== 'reset-in-the-middle') wire.write(bytes.subarray(cut))
    if (visit.ending === 'reset') await pause(visit.pauseMs)
    if (visit.ending.startsWith('reset')) {
      wire.reset()
      return []
    }
    wire.halfClose()
    if (visit.ending === 'leave-half-closed') return []
    const { answers } = await readToTheEnd(wire, timeoutMs)
    return answers.map(({ status }) => status)
  } finally {
    wire.destroy()
  }
}

interface Waiting {
  readonly wire: Wire
  readonly timeoutMs: number
}

/** Its first message as one whole request, the last of its connection. */
async function waitForAnswer(
  world: World,
  { messages }: Visit,
  { wire, timeoutMs }: Waiting,
): Promise<number[]> {
  const [first] = messages
  if (first === undefined) return []
  const isTorn = first.framing === 'too-long' || first.framing === 'too-short'
  const whole: Message = { ...first, framing: isTorn ? 'length' : first.framing }
  wire.write(toBytes(world, { ...whole, headers: [...whole.headers, 'Connection: close'] }))
  const exchange = await wire.read([whole.method], timeoutMs)
  const [answer] = exchange.answers
  if (exchange.end === 'timeout') throw new Broken('no answer came in time')
  // HTTP/2 is not spoken here, and is hung up on.
  if (answer === undefined && whole.method === 'PRI') return []
  if (answer === undefined) throw new Broken('the connection was closed without an answer')
  const { status } = answer
  const isBusy = status === 503 && answer.headers['retry-after'] !== undefined
  if (status >= 500 && !isBusy) throw new Broken(`${status}: ${answer.body.toString('latin1')}`)
  await readToTheEnd(wire, timeoutMs)
  return [status]
}

async function readToTheEnd(wire: Wire, timeoutMs: number): Promise<Exchange> {
  const exchange = await wire.read(Array<string>(20).fill('GET'), timeoutMs)
  if (exchange.end === 'timeout') throw new Broken('the connection hangs')
  return exchange
}

function toBytes(world: World, message: Message): Buffer {
  const body = Buffer.from(world.resolve(message.body), 'latin1')
  const lines = [
    `${message.method} ${message.target} HTTP/1.1`,
    'Host: localhost',
    ...message.headers.map((line) => world.resolve(line).replace('<admin>', world.adminToken)),
  ]
  const head = (more: readonly string[]) =>
    Buffer.from(`${[...lines, ...more].join('\r\n')}\r\n\r\n`, 'latin1')
  switch (message.framing) {
    case 'none':
      return head([])
    case 'length':
      return Buffer.concat([head([`Content-Length: ${body.length}`]), body])
    case 'too-long':
      return Buffer.concat([head([`Content-Length: ${body.length + 9}`]), body])
    case 'too-short':
      return Buffer.concat([head([`Content-Length: ${Math.floor(body.length / 2)}`]), body])
    case 'giant':
      return Buffer.concat([head(['Content-Length: 104857600']), body])
    case 'chunked': {
      const size = body.length.toString(16)
      const chunk = body.length === 0 ? '' : `${size}\r\n${body.toString('latin1')}\r\n`
      return Buffer.concat([
        head(['Transfer-Encoding: chunked']),
        Buffer.from(`${chunk}0\r\n\r\n`, 'latin1'),
      ])
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** More than an address may guess within a minute. */
const guesses = 7000
const guessesAtOnce = 50

/**
 * After all of it: the strangers' address is refused on both listeners, and nobody else is. Resolves with
 * null, or with what does not hold.
 */
export async function findUnfairness(world: World, timeoutMs: number): Promise<string | null> {
  const own = world.users.own?.key ?? ''
  const ports = [world.baseUrl, world.adminUrl].map((url) => Number(new URL(url).port))
  const [open = 0, admin = 0] = ports
  const ask = async (port: number, target: string, as: { token: string; from: string }) => {
    const wire = openWire(port, as.from)
    const head = `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`
    wire.write(Buffer.from(`${head}Authorization: Bearer ${as.token}\r\n\r\n`))
    const { answers } = await wire.read(['GET'], timeoutMs)
    wire.destroy()
    return answers[0]?.status ?? null
  }
  const guess = (port: number, target: string, index: number) =>
    ask(port, target, { token: `guess-${index}-${'x'.repeat(20)}`, from: strangersAddress })
  for (let at = 0; at < guesses; at += guessesAtOnce) {
    await Promise.all(
      Array.from({ length: guessesAtOnce }, (_, index) => guess(open, '/v1/accounts', at + index)),
    )
  }
  for (let at = 0; at < 40; at += 1) await guess(admin, '/admin/users', at)
  const refused = [
    await guess(open, '/v1/accounts', guesses),
    await guess(open, '/mcp', guesses),
    await guess(admin, '/admin/users', guesses),
  ]
  if (refused.join() !== '429,405,429') return `the strangers' address got ${refused.join()}`
  for (const from of ['127.0.0.1', '127.0.0.3']) {
    const served = [
      await ask(open, '/v1/accounts', { token: own, from }),
      await ask(open, '/v1/accounts', { token: 'nonsense', from }),
      await ask(open, '/sign-in', { token: own, from }),
      await ask(admin, '/admin/users', { token: world.adminToken, from }),
      await ask(admin, '/readyz', { token: '', from }),
    ]
    if (served.join() !== '200,401,200,200,200') return `${from} got ${served.join()}`
  }
  return null
}
