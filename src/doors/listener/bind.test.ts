import assert from 'node:assert/strict'
import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { request } from 'undici'
import { bind } from './bind.ts'
import { makeListener } from './listener.ts'

test('localhost is bound at each of its addresses, with one port, and the drain ends them all', async () => {
  const listener = makeListener()
  const port = await bind(listener, (_request, response) => response.end('ok'), 'localhost', 0)
  const hosts = (await lookup('localhost', { all: true })).map(({ address, family }) =>
    family === 6 ? `[${address}]` : address,
  )
  assert(hosts.length > 0)
  const ask = (host: string) => request(`http://${host}:${port}/`, { reset: true })
  for (const host of hosts) {
    const { statusCode, body } = await ask(host)
    await body.dump()
    assert.equal(statusCode, 200, host)
  }
  await listener.drain(1000)
  for (const host of hosts) await assert.rejects(ask(host), { code: 'ECONNREFUSED' }, host)
})

test('a port that is taken is refused', async (t) => {
  const [one, two] = [makeListener(), makeListener()]
  t.after(() => one.drain(0))
  const port = await bind(one, () => {}, '127.0.0.1', 0)
  await assert.rejects(
    bind(two, () => {}, '127.0.0.1', port),
    { code: 'EADDRINUSE' },
  )
})

/** Opens connections in a thread of its own and says how many the kernel has taken after a moment. */
const connecting = `
const { workerData } = require('node:worker_threads')
const { connect } = require('node:net')
const sockets = Array.from({ length: workerData.count }, () =>
  connect(workerData.port, '127.0.0.1', () => Atomics.add(workerData.open, 0, 1)).on('error', () => {}))
setTimeout(() => {
  Atomics.store(workerData.open, 1, 1)
  Atomics.notify(workerData.open, 1)
  for (const socket of sockets) socket.destroy()
}, 2000)
`

/** As many as Linux allows; other systems allow 128. */
const readAllowed = () => {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'))
  } catch {
    return 128
  }
}

test('a thousand connections, or as many as the kernel allows, wait for a busy event loop', async (t) => {
  const count = Math.min(1000, readAllowed())
  const listener = makeListener()
  t.after(() => listener.drain(0))
  const port = await bind(listener, (_request, response) => response.end('ok'), '127.0.0.1', 0)
  const open = new Int32Array(new SharedArrayBuffer(8))
  const worker = new Worker(connecting, { eval: true, workerData: { port, count, open } })
  await new Promise((resolve) => worker.once('online', resolve))
  Atomics.wait(open, 1, 0, 20_000)
  assert.equal(open[0], count)
  await worker.terminate()
})
