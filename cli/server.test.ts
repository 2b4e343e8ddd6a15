import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { makeCertificate } from '#tests/support/certificate.ts'
import { callServer, findServer, type Refusal } from './server.ts'

test('the command finds the admin listener at every form of ADMIN_HOST that the service takes', async () => {
  const find = async (host: string) => {
    const own = { NODE_ENV: 'test', ADMIN_TOKEN: 'token', ADMIN_PORT: '3002', ADMIN_HOST: host }
    return (await findServer(own, '/')).url
  }
  for (const host of ['', '0.0.0.0', ' 127.0.0.1', '::ffff:127.0.0.1', '::ffff:0:0']) {
    assert.equal(await find(host), 'http://127.0.0.1:3002', host)
  }
  for (const host of ['::1', '[::1]', '::', '[::]', '::0', '0:0:0:0:0:0:0:1']) {
    assert.equal(await find(host), 'http://[::1]:3002', host)
  }
  assert.equal(await find('admin.internal'), 'http://admin.internal:3002')
})

test('what a link in the place of the token leads to is not sent: whoever may write in its folder could choose it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-server-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'secret'), 'a-line-of-another-file')
  symlinkSync(join(folder, 'secret'), join(folder, 'admin-token'))
  await assert.rejects(
    findServer({ NODE_ENV: 'test', DATA_DIR: folder }, '/'),
    /^Refusal: .*admin-token cannot be read \(it is a link\); set ADMIN_TOKEN instead$/,
  )
})

test('a port or a host that is none is refused by the name of the variable that is set', async () => {
  for (const [name, value] of [
    ['ADMIN_PORT', 'x'],
    ['ADMIN_PORT', '70000'],
    ['ADMIN_HOST', 'a b'],
    ['ADMIN_HOST', 'a/b'],
    ['ADMIN_HOST', '127.0.0'],
    ['ADMIN_HOST', '::1%eth0/'],
    ['ADMIN_URL', 'x'],
  ] as const) {
    const own = { NODE_ENV: 'test', ADMIN_TOKEN: 'token', [name]: value }
    const words = new RegExp(`^Refusal: ${name} should be .*, not "${value}"$`)
    await assert.rejects(findServer(own, '/'), words)
  }
  const own = { NODE_ENV: 'test', ADMIN_TOKEN: 'token', ADMIN_PORT: 'x' }
  const named = await findServer({ ...own, ADMIN_URL: 'http://a.example:1' }, '/')
  assert.equal(named.url, 'http://a.example:1')
})

test('what cannot be sent is said to be wrong by its name, and no password or token is repeated', async (t) => {
  const find = (more: object) =>
    findServer({ NODE_ENV: 'test', ADMIN_TOKEN: 'a-token-of-tests', ...more }, '/')
  const refuses = (more: object, words: RegExp) =>
    assert.rejects(find(more), ({ name, message }: Error) => {
      assert.equal(name, 'Refusal')
      assert.match(message, words)
      assert.doesNotMatch(message, /sekrit/)
      return true
    })
  for (const scheme of ['http', 'https', 'ftp'])
    await refuses(
      { ADMIN_URL: `${scheme}://user:sekrit@127.0.0.1:3001` },
      /^ADMIN_URL should have no user and no password: /,
    )
  await refuses({ ADMIN_URL: 'user:sekrit@[' }, /^ADMIN_URL should be .*, not a value that is not/)
  await refuses({ ADMIN_HOST: 'user:sekrit@a' }, /^ADMIN_HOST should be .*, not a value that is/)
  const words = /is no admin token: it has blanks, line ends or other characters of none$/
  for (const token of ['sekrit-a\nsekrit-b', 'sekrit-ü', 'sekrit b'])
    await refuses({ ADMIN_TOKEN: token }, words)
  const folder = mkdtempSync(join(tmpdir(), 'tributary-server-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'admin-token'), 'sekrit-a\nsekrit-b\n')
  await refuses({ ADMIN_TOKEN: '', DATA_DIR: folder }, words)
  const server = await find({ ADMIN_PORT: '6000' })
  await assert.rejects(
    callServer(server, { method: 'GET', path: '/admin', body: null }),
    /^Refusal: http:\S+:6000 has a port that no client of the web may ask, .* another ADMIN_PORT$/,
  )
})

/** Asks what listens on a free port of this machine. */
async function askListener(t: TestContext, server: Server, scheme: 'http' | 'https') {
  server.listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`
  return callServer({ url, token: 'token' }, { method: 'GET', path: '/admin', body: null })
}

test('https at a listener without TLS, and a certificate that nobody vouches for, are said as such', async (t) => {
  const plain = createHttpServer((_request, response) => response.end('{}'))
  await assert.rejects(askListener(t, plain, 'https'), (error: Refusal) => {
    assert.match(error.message, /^What answers at https:\S+ does not speak TLS$/)
    assert.match(String(error.envelope.error.details), /begin ADMIN_URL with http:/)
    return true
  })
  const secure = createHttpsServer(makeCertificate('money.example.com'))
  const words = /^Refusal: https:\S+ gave no answer that can be read: .*certificate/
  await assert.rejects(askListener(t, secure, 'https'), words)
})

test('a server that is not the admin API is not called one that does not answer', async (t) => {
  const redirect = 'HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n'
  const answers: Record<string, (socket: Socket) => void> = {
    'another protocol': (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
    'the end of the connection': (socket) => socket.end(),
    'a reset': (socket) => socket.once('data', () => socket.resetAndDestroy()),
    'a redirect': (socket) => socket.once('data', () => socket.end(redirect)),
    'half an answer': (socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{')),
  }
  for (const [name, answer] of Object.entries(answers)) {
    const server = createServer((socket) => answer(socket.on('error', () => {})))
    await assert.rejects(askListener(t, server, 'http'), (error: Error) => {
      assert.match(error.message, /^http:\S+ gave no answer that can be read: ./, name)
      return true
    })
  }
})
