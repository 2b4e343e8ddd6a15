import assert from 'node:assert/strict'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { makeGuardedAgent } from '#outbound/guarded-agent.ts'
import { makePost, maxAnswerBytes, type Posted } from './post.ts'

const never = new AbortController().signal

/** Starts a server of the test, and posts to it with private addresses allowed. */
async function withServer(t: TestContext, server: Server, timeoutMs = 5000) {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const agent = makeGuardedAgent({ allowPrivate: true })
  const post = makePost({ agent, allowPrivate: true, userAgent: 'tributary/test', timeoutMs })
  t.after(async () => {
    await agent.destroy()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  return (stop: AbortSignal = never) =>
    post({ url, headers: { 'webhook-id': 'an-id' }, body: Buffer.from('{"a":1}') }, stop)
}

const answering = (listener: RequestListener) => createHttpServer(listener)
const failureOf = ({ outcome }: Posted) => (outcome.kind === 'silent' ? outcome.failure : null)
const statusOf = ({ outcome }: Posted) => (outcome.kind === 'answered' ? outcome.head.status : null)

test('an event is a POST of JSON with its headers and our name', async (t) => {
  const seen: unknown[] = []
  const post = await withServer(
    t,
    answering(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const { method, url, headers } = request
      seen.push({
        method,
        url,
        type: headers['content-type'],
        agent: headers['user-agent'],
        id: headers['webhook-id'],
        length: headers['content-length'],
        body: Buffer.concat(chunks).toString(),
      })
      response.writeHead(202, { 'retry-after': '7' }).end('thanks')
    }),
  )
  const posted = await post()
  assert.deepEqual(seen, [
    {
      method: 'POST',
      url: '/hook',
      type: 'application/json',
      agent: 'tributary/test',
      id: 'an-id',
      length: '7',
      body: '{"a":1}',
    },
  ])
  assert.equal(statusOf(posted), 202)
  assert.equal(posted.answer, 'thanks')
  assert.ok(posted.outcome.kind === 'answered')
  assert.equal(posted.outcome.head.headers['retry-after'], '7')
})

test('a redirect is an answer and is not followed', async (t) => {
  const asked: string[] = []
  const post = await withServer(
    t,
    answering((request, response) => {
      asked.push(request.url ?? '')
      response.writeHead(307, { location: '/elsewhere' }).end()
    }),
  )
  assert.equal(statusOf(await post()), 307)
  assert.deepEqual(asked, ['/hook'])
})

test('an answer after the time limit does not count, not even a 200', async (t) => {
  const post = await withServer(
    t,
    answering((_request, response) => {
      setTimeout(() => response.end('late'), 1500).unref()
    }),
    300,
  )
  assert.match(failureOf(await post()) ?? '', /no answer within 0.3 seconds/)
})

test('a name that never resolves and a stopping process end an attempt before there is a connection', async (t) => {
  const agent = makeGuardedAgent({
    allowPrivate: true,
    lookup: () => {},
    connectTimeoutMs: 600_000,
  })
  t.after(() => agent.destroy())
  const options = { agent, allowPrivate: true, userAgent: 'tributary/test' }
  const message = { url: 'http://slow.example.test/', headers: {}, body: Buffer.from('{}') }
  const late = await makePost({ ...options, timeoutMs: 100 })(message, never)
  assert.match(failureOf(late) ?? '', /no answer within 0.1 seconds/)
  const stop = new AbortController()
  const stopped = makePost({ ...options, timeoutMs: 600_000 })(message, stop.signal)
  stop.abort()
  assert.match(failureOf(await stopped) ?? '', /had to stop/)
})

test('a status that arrived in time counts, even when reading the body fails', async (t) => {
  const drops = await withServer(
    t,
    answering((_request, response) => {
      response.writeHead(200).write('first drop')
    }),
    300,
  )
  const slow = await drops()
  assert.equal(statusOf(slow), 200)
  assert.equal(slow.answer, 'first drop')
  const resets = await withServer(
    t,
    answering((_request, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('part', () => setTimeout(() => response.destroy(), 50))
    }),
  )
  assert.equal(statusOf(await resets()), 200)
})

test('of an endless answer 64 KiB are read and no more', async (t) => {
  const post = await withServer(
    t,
    answering((_request, response) => {
      response.writeHead(200)
      const fill = () => {
        while (response.write('x'.repeat(10_000)));
      }
      response.on('drain', fill)
      fill()
    }),
  )
  const { answer, outcome } = await post()
  assert.equal(outcome.kind, 'answered')
  // The pool's own bound may fire with the last piece under way.
  assert.ok(answer !== null && answer.length > 0 && answer.length <= maxAnswerBytes)
})

test('resets, silence after the connection, garbage and floods of headers are failures in plain words', async (t) => {
  const raw = (work: (socket: Socket) => void) => withServer(t, createServer(work), 1000)
  const resetting = await raw((socket) => socket.once('data', () => socket.resetAndDestroy()))
  assert.match(failureOf(await resetting()) ?? '', /connection was reset|connection ended/)
  const ending = await raw((socket) => socket.once('data', () => socket.end()))
  assert.match(failureOf(await ending()) ?? '', /connection ended/)
  const garbage = await raw((socket) => socket.once('data', () => socket.end('garbage\r\n\r\n')))
  assert.match(failureOf(await garbage()) ?? '', /not HTTP/)
  for (const head of [
    '000 ?\r\ncontent-length: 0',
    '200 OK\r\ncontent-length: 3\r\ncontent-length: 5',
  ]) {
    const wrong = await raw((socket) =>
      socket.once('data', () => socket.end(`HTTP/1.1 ${head}\r\n\r\n`)),
    )
    assert.match(failureOf(await wrong()) ?? '', /not HTTP/)
  }
  const silence = await raw(() => {})
  assert.match(failureOf(await silence()) ?? '', /no answer within 1 seconds/)
  const flood = await raw((socket) =>
    socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`)),
  )
  assert.match(failureOf(await flood()) ?? '', /headers of the answer are too large/)
})

test('an interim answer that nothing asked for is a failure that is named', async (t) => {
  for (const answer of [
    '100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0',
    '101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x',
  ]) {
    const server = createServer((socket) =>
      socket.once('data', () => socket.write(`HTTP/1.1 ${answer}\r\n\r\n`)),
    )
    const post = await withServer(t, server, 1000)
    assert.match(failureOf(await post()) ?? '', /began with 100 \(Continue\) or 101/)
  }
})

test('an answer without an end is cut, wherever it has none, and not read until the time is over', async (t) => {
  const flood = (start: string, piece: string) =>
    withServer(
      t,
      createServer((socket) =>
        socket.once('data', () => {
          const bytes = Buffer.from(piece.repeat(2000))
          const fill = () => {
            while (!socket.destroyed && socket.write(bytes));
          }
          socket.write(start || bytes)
          socket.on('drain', fill)
          fill()
        }),
      ),
      600_000,
    )
  const posts = [
    await flood('', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'),
    await flood('HTTP/1.1 200 ', 'fine'),
    await flood('', '\r\n'),
  ]
  for (const post of posts) {
    assert.match(failureOf(await post()) ?? '', /more arrived than an answer may have/)
  }
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
  const answered = await flood(`${chunked}5;`, 'extension')
  assert.equal(statusOf(await answered()), 200)
})

test('the bytes of answers are counted for each request, however long a connection is used', async (t) => {
  let connections = 0
  const server = answering((request, response) => {
    request.resume()
    response.end('x'.repeat(60_000))
  })
  server.on('connection', () => {
    connections += 1
  })
  const post = await withServer(t, server)
  const count = 40
  for (let index = 0; index < count; index += 1) {
    assert.equal((await post()).answer?.length, 60_000)
  }
  assert.ok(connections < count / 2, `${connections} connections`)
})

test('a port without a listener refuses the connection', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise<void>((resolve) => server.close(() => resolve()))
  const agent = makeGuardedAgent({ allowPrivate: true })
  t.after(() => agent.destroy())
  const post = makePost({ agent, allowPrivate: true, userAgent: 'tributary/test' })
  const message = { url: `http://127.0.0.1:${port}/`, headers: {}, body: Buffer.from('{}') }
  assert.equal(failureOf(await post(message, never)), 'the connection was refused')
})

test('a lost lease ends the exchange at once', async (t) => {
  const stop = new AbortController()
  const post = await withServer(
    t,
    answering(() => stop.abort()),
  )
  assert.match(failureOf(await post(stop.signal)) ?? '', /had to stop/)
})

/**
 * What the guard itself is tested with (src/outbound/guarded-agent.test.ts), as the address of an endpoint.
 */
const inside = [
  '127.0.0.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '2130706433',
  '0x7f.1',
  '017700000001',
  '0',
  '10.0.0.1',
  '169.254.169.254',
  '[64:ff9b::7f00:1]',
  '[fd00::1]',
  'localhost',
  'sub.localhost',
  'localhost.',
  'rebind.example.test',
]

test('without the setting nothing is sent to a private address, however it is written or resolved', async (t) => {
  const agent = makeGuardedAgent({
    lookup: (_hostname, _options, callback) => callback(null, [{ address: '10.0.0.7', family: 4 }]),
    dial: (target, callback) => {
      // Names are resolved by the guarded look-up before anything is dialled; literals never come so far.
      assert.equal(target.hostname, 'rebind.example.test')
      callback(new Error('not dialled in this test'), null)
    },
  })
  const resolving = makeGuardedAgent({
    lookup: (_hostname, _options, callback) => callback(null, [{ address: '10.0.0.7', family: 4 }]),
  })
  t.after(() => Promise.all([agent.destroy(), resolving.destroy()]))
  for (const host of inside) {
    const isName = host === 'rebind.example.test'
    const post = makePost({
      agent: isName ? resolving : agent,
      allowPrivate: false,
      userAgent: 'tributary/test',
    })
    const message = { url: `https://${host}/`, headers: {}, body: Buffer.from('{}') }
    const failure = failureOf(await post(message, never)) ?? ''
    assert.match(failure, /address is not allowed.*nothing was sent/, host)
    // The address that a receiver's name resolves to is not shown.
    assert.ok(!failure.includes('10.0.0.7'))
  }
})

test('an address that was allowed when the endpoint was created is checked again', async (t) => {
  const agent = makeGuardedAgent()
  t.after(() => agent.destroy())
  const post = makePost({ agent, allowPrivate: false, userAgent: 'tributary/test' })
  for (const url of [
    'http://example.com/',
    'https://example.com:8443/',
    'https://a:b@example.com/',
  ]) {
    const posted = await post({ url, headers: {}, body: Buffer.from('{}') }, never)
    assert.match(failureOf(posted) ?? '', /not allowed/)
  }
})
