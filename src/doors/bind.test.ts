import assert from 'node:assert/strict'
import { lookup } from 'node:dns/promises'
import { test } from 'node:test'
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
