/** The listener alone, with clients that send any number of requests without waiting for an answer. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeListener } from '#doors/listener.ts'
import { dial } from './raw.ts'

interface Place {
  readonly port: number
  readonly socket: Socket
  /** The unanswered ones, in the order of their requests. */
  readonly waiting: ServerResponse[]
  /** The bodies of all answers so far, one after another. */
  readonly bodies: () => string
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
  const bodies = () =>
    [...texts.join('').matchAll(/\r\n\r\n(<\d+>)/g)].map(([, body]) => body).join('')
  return { port, socket, waiting, bodies }
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

/** Answers everything that waits, and what comes then, until this many were answered. */
async function answerAll(waiting: ServerResponse[], total: number): Promise<void> {
  for (let answered = 0; answered < total; ) {
    for (const response of waiting.splice(0)) {
      response.end(`<${answered}>`)
      answered += 1
    }
    await sleep(1)
  }
}

const numbered = (total: number) => Array.from({ length: total }, (_, at) => `<${at}>`).join('')

test('of requests sent without waiting only one read of the socket is accepted beyond a hundred unanswered ones', async (t) => {
  const total = 40_000
  const { socket, waiting, bodies } = await open(t, (_request, done) => done())
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(total))
  const accepted = await untilSteady(() => waiting.length)
  assert(accepted > 100 && accepted < 5000, `${accepted} are unanswered`)
  await answerAll(waiting, total)
  await untilSteady(() => bodies().length)
  assert.equal(bodies(), numbered(total))
})

test('the body of a request behind a hundred unanswered ones is read all the same', async (t) => {
  const total = 1000
  const { socket, waiting, bodies } = await open(t, (request, done) => {
    request.resume().once('end', done)
  })
  const body = 'x'.repeat(5000)
  const post = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  socket.write(post.repeat(total))
  const accepted = await untilSteady(() => waiting.length)
  assert(accepted >= 100 && accepted < total, `${accepted} are unanswered`)
  await answerAll(waiting, total)
  await untilSteady(() => bodies().length)
  assert.equal(bodies(), numbered(total))
})

test('of clients that send without waiting some are closed before more than 10,000 requests wait, others are served, and later ones too', async (t) => {
  const { port, waiting } = await open(t, (_request, done) => done())
  const many = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000)
  let closed = 0
  const flooding: Socket[] = []
  for (let count = 0; count < 60; count += 1) {
    const socket = await dial(`http://127.0.0.1:${port}`)
    socket.on('error', () => {})
    socket.on('close', () => {
      closed += 1
    })
    socket.resume().write(many)
    flooding.push(socket)
  }
  const alive = () => waiting.filter(({ destroyed }) => !destroyed)
  const most = await untilSteady(() => alive().length)
  assert(most > 2500 && most < 10_000, `${most} wait`)
  assert(closed > 40, `${closed} of 60 are closed`)
  // One more, which waits for its answer.
  const modest = await dial(`http://127.0.0.1:${port}`)
  t.after(() => modest.destroy())
  modest.write('GET /modest HTTP/1.1\r\nHost: a\r\n\r\n')
  await untilSteady(() => waiting.length)
  waiting.find(({ req }) => req.url === '/modest')?.end('<0>')
  assert.match(String(await once(modest, 'data')), /<0>/)

  for (const socket of flooding) socket.destroy()
  // Nobody reads from these connections: only an answer finds out that they are gone.
  const given = waiting.splice(0)
  for (const response of given) response.end()
  assert.equal(await untilSteady(() => given.filter((response) => !response.closed).length), 0)
  const later = await dial(`http://127.0.0.1:${port}`)
  t.after(() => later.destroy())
  later.resume().write(many)
  await untilSteady(() => waiting.length)
  await answerAll(waiting, 1000)
  assert.equal(later.destroyed, false)
})
