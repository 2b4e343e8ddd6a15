import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { systemClock } from '#kernel/time.ts'
import { fiskilDemoCredentials, startFiskilEmulator } from '#sandbox/fiskil/index.ts'
import { type Started, startProcess } from '#tests/support/process.ts'
import { dial, type RawExchange, receive } from './raw.ts'

const adminToken = 'a-token-of-the-drain-test-0123456789'

let running: Started
let origin: string
let key: string
let path: string
const folder = await mkdtemp(join(tmpdir(), 'tributary-drain-'))
const fiskil = await startFiskilEmulator({ clock: systemClock })
after(async () => {
  await fiskil.close()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  fiskil.latencyMs = 0
  fiskil.clearFaults()
  running = startLive()
  await running.ready()
  origin = new URL(running.printed('REST API')).origin
  key ??= await prepare(running.printed('Admin API'))
})

// Where a test failed, or was left out when only failed ones are repeated, its process still has the store
// open.
afterEach(async () => {
  running.child.kill('SIGKILL')
  await running.ended
})

/** Live mode, with the emulator where Fiskil would be. */
function startLive(): Started {
  return startProcess({
    DATA_DIR: join(folder, 'data'),
    SANDBOX: 'false',
    ADMIN_TOKEN: adminToken,
    FISKIL_BASE_URL: fiskil.url,
    FISKIL_CLIENT_ID: fiskilDemoCredentials.clientId,
    FISKIL_CLIENT_SECRET: fiskilDemoCredentials.clientSecret,
  })
}

async function post(url: string, body: object) {
  const answer = await request(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await answer.body.text()
  assert.equal(answer.statusCode, 201, text)
  return JSON.parse(text)
}

/** A user with a key and a bank, as an operator makes them; remembers the path of a slow request. */
async function prepare(admin: string): Promise<string> {
  const user = await post(`${admin}/admin/users`, { email: 'one@example.test', plan: 'developer' })
  const { endUserId } = fiskil.people.healthy
  const linked = await post(`${admin}/admin/users/${user.id}/connections`, {
    provider: 'fiskil',
    endUserId,
  })
  path = `/v1/transactions?connectionId=${linked.connections[0].id}`
  return (await post(`${admin}/admin/users/${user.id}/keys`, {})).key
}

const isAlive = async () => {
  try {
    ;(await dial(origin)).destroy()
    return true
  } catch {
    return false
  }
}

async function refusesNewcomers(): Promise<void> {
  for (let waited = 0; waited < 40 && (await isAlive()); waited += 1) await sleep(50)
  assert.equal(await isAlive(), false)
}

/** Sends a request over a connection that is to be kept, and waits until the provider has been asked. */
async function beginSlow(): Promise<{ readonly answer: Promise<RawExchange> }> {
  const asked = fiskil.requests.length
  const socket = await dial(origin)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`)
  const answer = receive(socket, 2)
  for (let waited = 0; fiskil.requests.length === asked && waited < 200; waited += 1)
    await sleep(10)
  assert(fiskil.requests.length > asked)
  return { answer }
}

test('SIGTERM: the request in flight gets its answer, newcomers are refused, idle connections end, exit 0', async () => {
  const idle = await dial(origin)
  const idleEnds = receive(idle, 1)
  fiskil.latencyMs = 2500
  const { answer } = await beginSlow()
  running.child.kill('SIGTERM')
  await refusesNewcomers()
  assert.equal((await idleEnds).closed, true)
  const { answers, closed } = await answer
  assert.equal(answers.length, 1)
  assert.equal(answers[0]?.status, 200)
  assert(JSON.parse(answers[0]?.text ?? '').data.length > 0)
  assert.equal(closed, true)
  const ending = await running.ended
  assert.deepEqual([ending.code, ending.signal, ending.stderr], [0, null, ''])
})

test('SIGHUP, as from a terminal that is closed, drains too', async () => {
  fiskil.latencyMs = 1000
  const { answer } = await beginSlow()
  running.child.kill('SIGHUP')
  assert.equal((await answer).answers[0]?.status, 200)
  const ending = await running.ended
  assert.deepEqual([ending.code, ending.signal], [0, null])
})

test('a second signal ends the process at once', async () => {
  fiskil.latencyMs = 20_000
  const { answer } = await beginSlow()
  running.child.kill('SIGTERM')
  // Two signals that are sent at once may arrive as one.
  await refusesNewcomers()
  const started = performance.now()
  running.child.kill('SIGTERM')
  const ending = await running.ended
  assert.equal(ending.code, 1)
  assert(performance.now() - started < 10_000)
  assert.equal((await answer).closed, true)
})

test('a kill at any moment loses no key and no connection, and the next start succeeds', async () => {
  running.child.kill('SIGKILL')
  assert.equal((await running.ended).signal, 'SIGKILL')
  running = startLive()
  await running.ready()
  const answer = await request(`${running.printed('REST API')}/connections`, {
    headers: { authorization: `Bearer ${key}` },
  })
  assert.equal(answer.statusCode, 200)
  assert(((await answer.body.json()) as { data: unknown[] }).data.length > 0)
  running.child.kill('SIGINT')
  assert.equal((await running.ended).code, 0)
})

test('SIGTERM in the middle of a start is a clean stop, whatever was being prepared', async () => {
  running.child.kill('SIGTERM')
  await running.ended
  const endings = await Promise.all(
    [350, 550, 700, 900].map(async (ms, index) => {
      const started = startProcess({ DATA_DIR: join(folder, `early-${index}`) })
      await sleep(ms)
      started.child.kill('SIGTERM')
      return started.ended
    }),
  )
  for (const { code, signal, stderr } of endings) {
    assert.equal(stderr, '')
    // Before the first line of ours has run, the signal ends the process by itself.
    assert(code === 0 || signal === 'SIGTERM', `${code} ${signal}`)
  }
})
