/**
 * Requests to `/mcp` as the comparison of lane and library draws them. Each part is usually sound and
 * sometimes not, so that most requests are wrong in no place or in one.
 */
import fc from 'fast-check'
import type { Sent } from './two-doors.ts'

/** Usually the first, else one of the others. */
function mostly<Value>(sound: fc.Arbitrary<Value>, odd: fc.Arbitrary<Value>, weight = 24) {
  return fc.oneof({ weight, arbitrary: sound }, { weight: 1, arbitrary: odd })
}

const uuid = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'
const anything = fc.constantFrom<unknown[]>(
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  2 ** 53,
  '',
  'text',
  'é\u202e\ud800',
  [],
  [uuid],
  {},
  { a: { b: [1] } },
)

const id = mostly<unknown>(
  fc.oneof(fc.integer(), fc.constantFrom('a', 'é漢', '"\\\n', 'x'.repeat(3000), uuid)),
  fc.oneof(anything, fc.constantFrom(2 ** 53 - 1, -(2 ** 53), '\ud800', undefined)),
)

const connectionIds = fc.constantFrom(uuid, 'missing', 'down', 'boom', 'many', 'long', 'a&b=c', 'é')
const dates = fc.constantFrom('2026-01-01', '2026-03-05T00:00:00+10:00', '2025-01-01', 'soon')
const pageSize = mostly<unknown>(fc.constantFrom(1, 2, 3, 7, 40, 200), anything)
const offset = mostly<unknown>(fc.nat({ max: 50 }), anything)

/** An object with some of these members. */
const some = (members: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
  fc.record<Record<string, unknown>>(members, { requiredKeys: [] })

const argumentsOf: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  list_connections: fc.constantFrom({}, { a: 1 }),
  list_accounts: some({ limit: pageSize, offset, colour: anything }),
  list_balances: fc.record({
    accountIds: mostly<unknown>(fc.constantFrom([uuid], [uuid, uuid]), anything, 4),
  }),
  list_transactions: fc
    .tuple(
      fc.record({ connectionId: connectionIds }),
      some({ limit: pageSize, from: dates, to: dates }),
    )
    .map(([must, may]) => ({ ...must, ...may })),
  list_holdings: fc.record({ connectionId: mostly<unknown>(connectionIds, anything) }),
  list_trades: fc
    .tuple(
      fc.record({ connectionId: connectionIds }),
      some({ limit: pageSize, from: dates, to: dates }),
    )
    .map(([must, may]) => ({ ...must, ...may })),
}

const names = Object.keys(argumentsOf)
const oddNames = fc.constantFrom<unknown[]>(
  'no_such_tool',
  'list_categories',
  'constructor',
  '__proto__',
  'toString',
  '',
  7,
  null,
  undefined,
)

type Meta = Readonly<Record<string, unknown>>
const key = (name: string) => `io.modelcontextprotocol/${name}`

const capabilities = mostly<unknown>(
  fc.constantFrom<unknown[]>({}, { roots: { listChanged: true }, sampling: {}, elicitation: {} }),
  fc.oneof(anything, fc.constantFrom<unknown[]>({ roots: 5 }, { sampling: null }, undefined)),
  12,
)
const clientInfo = mostly<unknown>(
  fc.constantFrom<unknown[]>({ name: 'test', version: '1' }, undefined),
  fc.oneof(anything, fc.constantFrom({ name: 'test' }, { name: 1, version: '1' })),
  12,
)
const token = mostly<unknown>(
  fc.constantFrom<unknown[]>(undefined, undefined, 7, 'p'),
  anything,
  12,
)
const versions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07']
const oddVersion = fc.constantFrom(
  '2026-07-28',
  '2025-11-25',
  '2099-01-01',
  '1999-01-01',
  '',
  'x',
  ' ',
)

const laterMeta: fc.Arbitrary<unknown> = mostly<unknown>(
  fc
    .tuple(capabilities, clientInfo, token, mostly<unknown>(fc.constant('2026-07-28'), anything))
    .map(([declared, info, progressToken, version]) =>
      withoutAbsent({
        [key('protocolVersion')]: version,
        [key('clientInfo')]: info,
        [key('clientCapabilities')]: declared,
        progressToken,
      }),
    ),
  fc.oneof(
    anything,
    fc.constant({
      [key('protocolVersion')]: '2026-07-28',
      [key('clientCapabilities')]: {},
      [key('logLevel')]: 'debug',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    }),
  ),
)

const earlierMeta: fc.Arbitrary<unknown> = mostly<unknown>(
  fc.constantFrom<unknown[]>(undefined, undefined, {}, { progressToken: 1 }, { 'a/b': { c: 1 } }),
  fc.oneof(
    anything,
    token.map((progressToken) => ({ progressToken })),
    fc.constantFrom<unknown[]>(
      { [key('related-task')]: { taskId: 'a' } },
      { [key('related-task')]: 7 },
      { [key('clientInfo')]: 7 },
      { [key('protocolVersion')]: '2025-11-25' },
    ),
  ),
  6,
)

function withoutAbsent(meta: Meta): Meta {
  return Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== undefined))
}

/** Members that no call needs. */
const extraOfParams = mostly<object>(
  fc.constant({}),
  fc.constantFrom(
    { task: { ttl: 5 } },
    { task: 1 },
    { requestState: 'x' },
    { requestState: 5 },
    { inputResponses: {} },
    { inputResponses: 7 },
    { more: null },
  ),
)
const extraOfMessage = mostly<object>(
  fc.constant({}),
  fc.constantFrom(
    { more: 1 },
    { result: {} },
    { error: { code: 1, message: 'x' } },
    { params2: {} },
  ),
)
const method = mostly<unknown>(
  fc.constant('tools/call'),
  fc.constantFrom<unknown[]>(
    'tools/list',
    'ping',
    'server/discover',
    'tools/call ',
    'x',
    7,
    undefined,
  ),
)
const jsonrpc = mostly<unknown>(fc.constant('2.0'), fc.constantFrom<unknown[]>('1.0', 2, undefined))

interface Drawn {
  readonly message: object
  readonly name: unknown
  readonly era: 'earlier' | 'later'
}

const message: fc.Arbitrary<Drawn> = fc
  .tuple(fc.constantFrom('earlier' as const, 'later' as const), fc.constantFrom(...names))
  .chain(([era, sound]) =>
    fc.record({
      era: fc.constant(era),
      name: mostly<unknown>(fc.constant(sound), oddNames),
      given: mostly<unknown>(
        argumentsOf[sound] ?? fc.constant({}),
        fc.oneof(anything, fc.constant(undefined)),
      ),
      meta: era === 'later' ? laterMeta : earlierMeta,
      id,
      jsonrpc,
      method,
      ofParams: extraOfParams,
      ofMessage: extraOfMessage,
      paramsInstead: mostly<unknown>(fc.constant(undefined), anything, 40),
    }),
  )
  .map(({ era, name, given, meta, ofParams, ofMessage, paramsInstead, ...frame }) => ({
    era,
    name,
    message: {
      ...frame,
      params: paramsInstead ?? { name, arguments: given, _meta: meta, ...ofParams },
      ...ofMessage,
    },
  }))

const nest = `${'['.repeat(5000)}${']'.repeat(5000)}`

/** What is done to the text of a message. */
const spoil: fc.Arbitrary<(text: string) => string | Buffer> = mostly<
  (text: string) => string | Buffer
>(
  fc.constant((text) => text),
  fc.constantFrom<((text: string) => string | Buffer)[]>(
    (text) => `[${text}]`,
    (text) => `[${text},${text}]`,
    (text) => `[${text},{"jsonrpc":"2.0","id":"other","method":"ping"}]`,
    (text) =>
      `[${Array.from({ length: 11 }, (_, at) => text.replace(/"id":[^,]*/, `"id":${at}`)).join()}]`,
    (text) => ` \n${text}\t`,
    (text) => `\ufeff${text}`,
    (text) => text.slice(0, -1),
    (text) => `${text}${text}`,
    (text) => text.replace('"params":', '"__proto__":{"method":"ping"},"params":'),
    (text) => text.replace('"arguments":{', '"arguments":{"__proto__":{"limit":0},'),
    (text) => text.replace('"_meta":{', '"_meta":{"__proto__":{"a":1},'),
    (text) => text.replace('"params":{', '"params":{"__proto__":{"task":1},'),
    (text) => text.replace('"params":', '"id":"twice","params":'),
    (text) => text.replace('"arguments":{', '"arguments":{"limit":2,"limit":1,'),
    (text) => text.replace('"_meta":{', `"_meta":{"x":${nest},`),
    (text) => text.replace('Capabilities":{', `Capabilities":{"experimental":{"x":${nest}},`),
    (text) => text.replace('Capabilities":{', `Capabilities":{"x":${nest},`),
    (text) => text.replace('"arguments":{', `"arguments":{"x":${nest},`),
    (text) => `${text}${' '.repeat(16_384 - Math.min(16_384, Buffer.byteLength(text)))}`,
    (text) => `${text}${' '.repeat(16_385)}`,
    (text) => text.replace('tools\\/call', 'tools/call').replace('tools/call', 'tools\\u002fcall'),
    (text) =>
      Buffer.concat([
        Buffer.from(text.slice(0, 40)),
        Buffer.from([0xff, 0xfe]),
        Buffer.from(text.slice(40)),
      ]),
    () => '',
  ),
  12,
)

const contentType = mostly(
  fc.constantFrom('application/json', 'application/json; charset=utf-8', 'Application/JSON'),
  fc.constantFrom(
    'text/plain',
    'application/json;',
    'application/jsonp',
    '',
    'text/plain; a=application/json',
  ),
)
const accept = fc.constantFrom(
  'application/json, text/event-stream',
  'application/json',
  'text/event-stream',
  '*/*',
  'text/html',
  '',
)
const authorization = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom('Bearer good', 'Bearer known') },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      'Bearer developer',
      'Bearer scoped',
      'bearer trialing',
      'Bearer planless',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom('Bearer wrong', 'Basic x', 'Bearer good good', '') },
)

const frame = fc.record({
  contentType,
  accept,
  authorization,
  earlierVersion: mostly(fc.constantFrom(...versions, null), oddVersion),
  laterVersion: mostly(
    fc.constant<string | null>('2026-07-28'),
    fc.oneof(oddVersion, fc.constant(null)),
  ),
  methodHeader: mostly<string | null>(
    fc.constant('tools/call'),
    fc.constantFrom<(string | null)[]>('tools/list', ' tools/call ', 'Tools/Call', '', null),
  ),
  nameHeader: mostly<string | null | undefined>(
    fc.constant(undefined),
    fc.constantFrom<(string | null)[]>(
      'list_accounts',
      `=?base64?${Buffer.from('list_accounts').toString('base64')}?=`,
      '=?base64?!?=',
      '',
      null,
    ),
  ),
  twice: mostly<string | null>(
    fc.constant(null),
    fc.constantFrom<(string | null)[]>(
      'Mcp-Name',
      'Mcp-Method',
      'MCP-Protocol-Version',
      'Content-Type',
    ),
    40,
  ),
  requestId: fc.constantFrom('r-1', 'r-2'),
  httpMethod: mostly(fc.constant('POST'), fc.constantFrom('PUT', 'DELETE', 'GET', 'OPTIONS'), 80),
})

/** A whole request. */
export const drawnRequest: fc.Arbitrary<Sent> = fc
  .record({ drawn: message, spoil, frame })
  .map(({ drawn, spoil: change, frame: given }) => {
    const { era, name } = drawn
    const headers: [string, string][] = [
      ['Content-Type', given.contentType],
      ['Accept', given.accept],
      ['X-Request-Id', given.requestId],
    ]
    const add = (header: string, value: string | null) => {
      if (value !== null) headers.push([header, value])
    }
    add('Authorization', given.authorization === '' ? null : given.authorization)
    add('MCP-Protocol-Version', era === 'later' ? given.laterVersion : given.earlierVersion)
    // Clients of the earlier era send neither; a few do here.
    if (era === 'later' || given.requestId === 'r-2') {
      add('Mcp-Method', given.methodHeader)
      const sound = typeof name === 'string' ? name : null
      add('Mcp-Name', given.nameHeader === undefined ? sound : given.nameHeader)
    }
    const again = headers.find(([header]) => header === given.twice)
    if (again !== undefined) headers.push(again)
    const text = JSON.stringify(drawn.message)
    return {
      method: given.httpMethod,
      headers: headers.flat(),
      body: Buffer.from(change(text) as string),
    }
  })
