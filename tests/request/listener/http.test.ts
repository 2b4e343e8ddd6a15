import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startService } from '#tests/support/service.ts'
import { dial, receive, sendRaw } from './raw.ts'

const service = await startService()
const user = await service.createUser()
const head = `Host: localhost\r\nAuthorization: Bearer ${user.key}\r\n`
after(() => service.close())

const get = (target: string, extra = '') => `GET ${target} HTTP/1.1\r\n${head}${extra}\r\n`

test('RFC 9112 §3.2.2: the absolute form of a request target is the same request', async () => {
  for (const target of ['http://localhost/v1/categories', 'HTTP://x:1/v1/categories']) {
    const { answers } = await sendRaw(service.baseUrl, get(target))
    assert.equal(answers[0]?.status, 200, target)
  }
  const { answers } = await sendRaw(service.baseUrl, get('http://localhost/v1/accounts?limit=0'))
  assert.equal(answers[0]?.status, 400)
  for (const target of [
    'http://localhost/nothing',
    'http://localhost/nothing?/v1/categories',
    'ftp://x/v1/categories',
  ]) {
    const unknown = await sendRaw(service.baseUrl, get(target))
    assert.equal(unknown.answers[0]?.status, 404, target)
  }
})

test('HTTP/1.0 is answered, without Host too, and the connection ends unless it is to be kept', async () => {
  const line = `GET /v1/categories HTTP/1.0\r\nAuthorization: Bearer ${user.key}\r\n`
  const plain = await sendRaw(service.baseUrl, `${line}\r\n`)
  assert.equal(plain.answers[0]?.status, 200)
  assert.equal(plain.answers[0]?.headers.connection, 'close')
  const kept = await sendRaw(service.baseUrl, `${line}Connection: keep-alive\r\n\r\n`)
  assert.equal(kept.answers[0]?.headers.connection, 'keep-alive')
})

test('pipelined requests are answered in their order, errors among them', async () => {
  const { answers } = await sendRaw(
    service.baseUrl,
    [
      get('/v1/categories'),
      get('/v1/accounts?limit=0'),
      get('/v1/nothing'),
      get('/v1/connections'),
      get('/v1/categories'),
    ].join(''),
    5,
  )
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [200, 400, 404, 200, 200],
  )
  assert.equal(answers[0]?.text, answers[4]?.text)
})

test('a body that comes with a GET is not read as the next request', async () => {
  const body = get('/v1/nothing')
  const { answers } = await sendRaw(
    service.baseUrl,
    get('/v1/categories', `Content-Length: ${body.length}\r\n`) + body + get('/v1/connections'),
    2,
  )
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [200, 200],
  )
})

test('a POST is refused before its body is read, and the connection ends', async () => {
  const { answers } = await sendRaw(
    service.baseUrl,
    `POST /v1/categories HTTP/1.1\r\n${head}Content-Length: 500000000\r\n\r\n{"a":`,
  )
  assert.equal(answers[0]?.status, 404)
  assert.equal(answers[0]?.headers.connection, 'close')
})

test('Expect: 100-continue is answered; an unknown expectation is ignored (RFC 9110 §10.1.1)', async () => {
  for (const expectation of ['100-continue', 'teapot']) {
    const { answers } = await sendRaw(
      service.baseUrl,
      get('/v1/categories', `Expect: ${expectation}\r\n`),
    )
    assert.equal(answers.at(-1)?.status, 200, expectation)
  }
})

test('R5: two Authorization headers are two tokens, in whatever order and case', async () => {
  for (const other of ['authorization: Bearer other', `AUTHORIZATION: Bearer ${user.key}`]) {
    for (const lines of [`${head}${other}\r\n`, `${other}\r\n${head}`]) {
      const { answers } = await sendRaw(
        service.baseUrl,
        `GET /v1/categories HTTP/1.1\r\n${lines}\r\n`,
      )
      assert.equal(answers[0]?.status, 401)
      assert.equal(JSON.parse(answers[0]?.text ?? '').error.code, 'invalid_token')
    }
  }
})

test('an offer to upgrade is ignored, and its connection ends: a request behind it is not lost without a word', async () => {
  for (const offer of [
    'Connection: Upgrade\r\nUpgrade: h2c\r\n',
    'Upgrade: x\r\nConnection: a, upgrade\r\n',
  ]) {
    const { answers, closed } = await sendRaw(
      service.baseUrl,
      get('/v1/categories', offer) + get('/v1/connections'),
      2,
    )
    assert.deepEqual(
      answers.map(({ status, headers }) => [status, headers.connection]),
      [[200, 'close']],
    )
    assert.equal(closed, true)
  }
})

test('a request that arrives byte by byte is one request', async () => {
  const socket = await dial(service.baseUrl)
  socket.setNoDelay(true)
  const received = receive(socket, 1)
  for (const letter of get('/v1/categories')) {
    socket.write(letter)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal((await received).answers[0]?.status, 200)
  socket.destroy()
})

test('a client that closes its half still gets its answer', async () => {
  const socket = await dial(service.baseUrl)
  const received = receive(socket, 1)
  socket.end(get('/v1/categories'))
  const { answers } = await received
  assert.equal(answers[0]?.status, 200)
  socket.destroy()
})

test('a caller’s X-Request-Id is kept when it is sane, else replaced', async () => {
  const id = async (value: string) => {
    const { answers } = await sendRaw(
      service.baseUrl,
      get('/v1/categories', `X-Request-Id: ${value}\r\n`),
    )
    return answers[0]?.headers['x-request-id']
  }
  assert.equal(await id('abc-123'), 'abc-123')
  assert.notEqual(await id('x'.repeat(129)), 'x'.repeat(129))
  assert.match((await id('"><script>')) ?? '', /^[0-9a-f-]{36}$/)
})
