/**
 * One request as the fuzzer draws it: what stands in the request line, the headers and the body, byte by
 * byte, with placeholders for ids and keys. Most requests are nearly right, so that the code behind the
 * checks is reached too.
 */
import fc from 'fast-check'
import type { DescribedOperation, DescribedParameter } from './described.ts'
import { garbageText, soundValueFor, valueFor } from './hostile-values.ts'

/** `good`: a key that opens everything; the others say what must be refused, whatever else is asked. */
export type Standing = 'good' | 'developer' | 'planless' | 'refused'

export interface FuzzRequest {
  readonly standing: Standing
  readonly method: string
  /** Path and query as they stand in the request line. */
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
}

type Text = fc.Arbitrary<string>
type Pair = readonly [string, string]

const category = fc.constantFrom('banking' as const, 'brokerage' as const)

/** Ids that belong together, so that the request gets past the look-ups. */
const coherentIds = fc.tuple(category, fc.nat({ max: 7 }), fc.nat({ max: 7 })).map(
  ([kind, connection, account]): Readonly<Record<string, string>> => ({
    connectionId: `<own.${kind}.${connection}>`,
    accountId: `<own.${kind}.${connection}.${account}>`,
    accountIds: `<own.${kind}.${connection}.${account}>,<own.${kind}.${connection}.${account + 1}>`,
  }),
)

/** A long poll that is in order waits, which is not what is looked for here. */
const impatient = fc.constantFrom(
  '0',
  '00',
  '-1',
  '1.5',
  '1e1',
  'x',
  '',
  '%20',
  `${'9'.repeat(40)}x`,
)

function pairsFor(
  operation: DescribedOperation,
  draw: (parameter: DescribedParameter) => Text = valueFor,
): fc.Arbitrary<readonly Pair[]> {
  const values = operation.parameters.map((one) => (one.name === 'wait' ? impatient : draw(one)))
  const chances = operation.parameters.map(() => fc.nat({ max: 9 }))
  return fc
    .tuple(fc.nat({ max: 9 }), coherentIds, fc.tuple(...values), fc.tuple(...chances))
    .map(([mood, ids, drawn, shares]) =>
      operation.parameters.flatMap(({ name, required }, index): Pair[] => {
        const value = drawn[index] ?? ''
        const share = shares[index] ?? 0
        const wanted = required ? share > 0 || mood > 3 : share > 4
        if (!wanted) return []
        return [[name, mood > 3 ? (ids[name] ?? value) : value]]
      }),
    )
}

const unknownName = fc.oneof(
  fc.constantFrom(
    'utm_source',
    'limit[]',
    'Limit',
    'cursor',
    '__proto__',
    'constructor',
    'page[size]',
  ),
  garbageText.map((text) => text.slice(0, 60)),
)

/** What is done to a sound query string. */
const spoil: readonly fc.Arbitrary<(pairs: readonly Pair[]) => string>[] = [
  fc.constant(join),
  fc.constant((pairs) => join(pairs.toReversed())),
  fc.tuple(unknownName, garbageText).map(
    ([name, value]) =>
      (pairs) =>
        join([...pairs, [name, value]]),
  ),
  fc.nat({ max: 5 }).map((at) => (pairs) => join([...pairs, ...pairs.slice(at, at + 1)])),
  fc
    .integer({ min: 2, max: 2400 })
    .map((times) => (pairs) => `${join(pairs)}${'&a=1'.repeat(times)}`),
  fc
    .integer({ min: 2, max: 1100 })
    .map((times) => (pairs) => `${'limit=7&'.repeat(times)}${join(pairs)}`),
  garbageText.map((text) => (pairs) => join([...pairs, ['from', text]])),
  garbageText.map((text) => () => text),
  garbageText.map((text) => (pairs) => `${join(pairs)}${text}`),
  fc.constant((pairs) => join(pairs).replaceAll('&', ';')),
  fc.constant((pairs) => `&&=&${join(pairs)}&&=`),
]

function join(pairs: readonly Pair[]): string {
  return pairs.map(([name, value]) => `${name}=${value}`).join('&')
}

function queryFor(operation: DescribedOperation): Text {
  const spoiled = fc
    .tuple(pairsFor(operation), fc.oneof(...spoil))
    .map(([pairs, change]) => change(pairs))
  return fc.oneof(
    { weight: 6, arbitrary: pairsFor(operation).map(join) },
    { weight: 4, arbitrary: spoiled },
  )
}

function pathFor(path: string): Text {
  const strange: readonly string[] = [
    ...[
      `${path}/`,
      `/${path}`,
      path.toUpperCase(),
      `${path}%20`,
      `${path}.json`,
      `${path}/1`,
      `${path};a=1`,
    ],
    ...[
      path.replace('/v1', '/v1/'),
      path.replace('/v1', '/v2'),
      path.replace('/v1', ''),
      `${path}%00`,
    ],
    ...[
      `/x/..${path}`,
      `/v1/.${path.slice(3)}`,
      path.replaceAll('/', '%2f'),
      path.replace('/v1/', '/v1/%2e/'),
    ],
    ...[
      `${path}%`,
      `/v1`,
      '/v1/',
      '/',
      '*',
      '/doc',
      '/openapi.json',
      '/favicon.ico',
      '/v1/%ff',
      '//',
    ],
    ...[
      `http://127.0.0.1${path}`,
      'http://[',
      '/metrics',
      '/admin/users',
      '/v1/__proto__',
      '/constructor',
    ],
    ...[
      '/.env',
      '/doc/../openapi.json',
      '/doc?x',
      '/doc/%ff',
      `/${'a'.repeat(9000)}`,
      `/${'a/'.repeat(3000)}`,
    ],
  ]
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant(path) },
    { weight: 2, arbitrary: fc.constantFrom(...strange) },
    { weight: 1, arbitrary: garbageText.map((text) => `/v1/${text}`) },
    { weight: 1, arbitrary: garbageText.map((text) => `/${text}`) },
  )
}

const latin = fc.string({
  unit: fc.nat({ max: 255 }).map((code) => String.fromCharCode(code)),
  maxLength: 30,
})
const wrongToken = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '<key.own>x',
    '<key.own> <key.own>',
    '<key.own>,',
    '"<key.own>"',
    '<key.revoked>',
  ),
  fc.constantFrom(
    'trib_',
    'null',
    'undefined',
    '%00',
    `${'a'.repeat(2049)}`,
    'ey.J.x',
    `${'b'.repeat(9000)}`,
  ),
  fc.stringMatching(/^[A-Za-z0-9._~+/=-]{1,60}$/),
  latin,
)
const wrongAuthorization = fc.oneof(
  wrongToken.map((token) => [['Authorization', `Bearer ${token}`]] satisfies Pair[]),
  fc
    .constantFrom('Basic', 'Token', 'Bearer:', 'BearerX', 'Digest', '')
    .map((scheme) => [['Authorization', `${scheme} <key.own>`] as const]),
  fc.constant([
    ['Authorization', 'Bearer <key.own>'],
    ['authorization', 'Bearer <key.other>'],
  ] satisfies Pair[]),
  fc.constant([['Authorization', 'Bearer']] satisfies Pair[]),
  fc.constant([['X-Api-Key', '<key.own>']] satisfies Pair[]),
  fc.constant([] satisfies Pair[]),
)

interface Credentials {
  readonly standing: Standing
  readonly headers: readonly Pair[]
}

const bearer = fc.constantFrom('Bearer', 'Bearer', 'Bearer', 'bearer', 'BEARER', 'Bearer  ')
const keyOf = (standing: Standing, name: string): fc.Arbitrary<Credentials> =>
  bearer.map((scheme) => ({ standing, headers: [['Authorization', `${scheme} <key.${name}>`]] }))
const credentials: fc.Arbitrary<Credentials> = fc.oneof(
  { weight: 24, arbitrary: keyOf('good', 'own') },
  { weight: 3, arbitrary: keyOf('good', 'other') },
  { weight: 2, arbitrary: keyOf('developer', 'developer') },
  { weight: 1, arbitrary: keyOf('planless', 'planless') },
  {
    weight: 5,
    arbitrary: wrongAuthorization.map((headers) => ({ standing: 'refused' as const, headers })),
  },
)

const headerName = fc.constantFrom(
  ...[
    'X-Forwarded-For',
    'X-Request-Id',
    'Accept',
    'Accept-Encoding',
    'Range',
    'If-None-Match',
    'Cookie',
  ],
  ...[
    'Content-Type',
    'Connection',
    'Expect',
    'Upgrade',
    'Forwarded',
    'X-HTTP-Method-Override',
    'Origin',
    'TE',
  ],
)
const headerValue = fc.oneof(
  fc.constantFrom(
    '127.0.0.1',
    '::1, 10.0.0.1',
    'close',
    'keep-alive',
    '100-continue',
    'websocket',
    '*/*',
    'DELETE',
  ),
  fc.constantFrom(
    'bytes=0-1',
    'gzip;q=0',
    'null',
    '"x"',
    'a'.repeat(129),
    'a'.repeat(8000),
    'a, '.repeat(2000),
  ),
  garbageText.map((text) => text.slice(0, 300)),
  latin,
)
const extraHeaders: fc.Arbitrary<readonly Pair[]> = fc.oneof(
  { weight: 12, arbitrary: fc.constant([]) },
  {
    weight: 4,
    arbitrary: fc.array(fc.tuple(headerName, headerValue), { minLength: 1, maxLength: 4 }),
  },
  { weight: 1, arbitrary: fc.array(fc.tuple(latin, latin), { minLength: 1, maxLength: 3 }) },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 10, max: 2500 })
      .map((count) => Array.from({ length: count }, (_, at): Pair => [`x${at % 30}`, '1'])),
  },
)

const method = fc.oneof(
  { weight: 22, arbitrary: fc.constant('GET') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'POST',
      'PUT',
      'PATCH',
      'DELETE',
      'HEAD',
      'OPTIONS',
      'TRACE',
      'QUERY',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('CONNECT', 'get', 'G', 'PROPFIND', 'GE T', 'M-SEARCH', '\u0000'),
  },
)
const body = fc.oneof(
  { weight: 12, arbitrary: fc.constant('') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('{}', 'a'.repeat(20_000), 'GET / HTTP/1.1\r\n\r\n', '{"a":'),
  },
)

/** Any request to one of the described operations, or beside them. */
export function anyRequest(operations: readonly DescribedOperation[]): fc.Arbitrary<FuzzRequest> {
  return fc.constantFrom(...operations).chain((operation) =>
    fc
      .tuple(credentials, method, pathFor(operation.path), queryFor(operation), extraHeaders, body)
      .map(([{ standing, headers }, verb, path, query, extra, content]) => ({
        standing,
        method: verb,
        target: query === '' ? path : `${path}?${query}`,
        headers: [...headers, ...extra],
        body: content,
      })),
  )
}

/** Nearly right requests, for walks through the deep code and for pipelines. */
export function soundRequest(operations: readonly DescribedOperation[]): fc.Arbitrary<FuzzRequest> {
  return fc.constantFrom(...operations).chain((operation) =>
    fc
      .tuple(keyOf('good', 'own'), pairsFor(operation, soundValueFor))
      .map(([{ standing, headers }, pairs]) => ({
        standing,
        method: 'GET',
        target: pairs.length === 0 ? operation.path : `${operation.path}?${join(pairs)}`,
        headers,
        body: '',
      })),
  )
}
