import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startService } from '#tests/support/service.ts'
import { sendRaw } from './raw.ts'

const service = await startService()
const user = await service.createUser()
const head = `Host: localhost\r\nAuthorization: Bearer ${user.key}\r\n`
after(() => service.close())

const send = async (bytes: string | Uint8Array) => {
  const { answers } = await sendRaw(service.baseUrl, bytes)
  const answer = answers.find(({ status }) => status >= 200)
  assert(answer !== undefined, 'there was no answer')
  return answer
}

/** The one envelope, with nothing inside that is null or empty. */
function assertEnvelope(text: string, code?: string): void {
  const body = JSON.parse(text)
  assert.deepEqual(Object.keys(body), ['error'])
  assert.equal(typeof body.error.message, 'string')
  assert.equal(body.error.code, code)
}

const long = 'y'.repeat(20_000)
const unparsed: readonly [name: string, bytes: () => string, status: number][] = [
  ['a URL of 20,000 characters', () => `GET /v1/accounts?x=${long} HTTP/1.1\r\n${head}\r\n`, 431],
  ['a header of 20,000', () => `GET /v1/accounts HTTP/1.1\r\n${head}X-A: ${long}\r\n\r\n`, 431],
  [
    '2,500 headers',
    () => `GET /v1/accounts HTTP/1.1\r\n${head}${'X: y\r\n'.repeat(2500)}\r\n`,
    431,
  ],
  ['201 headers', () => `GET /v1/accounts HTTP/1.1\r\n${head}${'X: y\r\n'.repeat(199)}\r\n`, 431],
  ['250 headers', () => `GET /v1/accounts HTTP/1.1\r\n${head}${'X: y\r\n'.repeat(248)}\r\n`, 431],
  ['noise', () => 'BLAH\r\n\r\n', 400],
  ['a TLS greeting', () => '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001', 400],
  ['no Host', () => 'GET /v1/accounts HTTP/1.1\r\n\r\n', 400],
  ['two Hosts', () => `GET /v1/accounts HTTP/1.1\r\nhost: evil\r\n${head}\r\n`, 400],
  ['lines without CR', () => `GET /v1/accounts HTTP/1.1\n${head.replaceAll('\r', '')}\n`, 400],
  ['a NUL in the query', () => `GET /v1/accounts?limit=1\0 HTTP/1.1\r\n${head}\r\n`, 400],
  ['a control character', () => `GET /v1/accounts?limit=\u0001 HTTP/1.1\r\n${head}\r\n`, 400],
  ['a NUL in a header', () => `GET /v1/accounts HTTP/1.1\r\n${head}X: a\0b\r\n\r\n`, 400],
  [
    'two lengths of one body, as smugglers send them',
    () =>
      `GET /v1/accounts HTTP/1.1\r\n${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
]

for (const [name, bytes, status] of unparsed) {
  test(`${name}: ${status} with the error envelope, and the connection ends`, async () => {
    const answer = await send(bytes())
    assert.equal(answer.status, status)
    assertEnvelope(answer.text)
    assert.equal(answer.headers.connection, 'close')
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  })
}

test('a head of 200 fields is served', async () => {
  const answer = await send(`GET /v1/accounts HTTP/1.1\r\n${head}${'X: y\r\n'.repeat(198)}\r\n`)
  assert.equal(answer.status, 200)
})

test('bytes that are no UTF-8 in the raw query are refused', async () => {
  const answer = await send(
    Buffer.from(`GET /v1/accounts?limit=\xff\xfe HTTP/1.1\r\n${head}\r\n`, 'latin1'),
  )
  assert.equal(answer.status, 400)
  assertEnvelope(answer.text)
})

const foreignMethods = [
  'FOO /v1/accounts',
  'GETT /v1/accounts',
  'CONNECT example.org:443',
  'OPTIONS *',
  'TRACE /v1/accounts',
  'PROPFIND /v1/accounts',
]
for (const line of foreignMethods) {
  test(`R3, R4: ${line} is not GET: 404 not_found, X-Cache BYPASS`, async () => {
    const answer = await send(`${line} HTTP/1.1\r\n${head}\r\n`)
    assert.equal(answer.status, 404)
    assertEnvelope(answer.text, 'not_found')
    assert.equal(answer.headers['x-cache'], 'BYPASS')
  })
}

const brokenPaths = [
  '/v1/%zz',
  '/%zz',
  '/%F0%9F',
  '/v1/%63ategories',
  '/v1/accounts#x',
  '/v1//accounts',
]
for (const path of brokenPaths) {
  test(`R4: ${path} is an unknown path`, async () => {
    const answer = await send(`GET ${path} HTTP/1.1\r\n${head}\r\n`)
    assert.equal(answer.status, 404)
    assertEnvelope(answer.text, 'not_found')
    assert.equal(answer.headers['x-cache'], 'BYPASS')
  })
}

for (const query of [
  'limit=%zz',
  'limit=%',
  'limit=%F0%9F%92',
  'limit=%00',
  'limit=1%0d%0aX:1',
  '%6cimit=0',
]) {
  test(`R11: ?${query} is a bad limit, reported without control characters`, async () => {
    const answer = await send(`GET /v1/accounts?${query} HTTP/1.1\r\n${head}\r\n`)
    assert.equal(answer.status, 400)
    assertEnvelope(answer.text, 'invalid_params')
    assert.doesNotMatch(answer.text, /\p{Cc}/u)
  })
}

test('three thousand parameters are read and ignored', async () => {
  const query = Array.from({ length: 3000 }, (_, index) => `a=${index % 10}`).join('&')
  const answer = await send(`GET /v1/accounts?${query} HTTP/1.1\r\n${head}\r\n`)
  assert.equal(answer.status, 200)
})

test('a thousand bad accountIds are reported in at most a hundred details', async () => {
  const answer = await send(
    `GET /v1/balances?accountIds=${Array.from({ length: 1000 }, (_, index) => index)} HTTP/1.1\r\n${head}\r\n`,
  )
  assert.equal(answer.status, 400)
  assert(JSON.parse(answer.text).error.details.length <= 100)
})
