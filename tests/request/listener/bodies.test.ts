/**
 * Bodies that are too large, and clients that ask first: answered at once, on every door, and the connection
 * ends.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startService } from '#tests/support/service.ts'
import { dial, type RawAnswer, receive, sendRaw } from './raw.ts'

const service = await startService()
after(() => service.close())

const form = 'application/x-www-form-urlencoded'
interface Door {
  readonly name: string
  readonly path: string
  readonly type: string
  readonly side?: 'admin'
}
const doors: readonly Door[] = [
  { name: 'agents', path: '/mcp', type: 'application/json' },
  { name: 'sign-in', path: '/sign-in', type: form },
  { name: 'sign-up', path: '/sign-up', type: form },
  { name: 'token endpoint', path: '/token', type: form },
  { name: 'registration', path: '/register', type: 'application/json' },
  { name: 'admin API', path: '/admin/users', type: 'application/json', side: 'admin' },
]

const originOf = ({ side }: Door) => (side === 'admin' ? service.adminUrl : service.baseUrl)

function headOf(door: Door, more: readonly string[]): string {
  const { host } = new URL(originOf(door))
  const token = door.side === 'admin' ? service.adminToken : 'nonsense'
  const lines = [
    `POST ${door.path} HTTP/1.1`,
    `Host: ${host}`,
    `Content-Type: ${door.type}`,
    `Authorization: Bearer ${token}`,
    ...more,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

const whatItSays = ({ status, text }: RawAnswer) => [status, text]

for (const door of doors) {
  test(`${door.name}: an announced body of 100 MB is refused with 413 before it is sent, and the connection ends`, async () => {
    const { answers, closed } = await sendRaw(
      originOf(door),
      headOf(door, ['Content-Length: 104857600']),
      2,
    )
    assert.deepEqual([answers.map(({ status }) => status), closed], [[413], true])
    assert.equal(answers[0]?.headers.connection, 'close')
  })

  test(`${door.name}: a POST without a body is answered like one with an empty body, and the connection stays`, async () => {
    const socket = await dial(originOf(door))
    socket.write(headOf(door, []))
    const none = await receive(socket, 1)
    socket.write(headOf(door, ['Content-Length: 0']))
    const empty = await receive(socket, 1)
    socket.destroy()
    assert.equal(none.answers.length, 1, 'it is answered')
    assert.deepEqual(none.answers.map(whatItSays), empty.answers.map(whatItSays))
  })

  test(`${door.name}: Expect: 100-continue with a body that is too large is refused`, async () => {
    const head = headOf(door, ['Content-Length: 16385', 'Expect: 100-continue'])
    const { answers, closed } = await sendRaw(originOf(door), head, 2)
    assert.deepEqual([answers.map(({ status }) => status), closed], [[413], true])
  })

  test(`${door.name}: Expect: 100-continue with a body within the limit is accepted`, async () => {
    const socket = await dial(originOf(door))
    socket.write(headOf(door, ['Content-Length: 2', 'Expect: 100-continue']))
    const [invitation] = await Promise.all([
      new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(String(bytes)))),
    ])
    assert.match(invitation, /^HTTP\/1\.1 100 /)
    socket.write('{}')
    const { answers } = await receive(socket, 1)
    socket.destroy()
    const status = answers[0]?.status ?? 0
    assert(status >= 200 && status < 500 && status !== 413, `${status}`)
  })

  test(`${door.name}: a chunked body is refused at the bound while it is still being sent, and its sender receives the 413`, async () => {
    const socket = await dial(originOf(door))
    socket.write(headOf(door, ['Transfer-Encoding: chunked']))
    const answered = receive(socket, 2)
    const part = `2000\r\n${'a'.repeat(0x2000)}\r\n`
    const more = setInterval(() => socket.write(part), 5)
    const { answers, closed } = await answered
    clearInterval(more)
    assert.deepEqual([answers.map(({ status }) => status), closed], [[413], true])
  })
}

test('the body of a GET is not read: one that announces 100 MB is answered, and its connection ends', async () => {
  const { host } = new URL(service.baseUrl)
  for (const path of ['/v1/categories', '/doc', '/sign-in', '/nowhere']) {
    const { answers, closed } = await sendRaw(
      service.baseUrl,
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 104857600\r\n\r\n`,
      2,
    )
    assert.equal(answers.length, 1, path)
    assert((answers[0]?.status ?? 500) < 500 && closed, path)
  }
})

test('what came behind a request that ended its connection is not done', async () => {
  const door = doors.at(-1) as Door
  const user = JSON.stringify({ email: 'behind@example.test' })
  const behind = headOf(door, [`Content-Length: ${user.length}`]) + user
  const last = headOf(door, ['Content-Length: 2', 'Connection: close'])
  const { answers } = await sendRaw(originOf(door), `${last}{}${behind}`, 2)
  assert.deepEqual(
    answers.map(({ status }) => status),
    [400],
  )
  const users = await fetch(`${service.adminUrl}/admin/users`, {
    headers: { authorization: `Bearer ${service.adminToken}` },
  })
  assert(!(await users.text()).includes('behind@example.test'))
})

const inChunks = (text: string) => [...text].map((letter) => `1\r\n${letter}\r\n`).join('')

for (const door of doors) {
  test(`${door.name}: a body in chunks of one byte is read like any other`, async () => {
    const text = door.type === form ? 'a=b&c=d' : '{"jsonrpc": "2.0"}'
    const whole = headOf(door, [`Content-Length: ${text.length}`]) + text
    const parts = `${headOf(door, ['Transfer-Encoding: chunked'])}${inChunks(text)}0\r\n\r\n`
    const [expected, given] = await Promise.all([
      sendRaw(originOf(door), whole),
      sendRaw(originOf(door), parts),
    ])
    assert.deepEqual(given.answers.map(whatItSays), expected.answers.map(whatItSays))
  })

  test(`${door.name}: a body in chunks of 64 bytes may be as long as one in large ones`, async () => {
    const parts = `40\r\n${'x'.repeat(64)}\r\n`.repeat(256)
    const { answers } = await sendRaw(
      originOf(door),
      `${headOf(door, ['Transfer-Encoding: chunked'])}${parts}0\r\n\r\n`,
    )
    assert.notEqual(answers[0]?.status ?? 413, 413)
  })

  test(`${door.name}: a body of two kilobytes in chunks of eight bytes is read`, async () => {
    const parts = `8\r\n${'x'.repeat(8)}\r\n`.repeat(256)
    const { answers } = await sendRaw(
      originOf(door),
      `${headOf(door, ['Transfer-Encoding: chunked'])}${parts}0\r\n\r\n`,
    )
    assert.notEqual(answers[0]?.status ?? 413, 413)
  })

  const surroundings = {
    'in 16,000 chunks of one byte': inChunks('x'.repeat(16_000)),
    'in 300 chunks of one byte': inChunks('x'.repeat(300)),
    'with more around its chunks than in them': `1${';a'.repeat(100)}\r\nx\r\n`.repeat(500),
  }
  for (const [name, parts] of Object.entries(surroundings)) {
    test(`${door.name}: a body ${name} is refused with 413 before its end, and the connection ends`, async () => {
      const socket = await dial(originOf(door))
      socket.write(headOf(door, ['Transfer-Encoding: chunked']) + parts)
      const { answers, closed } = await receive(socket, 2)
      assert.deepEqual([answers.map(({ status }) => status), closed], [[413], true])
    })
  }
}

test('a body that goes on after its request was answered is bounded too: its connection ends', async () => {
  for (const door of doors) {
    const head = headOf(door, ['Transfer-Encoding: chunked']).replace(/Bearer \S+/, 'Bearer wrong')
    const socket = await dial(originOf(door))
    const answered = receive(socket, 2)
    socket.write(head)
    await sleep(50)
    socket.write(inChunks('x'.repeat(16_000)))
    const { answers, closed } = await answered
    assert.deepEqual([answers.length, closed], [1, true], door.name)
  }
})

test('300 bodies in chunks of one byte, which never end, hold what they are long', async () => {
  const sockets = []
  const before = await settledMemory()
  for (let count = 0; count < 300; count += 1) {
    const socket = await dial(service.baseUrl)
    socket.on('error', () => {})
    const door = doors[count % 4] as Door
    socket.write(headOf(door, ['Transfer-Encoding: chunked']) + inChunks('x'.repeat(250)))
    sockets.push(socket)
  }
  const held = (await settledMemory()) - before
  for (const socket of sockets) socket.destroy()
  // One object for each byte would be 200 MB.
  assert(held < 60e6, `${held} bytes`)
})

/** Of the process, when all that was sent has been read. */
async function settledMemory(): Promise<number> {
  await sleep(500)
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

test('heads whose bodies never come are held within a bound: the one that came first ends with its connection', async (t) => {
  const [door] = doors.filter(({ name }) => name === 'sign-in')
  assert(door !== undefined)
  const fields = Array.from({ length: 95 }, (_field, index) => `X-${index}: ${'v'.repeat(155)}`)
  const head = headOf(door, [...fields, 'Content-Length: 10'])
  const sockets = await Promise.all(Array.from({ length: 1500 }, () => dial(service.baseUrl)))
  t.after(() => sockets.forEach((socket) => void socket.destroy()))
  const ended = new Set<number>()
  for (const [index, socket] of sockets.entries()) {
    socket.resume().on('error', () => undefined)
    socket.once('close', () => ended.add(index))
    socket.write(head)
    if (index % 50 === 0) await sleep(5)
  }
  for (let waits = 0; waits < 100 && ended.size < 200; waits += 1) await sleep(50)
  assert(ended.size >= 200, `${ended.size} ended`)
  assert(ended.has(0) && !ended.has(1499))
})
