import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { BlockedAddress } from './allowed-address.ts'
import { fetchDocument } from './fetch-document.ts'
import { makeGuardedAgent } from './guarded-agent.ts'

/** Starts a local server, and fetches with private addresses allowed. */
async function withServer(
  listener: RequestListener,
  work: (get: (path: string, timeoutMs?: number) => Promise<Response>) => Promise<void>,
): Promise<void> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const agent = makeGuardedAgent({ allowPrivate: true })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const get = (path: string, timeoutMs = 2000) =>
    fetchDocument(origin + path, { agent, maxBytes: 1000, timeoutMs, allowPrivate: true })
  try {
    await work(get)
  } finally {
    await agent.destroy()
    server.closeAllConnections()
    server.close()
  }
}

test('a document is returned with its status and its cache life', () =>
  withServer(
    (_request, response) =>
      response.writeHead(200, { 'cache-control': 'max-age=60', 'set-cookie': 'a=b' }).end('{}'),
    async (get) => {
      const response = await get('/')
      assert.equal(response.status, 200)
      assert.equal(await response.text(), '{}')
      assert.equal(response.headers.get('cache-control'), 'max-age=60')
      assert.equal(response.headers.get('set-cookie'), null)
    },
  ))

test('a redirect is returned and not followed', async () => {
  const asked: string[] = []
  await withServer(
    (request, response) => {
      asked.push(request.url ?? '')
      response.writeHead(302, { location: '/elsewhere' }).end()
    },
    async (get) => {
      assert.equal((await get('/first')).status, 302)
    },
  )
  assert.deepEqual(asked, ['/first'])
})

test('a document over the bound fails, with and without a Content-Length', () =>
  withServer(
    (request, response) => {
      if (request.url === '/told') response.end('x'.repeat(1001))
      else for (let count = 0; count < 11; count += 1) response.write('x'.repeat(100))
      if (request.url !== '/told') response.end()
    },
    async (get) => {
      await assert.rejects(get('/told'), RangeError)
      await assert.rejects(get('/chunked'), RangeError)
    },
  ))

test('a server that sends nothing, or single bytes, is ended by the overall time limit', () =>
  withServer(
    (request, response) => {
      if (request.url !== '/drops') return
      response.writeHead(200)
      const timer = setInterval(() => response.write('x'), 20)
      response.on('close', () => clearInterval(timer))
    },
    async (get) => {
      await assert.rejects(get('/silence', 100), { name: 'TimeoutError' })
      await assert.rejects(get('/drops', 100), { name: 'TimeoutError' })
    },
  ))

test('a name that never resolves is ended by the overall time limit', async (t) => {
  const agent = makeGuardedAgent({ lookup: () => {}, connectTimeoutMs: 600_000 })
  t.after(() => agent.destroy())
  const options = { agent, maxBytes: 1000, timeoutMs: 100 }
  await assert.rejects(fetchDocument('https://slow.example.test/', options), {
    name: 'TimeoutError',
  })
})

test('private addresses are refused unless they are allowed', async () => {
  const agent = makeGuardedAgent()
  const options = { agent, maxBytes: 1000, timeoutMs: 1000 }
  for (const url of ['http://127.0.0.1/', 'https://127.0.0.1/', 'https://10.0.0.1/x', 'nonsense'])
    await assert.rejects(fetchDocument(url, options), BlockedAddress)
  await agent.destroy()
})
