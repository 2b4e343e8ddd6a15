/**
 * Aborted and malformed requests of anonymous clients raise no alarm: no log line at level error, no alerting
 * metric.
 */
import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startService } from '#tests/support/service.ts'
import { dial, sendRaw } from './raw.ts'

const service = await startService()
after(() => service.close())

const form = 'application/x-www-form-urlencoded'
const json = 'application/json'
const posts: readonly (readonly [side: 'public' | 'admin', path: string, type: string])[] = [
  ['public', '/sign-in', form],
  ['public', '/sign-up', form],
  ['public', '/sign-out', form],
  ['public', '/nowhere', form],
  ['public', '/mcp', json],
  ['public', '/token', form],
  ['public', '/register', json],
  ['public', '/token/revocation', form],
  ['public', '/v1/accounts', json],
  ['public', '/doc', json],
  ['admin', '/admin/users', json],
  ['admin', '/admin/nowhere', json],
  ['admin', '/healthz', json],
]

const originOf = (side: 'public' | 'admin') =>
  side === 'admin' ? service.adminUrl : service.baseUrl

/** Log lines that alert an operator, and the failures that were counted. */
async function alarms(): Promise<string[]> {
  const lines = service.logLines.filter((line) => /"level":"(?:error|fatal)"/.test(line))
  const metrics = (await service.metrics.text()).split('\n')
  return [
    ...lines,
    ...metrics.filter((line) => /^tributary_background_failures_total.* [1-9]/.test(line)),
  ]
}

const breaks = {
  'resets the connection in the middle of the body': async (bytes: string, origin: string) => {
    const socket = await dial(origin)
    socket.on('error', () => {})
    socket.write(bytes)
    await sleep(15)
    socket.resetAndDestroy()
  },
  'closes the connection in the middle of the body': async (bytes: string, origin: string) => {
    const socket = await dial(origin)
    socket.on('error', () => {})
    socket.write(bytes)
    await sleep(15)
    socket.destroy()
  },
  'closes its half in the middle of the body': async (bytes: string, origin: string) => {
    const socket = await dial(origin)
    socket.on('error', () => {})
    socket.resume()
    socket.end(bytes)
    await sleep(30)
    socket.destroy()
  },
  'spoils the chunks of the body': async (bytes: string, origin: string) => {
    const chunked = bytes.replace('Content-Length: 99', 'Transfer-Encoding: chunked')
    await sendRaw(
      origin,
      `${chunked.slice(0, chunked.indexOf('\r\n\r\n') + 4)}5\r\nab=cd\r\nzz\r\n`,
    )
  },
}

for (const [how, act] of Object.entries(breaks)) {
  test(`a client that ${how} causes no alert on any interface`, async () => {
    for (const [side, path, type] of posts) {
      const origin = originOf(side)
      const { host } = new URL(origin)
      const token = side === 'admin' ? service.adminToken : 'nonsense'
      const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}`
      await act(`${head}\r\nContent-Type: ${type}\r\nContent-Length: 99\r\n\r\nemail=`, origin)
    }
    await sleep(50)
    assert.deepEqual(await alarms(), [])
  })
}

test('every HTTP method on an unknown path is 404, on the admin listener too, and causes no alert', async () => {
  for (const side of ['public', 'admin'] as const) {
    const origin = originOf(side)
    const { host } = new URL(origin)
    for (const path of ['/nowhere', '/admin/users', '/admin/nowhere', '/sign-in', '/doc']) {
      for (const method of METHODS.filter((one) => one !== 'CONNECT' && one !== 'HEAD')) {
        if (['GET', 'POST'].includes(method)) continue
        const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n`
        const { answers } = await sendRaw(
          origin,
          `${head}Authorization: Bearer ${service.adminToken}\r\n\r\n`,
        )
        assert.equal(answers[0]?.status, 404, `${side}: ${method} ${path}`)
        assert.equal(JSON.parse(answers[0]?.text ?? '').error.code, 'not_found')
      }
    }
  }
  assert.deepEqual(await alarms(), [])
})

const complete: readonly (readonly [side: 'public' | 'admin', request: string])[] = [
  ['public', 'GET /authorize?client_id=x'],
  ['public', 'GET /sign-in'],
  ['public', 'GET /doc'],
  ['public', 'GET /openapi.json'],
  ['public', 'GET /v1/accounts'],
  [
    'public',
    'POST /sign-in\nContent-Type: application/x-www-form-urlencoded\n\nemail=a&password=b',
  ],
  [
    'public',
    'POST /token\nContent-Type: application/x-www-form-urlencoded\n\ngrant_type=refresh_token&refresh_token=a&client_id=b',
  ],
  [
    'public',
    'POST /register\nContent-Type: application/json\n\n{"redirect_uris":["http://127.0.0.1/a"]}',
  ],
  [
    'public',
    'POST /mcp\nContent-Type: application/json\n\n{"jsonrpc":"2.0","id":1,"method":"ping"}',
  ],
  ['admin', 'GET /healthz'],
  ['admin', 'GET /readyz'],
  ['admin', 'GET /metrics'],
  ['admin', 'GET /admin/doctor'],
  ['admin', 'POST /admin/users\nContent-Type: application/json\n\n{"email":"nobody"}'],
]

test('an unauthenticated client that disconnects at any moment causes no alert on any interface', async () => {
  for (const ms of [0, 1, 2, 4, 8, 16]) {
    await Promise.all(
      complete.map(async ([side, text]) => {
        const origin = originOf(side)
        const [head = '', body = ''] = text.split('\n\n')
        const [line, ...headers] = head.split('\n')
        const socket = await dial(origin)
        socket.on('error', () => {})
        const lines = [
          `${line} HTTP/1.1`,
          `Host: ${new URL(origin).host}`,
          `Authorization: Bearer ${side === 'admin' ? service.adminToken : 'nonsense'}`,
          `Content-Length: ${body.length}`,
          ...headers,
        ]
        await new Promise((resolve) =>
          socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`, resolve),
        )
        if (ms > 0) await sleep(ms)
        socket.resetAndDestroy()
      }),
    )
  }
  await sleep(300)
  assert.deepEqual(await alarms(), [])
})

const noRequests: readonly (readonly [name: string, bytes: string, status: number])[] = [
  ['a tunnel', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 404],
  ['an unknown method', 'FOO / HTTP/1.1\r\nHost: a\r\n\r\n', 404],
  ['noise', '\u0016\u0003\u0001\r\n\r\n', 400],
  ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
  ['a large head', `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
]

for (const side of ['public', 'admin'] as const) {
  for (const [name, bytes, status] of noRequests) {
    test(`${name} gets the envelope on the ${side} listener, and the connection ends`, async () => {
      const { answers, closed } = await sendRaw(originOf(side), bytes, 2)
      assert.deepEqual([answers.map((answer) => answer.status), closed], [[status], true])
      assert.equal(typeof JSON.parse(answers[0]?.text ?? '').error.message, 'string')
    })
  }
}
