import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type LookupFunction,
} from 'node:net'
import { test } from 'node:test'
import { request } from 'undici'
import { BlockedAddress, findUrlProblem } from './allowed-address.ts'
import { makeGuardedAgent } from './guarded-agent.ts'

interface Found {
  readonly address: string
  readonly family: number
}

/** A resolver that returns the answers in turn and repeats the last one. */
function resolver(...answers: readonly (readonly Found[])[]) {
  const asked: string[] = []
  const lookup: LookupFunction = (hostname, _options, callback) => {
    const found = answers[Math.min(asked.length, answers.length - 1)] ?? []
    asked.push(hostname)
    callback(null, [...found])
  }
  return { asked, lookup }
}

const inside: Found = { address: '127.0.0.1', family: 4 }
const outside: Found = { address: '203.0.114.7', family: 4 }

async function refusedBy(agent: ReturnType<typeof makeGuardedAgent>, url: string) {
  await assert.rejects(request(url, { dispatcher: agent }), BlockedAddress, url)
}

for (const host of [
  '127.0.0.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '2130706433',
  '0x7f.1',
  '017700000001',
  '0',
  '169.254.169.254',
  '[64:ff9b::7f00:1]',
  '[fd00::1]',
  'localhost',
  'sub.localhost',
  'localhost.',
])
  test(`https://${host}/ is never dialled`, async () => {
    const { asked, lookup } = resolver([outside])
    const agent = makeGuardedAgent({
      lookup,
      dial: () => assert.fail('it was dialled'),
    })
    await refusedBy(agent, `https://${host}/`)
    assert.deepEqual(asked, [])
    await agent.destroy()
  })

test('a name that resolves to a private address is refused, alone or among public ones', async () => {
  for (const answers of [[inside], [outside, inside], [{ address: '::1', family: 6 }], []]) {
    const { asked, lookup } = resolver(answers)
    const agent = makeGuardedAgent({ lookup })
    await refusedBy(agent, 'https://rebind.example.test/')
    assert.equal(asked.length, 1)
    await agent.destroy()
  }
})

test('a name that resolves differently each time is checked by the address that is connected', async () => {
  const { asked, lookup } = resolver([outside], [inside])
  const agent = makeGuardedAgent({ lookup, connectTimeoutMs: 50 })
  // The connection goes to the address that was checked; nothing listens there, so it times out.
  const first = await request('https://rebind.example.test/', { dispatcher: agent }).catch(
    (error: Error) => error,
  )
  assert.ok(first instanceof Error && !(first instanceof BlockedAddress), String(first))
  await refusedBy(agent, 'https://rebind.example.test/')
  assert.equal(asked.length, 2)
  await agent.destroy()
})

test('a connection that reached a private address is closed before a byte is sent', async () => {
  let bytes = 0
  const server = createServer()
  server.on('connection', (socket) => {
    socket.on('data', (chunk) => {
      bytes += chunk.length
    })
    // The guard resets the connection, which is expected here.
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const agent = makeGuardedAgent({
    dial: (_target, callback) => {
      const socket = connect(port, '127.0.0.1', () => callback(null, socket))
    },
  })
  await refusedBy(agent, 'https://proxied.example.test/')
  await new Promise<void>((resolve) => server.close(() => resolve()))
  assert.equal(bytes, 0)
  await agent.destroy()
})

test('HTTP/2 is not offered: a connection has one request at a time', async (t) => {
  const { promise: hello, resolve } = Promise.withResolvers<Buffer>()
  const server = createTcpServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (bytes) => {
      resolve(Buffer.from(bytes))
      socket.destroy()
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const agent = makeGuardedAgent({ allowPrivate: true })
  t.after(async () => {
    await agent.destroy()
    server.close()
  })
  await assert.rejects(request(`https://127.0.0.1:${port}/`, { dispatcher: agent }))
  const bytes = await hello
  assert.ok(bytes.includes('http/1.1'))
  assert.ok(!bytes.includes('\u0002h2'))
})

test('only https, only port 443, no credentials', () => {
  for (const url of [
    'http://example.com/',
    'https://example.com:8443/',
    'https://user@example.com/',
    'https://user:word@example.com/',
    'ftp://example.com/',
    'javascript:alert(1)',
    'example.com',
    '',
  ])
    assert.notEqual(findUrlProblem(url), null, url)
  for (const url of ['https://example.com/', 'https://example.com:443/a?b', 'https://1.1.1.1/'])
    assert.equal(findUrlProblem(url), null, url)
})

test('an operator may allow private networks, and then they are reached', async () => {
  const server = createServer((_request, response) => response.end('inside'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  assert.equal(findUrlProblem(url, { allowPrivate: true }), null)
  const open = makeGuardedAgent({ allowPrivate: true })
  const { body } = await request(url, { dispatcher: open })
  assert.equal(await body.text(), 'inside')
  const shut = makeGuardedAgent()
  await refusedBy(shut, url)
  await Promise.all([open.destroy(), shut.destroy()])
  server.close()
})
