/**
 * The listener alone, with clients that send any number of requests without waiting for an answer, or at
 * once.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeListener } from '#doors/listener/listener.ts'
import { readBody } from '#doors/listener/request-body.ts'
import { until } from '#tests/support/until.ts'
import { dial } from './raw.ts'

interface Place {
  readonly port: number
  readonly socket: Socket
  /** The unanswered ones, in the order of their requests. */
  readonly waiting: ServerResponse[]
  /** The bodies of all answers so far, one after another. */
  readonly bodies: () => string
  /** All that came. */
  readonly text: () => string
}

/** One connection to a listener that answers nothing by itself. */
async function open(
  t: TestContext,
  receive: (request: IncomingMessage, done: () => void) => void,
): Promise<Place> {
  const waiting: ServerResponse[] = []
  const listener = makeListener()
  const server = listener.makeServer((request, response) =>
    receive(request, () => waiting.push(response)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => listener.drain(0))
  const { port } = server.address() as AddressInfo
  const socket = await dial(`http://127.0.0.1:${port}`)
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  const texts: string[] = []
  socket.setEncoding('latin1').on('data', (text: string) => texts.push(text))
  const text = () => texts.join('')
  const bodies = () => [...text().matchAll(/\r\n\r\n(<\d+>)/g)].map(([, body]) => body).join('')
  return { port, socket, waiting, bodies, text }
}

/** Waits until this many looks in a row find the same number. */
async function untilSteady(count: () => number, looks = 10): Promise<number> {
  let [last, same] = [-1, 0]
  while (same < looks) {
    await sleep(20)
    same = count() === last ? same + 1 : 0
    last = count()
  }
  return last
}

const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
/** As much as one read of a socket brings. */
const packet = get.repeat(Math.floor(65_536 / get.length))
const numbered = (total: number) => Array.from({ length: total }, (_, at) => `<${at}>`).join('')

function answer(waiting: ServerResponse[]): void {
  for (const [at, response] of waiting.splice(0).entries()) response.end(`<${at}>`)
}

test('of a packet of requests the first eight are answered, the last of them as the last of its connection, and there is no handler for the rest', async (t) => {
  let handled = 0
  const { socket, waiting, bodies, text } = await open(t, (_request, done) => {
    handled += 1
    done()
  })
  socket.write(packet)
  assert.equal(await untilSteady(() => handled), 8)
  // What comes later is not parsed either.
  socket.write(packet)
  assert.equal(await untilSteady(() => handled), 8)
  const ended = once(socket, 'end')
  answer(waiting)
  await ended
  assert.equal(bodies(), numbered(8))
  assert.equal(text().match(/Connection: close/g)?.length, 1)
  assert(text().lastIndexOf('Connection: close') > text().indexOf('<6>'))
  assert.equal(handled, 8)
})

test('eight requests sent without waiting are answered in their order, and their connection stays', async (t) => {
  const { socket, waiting, bodies } = await open(t, (_request, done) => done())
  for (const round of [1, 2, 3]) {
    socket.write(get.repeat(8))
    assert.equal(await untilSteady(() => waiting.length), 8)
    answer(waiting.reverse())
    await untilSteady(() => bodies().length)
    assert.equal(bodies(), '<7><6><5><4><3><2><1><0>'.repeat(round))
  }
  assert.equal(socket.readyState, 'open')
})

test('the bodies of eight requests sent without waiting are read, and what is behind them is not', async (t) => {
  const lengths: number[] = []
  const { socket, waiting } = await open(t, (request, done) => {
    void readBody(request).then((body) => {
      lengths.push(body instanceof Uint8Array ? body.length : -1)
      done()
    })
  })
  const body = 'x'.repeat(5000)
  const post = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  socket.write(post.repeat(100))
  assert.equal(await untilSteady(() => waiting.length), 8)
  assert.deepEqual(lengths, Array(8).fill(5000))
})

test('requests that are answered at once end their connection when there are too many of them in one packet', async (t) => {
  for (const request of [get, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx']) {
    let handled = 0
    const { socket, waiting } = await open(t, (_request, done) => {
      handled += 1
      done()
      answer(waiting)
    })
    const ended = once(socket, 'end')
    socket.write(request.repeat(1000))
    await ended
    assert(handled >= 8 && handled <= 13, `${handled} are handled`)
  }
})

test('a client that waits for its answers sends any number of requests on one connection', async (t) => {
  const { socket, waiting } = await open(t, (_request, done) => {
    done()
    answer(waiting)
  })
  for (let count = 0; count < 300; count += 1) {
    const answered = once(socket, 'data')
    socket.write(get)
    await answered
  }
  assert.equal(socket.readyState, 'open')
})

test('when a connection is closed in the middle of a packet, the rest of the packet is not handled', async (t) => {
  let handled = 0
  const { socket } = await open(t, (request) => {
    handled += 1
    request.socket.destroy()
  })
  const closed = once(socket, 'close')
  socket.write(packet)
  await closed
  assert.equal(handled, 1)
})

test('a client that leaves is noticed although nothing more is parsed of its connection', async (t) => {
  const { socket, waiting } = await open(t, (_request, done) => done())
  socket.write(packet)
  await untilSteady(() => waiting.length)
  const [first] = waiting
  assert(first !== undefined)
  const closed = once(first, 'close')
  socket.resetAndDestroy()
  await closed
})

test('of clients that send without waiting only those that are first have more than one request waiting, and others are served', async (t) => {
  const { port, waiting } = await open(t, (_request, done) => done())
  for (let count = 0; count < 300; count += 1) {
    const socket = await dial(`http://127.0.0.1:${port}`)
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    socket.resume().write(packet)
  }
  const most = await untilSteady(() => waiting.length)
  assert(most > 1000 && most <= 1300, `${most} wait`)
  const modest = await dial(`http://127.0.0.1:${port}`)
  t.after(() => modest.destroy())
  modest.write('GET /modest HTTP/1.1\r\nHost: a\r\n\r\n')
  await untilSteady(() => waiting.length)
  waiting.find(({ req }) => req.url === '/modest')?.end('<0>')
  assert.match(String(await once(modest, 'data')), /<0>/)
})

test('one turn of the event loop takes in as much as it can do in moments, however much has come', async (t) => {
  const connections = 100
  let inTurn = 0
  let [most, handled] = [0, 0]
  const { port, waiting } = await open(t, (_request, done) => {
    const until = performance.now() + 1
    while (performance.now() < until);
    inTurn += 1
    handled += 1
    done()
    answer(waiting)
  })
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => dial(`http://127.0.0.1:${port}`)),
  )
  let ended = 0
  for (const socket of sockets) {
    socket.on('error', () => {})
    socket.resume().once('close', () => (ended += 1))
    socket.write(get.repeat(1000))
  }
  const endTurn = () => {
    most = Math.max(most, inTurn)
    inTurn = 0
    if (ended < connections) setImmediate(endTurn)
  }
  endTurn()
  await until('all are ended', () => ended >= connections)
  // Without a bound one turn has all of them.
  assert(most < 150 && handled >= connections, `${most} of ${handled} in one turn`)
})
