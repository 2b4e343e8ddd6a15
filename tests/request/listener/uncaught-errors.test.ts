/** An uncaught error, and a log that accepts no more lines: the process reports it, and serves or drains. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Started, startProcess } from '#tests/support/process.ts'
import { dial } from './raw.ts'

const folder = await mkdtemp(join(tmpdir(), 'tributary-defence-'))
after(() => rm(folder, { recursive: true, force: true }))

const preload = new URL('./throw-later.ts', import.meta.url).href

async function start(): Promise<Started> {
  const running = startProcess({
    DATA_DIR: folder,
    NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import=${preload}`,
  })
  await running.ready()
  return running
}

/** A request that is in flight until its socket ends: its body does not come. */
async function holdOpen(running: Started): Promise<Socket> {
  const { origin, host } = new URL(running.printed('REST API'))
  const socket = await dial(origin)
  socket.on('error', () => {})
  socket.write(`POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 9\r\n\r\n{`)
  await sleep(100)
  return socket
}

function fatalLines(stdout: string): { origin: string; err: { message: string } }[] {
  const lines = stdout.split('\n').filter((line) => line.includes('"level":"fatal"'))
  return lines.map((line) => JSON.parse(line))
}

for (const [signal, origin] of [
  ['SIGUSR2', 'uncaughtException'],
  ['SIGWINCH', 'unhandledRejection'],
] as const) {
  test(`${origin}: one fatal line without secrets, a metric, a drain, and exit 1`, async () => {
    const running = await start()
    const held = await holdOpen(running)
    const admin = running.printed('Admin API')
    running.child.kill(signal)
    let metrics = ''
    for (let waited = 0; waited < 100 && !metrics.includes(origin); waited += 1) {
      await sleep(20)
      metrics = await (await fetch(`${admin}/metrics`)).text()
    }
    assert.match(metrics, new RegExp(`background_failures_total\\{task="${origin}"\\} 1`))
    assert.equal((await fetch(`${admin}/readyz`)).status, 503)
    assert.equal(running.child.exitCode, null, 'what is in flight may finish')
    held.destroy()
    const { code, stdout, stderr } = await running.ended
    assert.deepEqual([code, stderr], [1, ''])
    const [line, ...more] = fatalLines(stdout)
    assert.deepEqual(more, [])
    assert.equal(line?.origin, origin)
    assert.equal(line?.err.message, 'it broke with password=[secret] inside')
    assert(!stdout.includes('hunter2'))
  })
}

test('a second uncaught error ends the drain at once, with exit code 1', async () => {
  const running = await start()
  const held = await holdOpen(running)
  running.child.kill('SIGUSR2')
  await sleep(300)
  const stoppedAt = performance.now()
  running.child.kill('SIGUSR2')
  const { code, stdout } = await running.ended
  held.destroy()
  assert.equal(code, 1)
  assert.equal(fatalLines(stdout).length, 2)
  assert(performance.now() - stoppedAt < 5000)
})

test('an error during an ordinary stop does not interrupt it, and the process ends with 1', async () => {
  const running = await start()
  const held = await holdOpen(running)
  running.child.kill('SIGTERM')
  await sleep(300)
  running.child.kill('SIGUSR2')
  await sleep(300)
  assert.equal(running.child.exitCode, null)
  held.destroy()
  assert.equal((await running.ended).code, 1)
})

test('when the reader of the log closes its pipe, the service continues', async () => {
  const running = await start()
  const origin = new URL(running.printed('REST API')).origin
  const admin = running.printed('Admin API')
  running.child.stdout?.destroy()
  running.child.stderr?.destroy()
  for (let asked = 0; asked < 5; asked += 1) {
    assert.equal((await fetch(`${origin}/v1/accounts`)).status, 401)
  }
  assert.equal((await fetch(`${admin}/readyz`)).status, 200)
  running.child.kill('SIGTERM')
  const [code] = await once(running.child, 'exit')
  assert.equal(code, 0)
})

test('a full disk loses log lines but does not end the process', async () => {
  const full = await open('/dev/full', 'w')
  const words = `
    import { makeLog } from '#telemetry/log.ts'
    let failures = 0
    const log = makeLog({ level: 'info', onFailure: () => { failures += 1 } })
    for (let line = 0; line < 5000; line += 1) log.info({ a: 'a'.repeat(1000) }, 'line')
    const held = process.memoryUsage().heapUsed
    setTimeout(() => process.stderr.write(JSON.stringify({ failures, held })), 20)`
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', words],
    { stdio: ['ignore', full.fd, 'pipe'] },
  )
  let output = ''
  child.stderr?.on('data', (bytes) => {
    output += bytes
  })
  const [code] = await once(child, 'close')
  await full.close()
  assert.equal(code, 0, output)
  const { failures, held } = JSON.parse(output)
  assert(failures > 0)
  assert(held < 64 * 1024 * 1024, `${held}`)
})
