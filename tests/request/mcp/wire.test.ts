/**
 * Tool calls as the network brings them: in pieces, many at once on one connection, broken off. Each gets its
 * own answer, in order, or none; nothing is left held.
 */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { modern, post, rpc, toolCall } from '#tests/support/agent.ts'
import { startService } from '#tests/support/service.ts'

const service = await startService({ env: { CONCURRENCY_HEAVY: '2' } })
const user = await service.createUser()
await service.link(user, 'healthy', 'fiskil')
const row = (await service.accounts(user)).find((one) => one.name === 'Everyday')
assert(row !== undefined)
const bank = row
after(() => service.close())

const transactions = (given: object, id: number | string = 1) =>
  toolCall(
    'list_transactions',
    { connectionId: bank.connectionId, accountId: bank.id, ...given },
    id,
  )

interface Message {
  readonly payload: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** The bytes of one request. */
function toBytes({ payload, headers = {} }: Message): Buffer {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const lines = [
    'POST /mcp HTTP/1.1',
    'Host: 127.0.0.1',
    `Authorization: Bearer ${user.key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

function dial(): Socket {
  const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1')
  socket.setNoDelay(true)
  socket.on('error', () => undefined)
  return socket
}

interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects, and fails when they are absent.
  readonly body: any
  readonly text: string
}

/** Reads this many answers, one after another, by their Content-Length. */
function read(socket: Socket, count: number): Promise<Reply[]> {
  const replies: Reply[] = []
  let held: Buffer = Buffer.alloc(0)
  return new Promise((resolve, reject) => {
    socket.setTimeout(20_000, () => reject(new Error(`${replies.length} of ${count} answers`)))
    socket.on('close', () => reject(new Error(`closed after ${replies.length} of ${count}`)))
    socket.on('data', (chunk: Buffer) => {
      held = Buffer.concat([held, chunk])
      for (;;) {
        const end = held.indexOf('\r\n\r\n')
        if (end === -1) return
        const head = held.subarray(0, end).toString('latin1')
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
        if (held.length < end + 4 + length) return
        const text = held.subarray(end + 4, end + 4 + length).toString()
        held = held.subarray(end + 4 + length)
        const body = text === '' ? null : JSON.parse(text)
        replies.push({ status: Number(head.slice(9, 12)), body, text })
        if (replies.length === count) resolve(replies)
      }
    })
  })
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 1))

test('a call that arrives in small pieces is answered like one that arrives at once', async () => {
  const whole = dial()
  const later = modern('tools/call', { name: 'list_accounts', arguments: { limit: 3 } })
  for (const message of [{ payload: transactions({ from: '2026-10-01' }) }, later]) {
    const bytes = toBytes(message)
    whole.write(bytes)
    const [expected] = await read(whole, 1)
    const socket = dial()
    const answered = read(socket, 1)
    for (let at = 0; at < bytes.length; at += 17) {
      socket.write(bytes.subarray(at, at + 17))
      await pause()
    }
    const [reply] = await answered
    assert.equal(reply?.status, 200)
    assert.equal(reply?.text, expected?.text)
    socket.destroy()
  }
  whole.destroy()
})

test('many requests sent at once on one connection are answered in their order, each with its id', async () => {
  const later = modern('tools/call', { name: 'list_connections', arguments: {} })
  const messages: Message[] = [
    { payload: transactions({ from: '2026-09-01' }, 'waits for the provider') },
    { payload: transactions({ from: '2026-10-01', limit: 500 }, 'é漢\u2028') },
    later,
    { payload: [toolCall('list_accounts', {}, 'a batch')] },
    { payload: 'no JSON' },
    { payload: toolCall('list_accounts', {}, 'x'.repeat(15_000)) },
    { payload: { jsonrpc: '2.0', method: 'notifications/initialized' } },
    { payload: rpc('ping', {}, 'by the library') },
  ]
  const when = ({ path }: { path: string }) => path === '/v1/banking/transactions'
  service.sandbox.fiskil.addFault({ when, does: { kind: 'delay', ms: 60 }, times: 1 })
  const socket = dial()
  socket.write(Buffer.concat(messages.map(toBytes)))
  const replies = await read(socket, messages.length)
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 200, 200, 200, 400, 200, 202, 200],
  )
  const idOf = ({ payload }: Message) => {
    const [one] = Array.isArray(payload) ? payload : [payload]
    return one?.id
  }
  for (const [at, reply] of replies.entries()) {
    const message = messages[at]
    if (message === undefined || [4, 6].includes(at)) continue
    const { id } = Array.isArray(reply.body) ? reply.body[0] : reply.body
    assert.equal(id, idOf(message))
  }
  socket.destroy()
})

test('a call in chunks, with extensions and trailers, is a call', async () => {
  const body = JSON.stringify(toolCall('list_accounts', { limit: 2 }))
  const head = toBytes({ payload: '', headers: { 'Transfer-Encoding': 'chunked' } })
    .toString()
    .replace(/Content-Length: 0\r\n/, '')
  const chunks = (body.match(/.{1,9}/g) ?? []).map(
    (part) => `${part.length.toString(16)};a=b\r\n${part}\r\n`,
  )
  const socket = dial()
  socket.write(`${head}${chunks.join('')}0\r\nX-Trailer: 1\r\n\r\n`)
  const [reply] = await read(socket, 1)
  assert.equal(reply?.body.result.structuredContent.pagination.limit, 2)
  socket.destroy()
})

test('what follows a declared length is the next request, not a part of the call', async () => {
  const socket = dial()
  const bytes = toBytes({ payload: toolCall('list_connections', {}, 1) })
  socket.write(Buffer.concat([bytes, Buffer.from('{"jsonrpc":"2.0"}\r\n\r\n')]))
  const [first, second] = await read(socket, 2)
  assert.deepEqual([first?.status, second?.status], [200, 400])
  socket.destroy()
})

/** Sends the first bytes of a call and then breaks off, by a reset or an end. */
async function breakOff(bytes: Buffer, how: 'reset' | 'end'): Promise<void> {
  const socket = dial()
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(bytes)
  await pause()
  if (how === 'reset') socket.resetAndDestroy()
  else socket.end()
  socket.resume()
  await new Promise((resolve) => (socket.destroyed ? resolve(null) : socket.once('close', resolve)))
}

test('calls that are broken off at any byte leave nothing behind', async () => {
  const errorsBefore = service.logLines.filter((line) => JSON.parse(line).level >= 50).length
  const cached = toBytes({ payload: transactions({ from: '2026-10-01', limit: 500 }) })
  for (let at = 1; at <= cached.length; at += 13) {
    await breakOff(cached.subarray(0, at), at % 2 === 0 ? 'reset' : 'end')
  }
  await Promise.all(
    Array.from({ length: 60 }, (_, at) => {
      const call = transactions({ from: '2026-08-01', limit: 1 + at })
      return breakOff(toBytes({ payload: call }), at % 2 === 0 ? 'reset' : 'end')
    }),
  )
  // Both in-flight places are free again.
  let statuses: readonly number[] = []
  for (let wait = 0; wait < 500; wait += 1) {
    const calls = [1, 2].map((limit) => transactions({ from: '2026-07-01', limit }))
    const answers = await Promise.all(calls.map((call) => post(service, call, { as: user })))
    statuses = answers.map(({ status }) => status)
    if (statuses.every((status) => status === 200)) break
    await pause()
  }
  assert.deepEqual(statuses, [200, 200])
  const errors = service.logLines.filter((line) => JSON.parse(line).level >= 50)
  assert.equal(errors.length, errorsBefore, errors.slice(errorsBefore).join('\n'))
})

test('a client that has sent its call and closed its side still gets the answer', async () => {
  const socket = dial()
  socket.end(toBytes({ payload: transactions({ from: '2026-10-01', limit: 500 }, 'half closed') }))
  const [reply] = await read(socket, 1)
  assert.equal(reply?.body.id, 'half closed')
})

test('many large answers that a client does not read are not lost, and end when it does', async () => {
  const socket = dial()
  socket.pause()
  const bytes = toBytes({ payload: transactions({ from: '2026-10-01', limit: 500 }) })
  socket.write(Buffer.concat(Array.from({ length: 8 }, () => bytes)))
  for (let wait = 0; wait < 100; wait += 1) await pause()
  const answered = read(socket, 8)
  socket.resume()
  const replies = await answered
  assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
  assert.equal((await post(service, rpc('ping'), { as: user })).status, 200)
  socket.destroy()
})
