/** Answers of a provider that say of their body what is not so, on the wire. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ProcessStopping } from '#kernel/process-stopping.ts'
import { UpstreamError, type UpstreamFailure } from './failure.ts'
import { makeUpstream, type Upstream } from './upstream.ts'

interface Ground {
  readonly upstream: Upstream
  /** What the server writes for the next requests. */
  answer: (head: string, body: Uint8Array | string) => void
  [Symbol.asyncDispose](): Promise<void>
}

async function makeGround(): Promise<Ground> {
  let bytes: Buffer = Buffer.alloc(0)
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => socket.end(bytes))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const upstream = makeUpstream({
    provider: 'akahu',
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    timeoutMs: 2000,
    maxBodyBytes: 2 * 2 ** 20,
    report: { exchange: () => {}, alert: () => {}, oddity: () => {} },
  })
  return {
    upstream,
    answer(head, body) {
      bytes = Buffer.concat([Buffer.from(`HTTP/1.1 ${head}\r\n\r\n`), Buffer.from(body)])
    },
    async [Symbol.asyncDispose]() {
      await upstream.close()
      server.close()
    },
  }
}

const ask = ({ upstream }: Ground) =>
  upstream.send(
    { method: 'GET', route: '/me', target: '/me' },
    { signal: new AbortController().signal, priority: 'user' },
  )

async function failureOf(ground: Ground): Promise<UpstreamFailure> {
  const error = await ask(ground).then(
    () => assert.fail('it was read'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof UpstreamError, String(error))
  return error.failure
}

const json = '{"success":true,"items":[]}'
const packed = gzipSync(json)

test('a compressed answer is named as one, whatever its coding, and is not read', async () => {
  await using ground = await makeGround()
  for (const [header, named] of [
    ['content-encoding: gzip', 'gzip'],
    ['content-encoding: BR', 'br'],
    ['content-encoding: deflate, gzip', 'deflate, gzip'],
    ['content-encoding: gzip\r\ncontent-encoding: gzip', 'gzip, gzip'],
    ['content-encoding: identity, x-gzip', 'x-gzip'],
    ['content-encoding: <any text>', 'unknown'],
  ]) {
    ground.answer(`200 OK\r\n${header}\r\ncontent-length: ${packed.length}`, packed)
    assert.deepEqual(await failureOf(ground), {
      kind: 'malformed',
      detail: `the answer is compressed (${named}), although it was asked for uncompressed: a proxy on the way may do this`,
    })
  }
})

test('the status of a compressed refusal counts, and a body that says it is uncompressed is read', async () => {
  await using ground = await makeGround()
  ground.answer(
    `429 Slow\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\nretry-after: 7`,
    packed,
  )
  const { status, headers } = await ask(ground)
  assert.deepEqual([status, headers['retry-after']], [429, '7'])
  for (const header of [
    'content-encoding: identity',
    'content-encoding:',
    'vary: accept-encoding',
  ]) {
    ground.answer(`200 OK\r\n${header}\r\ncontent-length: ${json.length}`, json)
    assert.equal(Buffer.from((await ask(ground)).body).toString(), json)
  }
})

test('a body that is shorter than announced, or announced twice otherwise, is no answer', async () => {
  await using ground = await makeGround()
  for (const head of [
    `200 OK\r\ncontent-length: ${json.length + 9}`,
    `200 OK\r\ncontent-length: ${json.length}\r\ncontent-length: 3`,
    '200 OK\r\ncontent-length: -1',
    `200 OK\r\ncontent-length: ${json.length}\r\ntransfer-encoding: chunked`,
    '200 OK\r\ntransfer-encoding: chunked',
  ]) {
    ground.answer(head, json)
    assert.equal((await failureOf(ground)).kind, 'unavailable', head)
  }
})

test('a body that is cut, too large or in too many parts is a failure', async () => {
  await using ground = await makeGround()
  ground.answer('200 OK\r\ncontent-length: 99', json)
  const cut = {
    kind: 'unavailable',
    status: null,
    detail: 'the connection failed (UND_ERR_SOCKET)',
  }
  assert.deepEqual(await failureOf(ground), cut)
  const chunked = '200 OK\r\ntransfer-encoding: chunked'
  ground.answer(chunked, '2\r\n{}\r\n')
  assert.deepEqual(await failureOf(ground), cut)
  const tooLarge = { kind: 'malformed', detail: 'the answer is too large' }
  ground.answer(
    `${chunked}`,
    `${(3 * 2 ** 20).toString(16)}\r\n${' '.repeat(3 * 2 ** 20)}\r\n0\r\n\r\n`,
  )
  assert.deepEqual(await failureOf(ground), tooLarge)
  ground.answer(chunked, `${'1\r\n \r\n'.repeat(70_000)}0\r\n\r\n`)
  assert.deepEqual(await failureOf(ground), tooLarge)
  ground.answer(chunked, `${'1\r\n \r\n'.repeat(60_000)}0\r\n\r\n`)
  assert.equal((await ask(ground)).body.length, 60_000)
})

test('the end of the process ends what is on its way as that, not as a failure of the provider', async () => {
  await using ground = await makeGround()
  const waiting = assert.rejects(ask(ground), ProcessStopping)
  await ground.upstream.close()
  await waiting
})
