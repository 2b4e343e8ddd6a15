/** `webhooks listen --key` as a process, against a whole service: it prints what comes from its start on. */
import assert from 'node:assert/strict'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { after, type TestContext, test } from 'node:test'
import { emit, manyDigits, transactionText } from '#tests/request/list-events/emitted.ts'
import { startListening } from '#tests/support/listening.ts'
import { startService } from '#tests/support/service.ts'
import { until } from '#tests/support/until.ts'
import { type KeyTerminal, listenByKey } from './listen-by-key.ts'

const service = await startService()
after(() => service.close())

const listen = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  startListening(args, env)

test('R42: listen --key prints each event that comes, byte for byte, and nothing of before', async () => {
  const user = await service.createUser()
  await service.get('/v1/events?consumer=terminal', user)
  await emit(service.app.store, user.id)
  const { child, lines, ended } = listen([
    '--key',
    user.key,
    '--base-url',
    service.baseUrl,
    '--json',
  ])
  await until('it listens', () => lines.length === 1)
  assert.equal(JSON.parse(lines[0] ?? '').listening.consumer, 'terminal')
  const [body = ''] = await emit(service.app.store, user.id, { rows: [transactionText()] })
  await until('it is printed', () => lines.length === 2)
  assert.ok(lines[1]?.endsWith(`"body":${body}}`))
  assert.ok(lines[1]?.includes(manyDigits))
  child.kill('SIGINT')
  assert.deepEqual(await ended, { code: 0, err: '' })
})

test('R42: listen takes the key from TRIBUTARY_API_KEY, and shows events to a person', async () => {
  const user = await service.createUser()
  const { child, lines, ended } = listen([], {
    TRIBUTARY_API_KEY: user.key,
    TRIBUTARY_BASE_URL: service.baseUrl,
  })
  await until('it listens', () => lines.length === 1)
  assert.match(lines[0] ?? '', /^Listening for events of http/)
  await emit(service.app.store, user.id)
  await until('it is printed', () => lines.length === 3)
  assert.match(lines[1] ?? '', /transactions\.synced {2}0 new, 0 updated {2}chunk 1 of 1/)
  child.kill('SIGTERM')
  assert.deepEqual(await ended, { code: 0, err: '' })
})

test('R42: without a key, with a wrong one and with both kinds, listen says what to do', async () => {
  const none = await listen([]).ended
  assert.equal(none.code, 2)
  assert.match(none.err, /give --user, or an API key: --key or TRIBUTARY_API_KEY/)
  const wrong = await listen(['--key', 'nobody', '--base-url', service.baseUrl]).ended
  assert.equal(wrong.code, 1)
  assert.match(wrong.err, /invalid, expired or revoked/)
  const both = await listen(['--key', 'k', '--user', 'u']).ended
  assert.equal(both.code, 2)
  assert.match(both.err, /exclude each other/)
})

test('R42: a key or an address that cannot be sent is said to be wrong, and is not repeated', async () => {
  const address = /^tributary: --base-url must be an http or https URL without user and password\n$/
  for (const [key, url, words] of [
    ['k', 'http://me:sekrit@127.0.0.1:2', address],
    ['k', 'sekrit:3000', address],
    ['sekrit…', service.baseUrl, /^tributary: The key has characters that no key has\n$/],
  ] as const) {
    const { code, err } = await listen(['--key', key, '--base-url', url]).ended
    assert.equal(code, 1)
    assert.match(err, words)
  }
})

test('R42: listen outlives a restart of the server, a 503 and a 429, and says so once', async (t) => {
  const body = '{"type":"transactions.synced","data":{"new":[],"updated":[]}}'
  const answers: { readonly status: number; readonly body: string; readonly type?: string }[] = [
    { status: 200, body: '{"data":[],"next":"c0"}' },
    { status: 503, body: '{"error":{"message":"\\u001b[2Jkey-of-twenty-letters"}}' },
    { status: 429, body: '{"error":{"message":"Slow down","code":"rate_limited"}}' },
    { status: 200, body: `id: c1\ndata: ${body}\n\n`, type: 'text/event-stream' },
  ]
  const asked: unknown[] = []
  const baseUrl = await serve(t, (request, response) => {
    asked.push(request.headers['last-event-id'])
    // Beyond the list: a stream that brings nothing.
    const {
      status,
      body,
      type = 'application/json',
    } = answers.shift() ?? {
      ...{ status: 200, body: '', type: 'text/event-stream' },
    }
    const wait = status === 200 ? {} : { 'retry-after': '1' }
    response.writeHead(status, { 'content-type': type, ...wait })
    response.end(body)
  })
  const options = ['--key', 'key-of-twenty-letters', '--base-url', baseUrl, '--json']
  const { child, lines, ended } = listen(options)
  await until('the event is printed', () => lines.length === 2)
  assert.ok(lines[1]?.endsWith(`"body":${body}}`))
  await until('it asks behind the event', () => asked.at(-1) === 'c1')
  child.kill('SIGINT')
  const { code, err } = await ended
  assert.equal(code, 0)
  // What is printed holds neither the secret nor what a terminal obeys.
  assert.match(err, /^[^\u001b\n]*\[2J\[secret\]; trying again\n$/)
})

async function serve(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

test('R42: listen takes what is no answer of this API for what it is', async (t) => {
  const url = await serve(t, (_request, response) => response.end('<html>a router</html>'))
  const ended = await listen(['--key', 'k', '--base-url', url]).ended
  assert.equal(ended.code, 1)
  assert.match(ended.err, /is no Tributary, or an older one/)
})

test('R42: listen says that an answer breaks off, is too large, or does not come', async (t) => {
  const large = Buffer.alloc(65 * 1024 * 1024, ' ')
  const untilEnded = () => new Promise<void>(() => {})
  for (const [answer, words] of [
    [(response) => response.end(large), /^The answer is too large to be read$/],
    [(response) => response.write('{', () => response.destroy()), / does not answer$/],
    [(response) => response.write('{'), / did not answer within 0\.2 seconds$/],
    [() => {}, / did not answer within 0\.2 seconds$/],
  ] as const satisfies readonly (readonly [(response: ServerResponse) => unknown, RegExp])[]) {
    const baseUrl = await serve(t, (_request, response) => void answer(response))
    const terminal: KeyTerminal = {
      ...{ environment: {}, workingDirectory: tmpdir(), input: process.stdin },
      ...{ out: assert.fail, err: assert.fail },
      ...{ untilStopped: untilEnded, untilUnread: untilEnded },
    }
    const start = { key: 'k', baseUrl, json: false }
    const wait = `${words}`.includes('within') ? 200 : 30_000
    await assert.rejects(listenByKey(start, terminal, wait), (error) => {
      assert.match((error as Error).message, words)
      return true
    })
  }
})
