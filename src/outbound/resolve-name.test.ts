import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { createSocket } from 'node:dgram'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { request } from 'undici'
import { makeGuardedAgent } from './guarded-agent.ts'
import { openHostsFile } from './hosts-file.ts'
import { makeResolveName, type ResolveOptions } from './resolve-name.ts'

const noHosts = async () => []

/** What the server knows of a name; `silent`: it never answers; `only A`: it never answers AAAA. */
type Answer = 'silent' | 'unknown' | 'failure' | 'only A' | readonly string[]

/** A DNS server on loopback, which answers `127.0.0.1` for all other names. */
async function startDns(t: TestContext, answers: Readonly<Record<string, Answer>> = {}) {
  const socket = createSocket('udp4')
  const asked: string[] = []
  const held: (() => void)[] = []
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = readQuestion(query)
    asked.push(name)
    const told = answers[name] ?? ['127.0.0.1']
    const answer = told === 'only A' ? (type === 1 ? ['198.18.0.1'] : 'silent') : told
    const records = type === 1 && typeof answer !== 'string' ? answer.map(toRecord) : []
    const head = Buffer.alloc(12)
    query.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8180 | (codes[String(answer)] ?? 0), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    const reply = Buffer.concat([head, query.subarray(12, end), ...records])
    const send = () => socket.send(reply, port, address)
    if (answer === 'silent') held.push(send)
    else send()
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  t.after(() => socket.close())
  /** Says of the silent names that they do not exist. */
  const release = () => {
    for (const send of held.splice(0)) send()
  }
  return { servers: [`127.0.0.1:${socket.address().port}`], asked, release }
}

const codes: Readonly<Record<string, number>> = { failure: 2, unknown: 3, silent: 3 }

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + size))
    at += size + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** An A record that names the question. */
function toRecord(address: string): Buffer {
  const head = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4])
  return Buffer.concat([head, Buffer.from(address.split('.').map(Number))])
}

function ask(options: ResolveOptions, name: string, family: 0 | 4 | 6 = 0): Promise<string[]> {
  const resolve = makeResolveName({ hosts: noHosts, ...options })
  return new Promise((done, fail) => {
    resolve(name, { all: true, family }, (error, found) => {
      if (error === null) done(Array.isArray(found) ? found.map((one) => one.address) : [found])
      else fail(error)
    })
  })
}

test('while sixty names never resolve, files are read, other names resolve and other posts arrive', async (t) => {
  const { servers, asked, release } = await startDns(t, { 'slow.example.test': 'silent' })
  const lookup = makeResolveName({ servers, hosts: noHosts, limitMs: 600_000 })
  const server = createServer((_request, response) => response.end('arrived'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const agent = makeGuardedAgent({
    allowPrivate: true,
    lookup,
    connections: 64,
    connectTimeoutMs: 600_000,
  })
  t.after(() => server.close())
  let ended = 0
  const slow = Array.from({ length: 60 }, () =>
    request('http://slow.example.test/', { dispatcher: agent })
      .catch(() => {})
      .finally(() => {
        ended += 1
      }),
  )
  const { body } = await request(`http://other.example.test:${port}/`, { dispatcher: agent })
  assert.equal(await body.text(), 'arrived')
  assert.ok((await readFile(import.meta.filename)).length > 0)
  assert.equal(ended, 0)
  assert.ok(asked.includes('slow.example.test'))
  release()
  await Promise.all(slow)
  await agent.destroy()
})

test('the guarded agents give no name to the threads of the process', async (t) => {
  const kinds: string[] = []
  const hook = createHook({ init: (_id, kind) => void kinds.push(kind) }).enable()
  const server = createServer((_request, response) => response.end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const agent = makeGuardedAgent({ allowPrivate: true })
  t.after(async () => {
    hook.disable()
    await agent.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  await (await request(`http://localhost:${port}/`, { dispatcher: agent })).body.dump()
  assert.ok(kinds.includes('TCPCONNECTWRAP'))
  assert.ok(!kinds.includes('GETADDRINFOREQWRAP'))
})

test('the look-up of a name whose servers are silent ends after the limit', async (t) => {
  const { servers } = await startDns(t, { 'slow.example.test': 'silent' })
  const system: LookupFunction = () => assert.fail('the system was asked')
  const options = { servers, system, asksSystem: true, limitMs: 200 }
  await assert.rejects(ask(options, 'slow.example.test'), { code: 'EAI_AGAIN' })
})

test('a server that never answers for one address family costs half a second, not the look-up', async (t) => {
  const { servers } = await startDns(t, { 'half.example.test': 'only A' })
  const started = performance.now()
  assert.deepEqual(await ask({ servers }, 'half.example.test'), ['198.18.0.1'])
  const took = performance.now() - started
  assert.ok(took >= 400 && took < 3000, `${took} ms`)
  const soon = { servers, otherFamilyMs: 0, limitMs: 600_000 }
  assert.deepEqual(await ask(soon, 'half.example.test'), ['198.18.0.1'])
  await assert.rejects(ask(soon, 'half.example.test', 6), { code: 'ENOTFOUND' })
})

test('a name that does not exist, has no address or is invalid is distinguished from a failed look-up', async (t) => {
  const { servers } = await startDns(t, {
    'gone.example.test': 'unknown',
    'empty.example.test': [],
    'sick.example.test': 'failure',
  })
  for (const name of ['gone.example.test', 'empty.example.test', `${'x'.repeat(70)}.test`])
    await assert.rejects(ask({ servers }, name), { code: 'ENOTFOUND' })
  await assert.rejects(ask({ servers }, 'sick.example.test'), { code: 'EAI_AGAIN' })
})

test('localhost is this machine, and no server is asked for it', async (t) => {
  const { servers, asked } = await startDns(t, { localhost: ['198.18.0.1'] })
  for (const name of ['localhost', 'LOCALHOST.', 'a.localhost'])
    assert.deepEqual(await ask({ servers }, name), ['127.0.0.1', '::1'])
  assert.deepEqual(asked, [])
})

test('of very many addresses the first sixteen are kept, and only those of the wanted family', async (t) => {
  const many = Array.from({ length: 30 }, (_, at) => `198.18.0.${at}`)
  const { servers } = await startDns(t, { 'many.example.test': many })
  assert.equal((await ask({ servers }, 'many.example.test')).length, 16)
  await assert.rejects(ask({ servers }, 'many.example.test', 6), { code: 'ENOTFOUND' })
})

test('the hosts file comes before the servers, and is read again when it has changed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'hosts-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'hosts')
  await writeFile(
    path,
    '# ours\n10.0.0.7 Receiver receiver.lan # a note\n::1 receiver\nnonsense x\n',
  )
  const { servers, asked } = await startDns(t)
  const options = { servers, hosts: openHostsFile(path) }
  assert.deepEqual(await ask(options, 'receiver'), ['10.0.0.7', '::1'])
  assert.deepEqual(await ask(options, 'RECEIVER.lan'), ['10.0.0.7'])
  assert.deepEqual(asked, [])
  assert.deepEqual(await ask(options, 'x'), ['127.0.0.1'])
  assert.deepEqual(await openHostsFile(join(folder, 'none'))('receiver'), [])
})

test('where allowed, names that the servers do not know are resolved by the system, one at a time', async (t) => {
  const { servers } = await startDns(t, {
    one: 'unknown',
    two: 'unknown',
    'sick.example.test': 'failure',
  })
  const waiting: (() => void)[] = []
  const system: LookupFunction = (_name, _options, callback) => {
    waiting.push(() => callback(null, [{ address: '10.0.0.9', family: 4 }]))
  }
  await assert.rejects(ask({ servers, system }, 'one'), { code: 'ENOTFOUND' })
  assert.equal(waiting.length, 0)
  const resolve = makeResolveName({ servers, system, hosts: noHosts, asksSystem: true })
  const answers: unknown[] = []
  const { promise: both, resolve: done } = Promise.withResolvers<void>()
  for (const name of ['one', 'two', 'sick.example.test'])
    resolve(name, { all: false }, (error, address) => {
      answers.push(error ?? address)
      if (answers.length === 3) done()
    })
  for (let turn = 1; turn <= 3; turn += 1) {
    while (waiting.length < turn) await new Promise((next) => setImmediate(next))
    assert.equal(waiting.length, turn)
    waiting[turn - 1]?.()
  }
  await both
  assert.deepEqual(answers, ['10.0.0.9', '10.0.0.9', '10.0.0.9'])
})
