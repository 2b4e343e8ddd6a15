/**
 * A listener at its connection limit: idle connections do not keep others out, and no request in
 * progress is affected.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readOpenFiles, toConnectionLimits } from '#doors/listener/connection-limits.ts'
import { makePublicServer } from '#doors/public-server.ts'
import { startProcess } from '#tests/support/process.ts'
import { until } from '#tests/support/until.ts'
import { dial, receive, sendRaw } from './raw.ts'

const limits = { evictAbove: 20, refuseAbove: 40 }
const head = 'GET /v1/ok HTTP/1.1\r\nHost: x\r\n'

async function start(t: TestContext) {
  const waiting: ServerResponse[] = []
  const server = makePublicServer({
    onFailure: (error) => assert.fail(String(error)),
    limits,
    direct: [],
    mount: async () => {},
    lane: (request, response) => {
      if (request.url === '/v1/later') return void waiting.push(response)
      response.writeHead(200, { 'content-length': '2' }).end('ok')
    },
  })
  t.after(() => server.drain(0))
  const origin = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
  const held: Socket[] = []
  t.after(() => {
    for (const socket of held) socket.destroy()
  })
  return {
    waiting,
    origin,
    ask: () => sendRaw(origin, `${head}\r\n`),
    /** Opens a connection, says this on it, and stays. */
    async hold(bytes: string): Promise<Socket> {
      const socket = await dial(origin)
      socket.on('error', () => {})
      held.push(socket)
      if (bytes !== '') socket.write(bytes)
      return socket
    },
  }
}

const silences: Readonly<Record<string, string>> = {
  'say nothing': '',
  'never end their head': head,
  'never end their body': 'POST /v1/later HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nab',
  'were answered and stay': `${head}\r\n`,
}
for (const [name, bytes] of Object.entries(silences)) {
  test(`however many connections ${name}, new ones are accepted`, async (t) => {
    const { hold, ask } = await start(t)
    for (let count = 0; count < 3 * limits.refuseAbove; count += 1) await hold(bytes)
    for (let count = 0; count < 5; count += 1) {
      assert.equal((await ask()).answers[0]?.status, 200)
    }
  })
}

test('a connection with a request in progress is not evicted', async (t) => {
  const { hold, ask, waiting } = await start(t)
  const socket = await hold('GET /v1/later HTTP/1.1\r\nHost: x\r\n\r\n')
  const received = receive(socket, 1)
  await until('one waits', () => waiting.length > 0, 5)
  for (let count = 0; count < 3 * limits.refuseAbove; count += 1) await hold('')
  assert.equal((await ask()).answers[0]?.status, 200)
  waiting[0]?.writeHead(200, { 'content-length': '4' }).end('late')
  assert.equal((await received).answers[0]?.text, 'late')
})

test('connections with a recent request are kept longer than idle ones', async (t) => {
  const { hold, ask } = await start(t)
  const regular = await hold('')
  for (let count = 0; count < 3 * limits.refuseAbove; count += 1) {
    await hold('')
    if (count % 5 > 0) continue
    regular.write(`${head}\r\n`)
    assert.equal((await receive(regular, 1)).answers[0]?.status, 200, `${count}`)
  }
  assert.equal((await ask()).answers[0]?.status, 200)
})

test('the real listeners evict before they refuse, and leave files for everything else', () => {
  for (const openFiles of [256, 512, 1024, 4096, 20_000, Number.POSITIVE_INFINITY]) {
    const { public: served, admin } = toConnectionLimits(openFiles, 4e9)
    for (const { evictAbove, refuseAbove } of [served, admin]) {
      assert(evictAbove > 0 && evictAbove < refuseAbove, `${openFiles}`)
    }
    assert(served.refuseAbove + admin.refuseAbove < openFiles * 0.7, `${openFiles}`)
    assert(served.refuseAbove <= 10_000)
  }
  const { public: small } = toConnectionLimits(20_000, 384 * 1024 * 1024)
  assert.equal(small.refuseAbove, 6144)
  assert.equal(readOpenFiles('/nowhere'), Number.POSITIVE_INFINITY)
})

test('with so few files that nobody would be served, the start is refused with the number that is needed', async () => {
  for (const openFiles of [48, 64, 255]) {
    const { code, stderr } = await startProcess({}, undefined, undefined, openFiles).ended
    assert.equal(code, 1)
    assert.match(
      stderr,
      new RegExp(`^tributary: this process may open ${openFiles} files and needs 256: .*\\n$`),
    )
  }
})

test('with 512 open files, idle connections of one address shut out nobody, nor the operator', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-files-'))
  const running = startProcess({ DATA_DIR: folder }, undefined, undefined, 512)
  t.after(async () => {
    running.child.kill('SIGKILL')
    await running.ended
    await rm(folder, { recursive: true, force: true })
  })
  await running.ready()
  const base = new URL(running.printed('REST API')).origin
  const admin = new URL(running.printed('Admin API')).origin
  for (const origin of [base, admin]) {
    for (let count = 0; count < 600; count += 1) {
      const socket = await dial(origin)
      t.after(() => socket.destroy())
      socket.on('error', () => {})
    }
  }
  for (let count = 0; count < 3; count += 1) {
    const { answers } = await sendRaw(admin, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
    assert.equal(answers[0]?.status, 200)
    // It asks an emulator, through two more connections of the process.
    const given = `Host: localhost\r\nAuthorization: Bearer ${running.printed('professional')}`
    const asked = await sendRaw(base, `GET /v1/accounts HTTP/1.1\r\n${given}\r\n\r\n`)
    assert.equal(asked.answers[0]?.status, 200)
  }
})
