/** What `/mcp` is as an HTTP resource: its methods, its names, the size and the type of what it reads. */
import assert from 'node:assert/strict'
import { request as rawRequest } from 'node:http'
import { after, test } from 'node:test'
import { post, rpc, toolCall } from '#tests/support/agent.ts'
import { codeOf, startService } from '#tests/support/service.ts'
import { exchange } from '../rest/wire.ts'

const service = await startService()
const user = await service.createUser()
after(() => service.close())

const authorized = () => [['Authorization', `Bearer ${user.key}`]] as const
const json = ['Content-Type', 'application/json'] as const

for (const method of ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS', 'HEAD', 'PROPFIND', 'QUERY']) {
  test(`${method} is 405 and says that POST is allowed, with a key or without`, async () => {
    for (const as of [user, null]) {
      const answer = await post(service, '', { method, as })
      assert.equal(answer.status, 405)
      assert.equal(answer.headers.allow, 'POST')
      if (method === 'HEAD') continue
      assert.deepEqual(answer.body, { error: { message: 'Method not allowed; use POST' } })
    }
  })
}

test('R6: a method that is not allowed consumes nothing', async () => {
  const before = await post(service, '', { method: 'GET' })
  const after = await post(service, '', { method: 'GET' })
  assert.equal(after.headers['x-ratelimit-remaining'], before.headers['x-ratelimit-remaining'])
})

for (const path of ['/mcp/', '/MCP', '//mcp', '/mcp/x', '/mcpx']) {
  test(`R4: ${path} is an unknown path`, async () => {
    const answer = await exchange(service.baseUrl, { method: 'POST', target: path, body: '{}' })
    assert.equal(answer.status, 404)
    assert.equal(JSON.parse(answer.text).error.code, 'not_found')
    assert.equal(answer.headers['x-cache'], 'BYPASS')
  })
}

test('a query after the path changes nothing', async () => {
  const answer = await exchange(service.baseUrl, {
    method: 'POST',
    target: '/mcp?source=test',
    headers: [json, ...authorized()],
    body: JSON.stringify(rpc('ping')),
  })
  assert.equal(answer.status, 200)
})

const names = [
  ['Host', 'evil.example.com', 403],
  ['Host', 'localhost.evil.example.com:3000', 403],
  ['Host', 'localhost', 200],
  ['Host', '127.0.0.1:9', 200],
  ['Host', '[::1]:3000', 200],
  ['Origin', 'https://evil.example.com', 403],
  ['Origin', 'null', 403],
  ['Origin', 'http://localhost.evil.example.com', 403],
  ['Origin', 'http://localhost:6274', 200],
] as const

for (const [header, value, status] of names) {
  test(`${header}: ${value} is answered ${status}`, async () => {
    const body = JSON.stringify(rpc('ping'))
    const answer = await new Promise<{ status?: number; text: string }>((resolve, reject) => {
      const call = rawRequest(
        `${service.baseUrl}/mcp`,
        {
          method: 'POST',
          headers: {
            authorization: `Bearer ${user.key}`,
            'content-type': 'application/json',
            'content-length': body.length,
            [header]: value,
          },
        },
        async (response) => {
          const text = (await response.toArray()).join('')
          resolve({ ...(response.statusCode && { status: response.statusCode }), text })
        },
      )
      call.on('error', reject)
      call.end(body)
    })
    assert.equal(answer.status, status, answer.text)
    if (status === 403) assert.match(JSON.parse(answer.text).error.message, /Host or Origin/)
  })
}

const sizes = [
  [16_384, 200],
  [16_385, 413],
  [500_000, 413],
] as const

for (const [size, status] of sizes) {
  for (const framing of ['declared', 'chunked'] as const) {
    test(`a body of ${size} bytes, its length ${framing}, is ${status}`, async () => {
      const body = JSON.stringify(rpc('ping')).padEnd(size, ' ')
      const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
        const call = rawRequest(
          `${service.baseUrl}/mcp`,
          {
            method: 'POST',
            headers: {
              authorization: `Bearer ${user.key}`,
              'content-type': 'application/json',
              ...(framing === 'declared' ? { 'content-length': size } : {}),
            },
          },
          async (response) => {
            const text = (await response.toArray()).join('')
            assert.match(String(response.headers['x-ratelimit-reset']), /^\d+$/)
            resolve({ status: response.statusCode ?? 0, text })
          },
        )
        call.on('error', reject)
        for (let at = 0; at < size; at += 5000) call.write(body.slice(at, at + 5000))
        call.end()
      })
      assert.equal(answer.status, status)
      if (status !== 413) return
      assert.deepEqual(JSON.parse(answer.text), {
        error: { message: 'Request body over 16 KiB', code: 'body_too_large' },
      })
    })
  }
}

test('a body that is too large is 413 for an unidentified client too', async () => {
  const answer = await post(service, ' '.repeat(16_385), { as: 'Bearer nonsense' })
  assert.equal(answer.status, 413)
  assert.equal(codeOf(answer), 'body_too_large')
})

for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml', '']) {
  test(`the content type "${type}" is 415`, async () => {
    const answer = await exchange(service.baseUrl, {
      method: 'POST',
      target: '/mcp',
      headers: [...authorized(), ...(type === '' ? [] : [['Content-Type', type] as const])],
      body: JSON.stringify(toolCall('list_connections')),
    })
    assert.equal(answer.status, 415)
    assert.equal(JSON.parse(answer.text).error.code, -32_000)
  })
}

test('a client that accepts anything gets JSON, and so does one that names no type at all', async () => {
  for (const accept of ['*/*', 'text/html', '']) {
    const answer = await post(service, rpc('ping'), { as: user, headers: { accept } })
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, { jsonrpc: '2.0', id: 1, result: {} })
  }
})

test('the caller’s own X-Request-Id comes back', async () => {
  const headers = { 'x-request-id': 'agent-7' }
  const answer = await post(service, rpc('ping'), { as: user, headers })
  assert.equal(answer.headers['x-request-id'], 'agent-7')
})
