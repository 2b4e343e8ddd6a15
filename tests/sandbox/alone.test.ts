/** The sandbox alone, as a process: what it prints is enough for another Tributary to live on it. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runCommand, startCommand } from './command.ts'

const anyPorts = ['--fiskil-port', '0', '--akahu-port', '0', '--snaptrade-port', '0']
const server = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** Everything a process has printed once `isEnough` says so; fails when it ends before. */
function readUntil(child: ChildProcess, isEnough: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (isEnough(text)) resolve(text)
    })
    child.on('close', (code) => reject(new Error(`it ended with ${code}: ${text}`)))
  })
}

function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.on('close', resolve))
}

async function startAlone(t: TestContext, ...words: string[]) {
  const child = startCommand(['sandbox', ...anyPorts, ...words])
  t.after(() => child.kill('SIGKILL'))
  const out = await readUntil(child, (text) => /numbers .*snaptrade.*\n$|^\{.*\}\n$/s.test(text))
  return { child, out }
}

test('a live Tributary that is given the printed lines links and serves the people there', async (t) => {
  const { out } = await startAlone(t, '--json')
  const { environment, people } = JSON.parse(out)
  const folder = mkdtempSync(join(tmpdir(), 'tributary-alone-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const settings = { ...environment, PORT: '0', ADMIN_PORT: '0', DATA_DIR: folder }
  const live = spawn(process.execPath, [server], { env: { PATH: process.env.PATH, ...settings } })
  const ended = endOf(live)
  t.after(async () => {
    live.kill('SIGTERM')
    await ended
  })
  const welcome = await readUntil(live, (text) => text.includes('Admin API'))
  assert.match(welcome, /\(live mode/)
  const adminUrl = /Admin API +(\S+)/.exec(welcome)?.[1] ?? ''
  const run = async (...words: string[]) => {
    const {
      code,
      out: text,
      err,
    } = await runCommand([...words, '--json'], {
      ADMIN_URL: adminUrl,
      DATA_DIR: folder,
    })
    assert.equal(code, 0, err)
    return JSON.parse(text)
  }
  const user = await run(...['users', 'create', '--email', 'a@b.example', '--plan', 'professional'])
  for (const { person, flags } of people) {
    if (person !== 'healthy') continue
    const { connections } = await run('connections', 'link', user.id, ...flags.split(' '))
    assert.ok(connections.length > 0, flags)
  }
  const { data } = await run('connections', 'list', user.id)
  assert.deepEqual(
    new Set(data.map((row: { provider: string }) => row.provider)),
    new Set(['fiskil', 'akahu', 'snaptrade']),
  )
})

test('for people it prints lines that a shell can read, and ends well when it is told to', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const { child, out } = await startAlone(t)
    const lines = out.trimEnd().split('\n')
    assert.ok(
      lines.every((line) => /^(?:#.*|[A-Z_]+=\S+)$/.test(line)),
      out,
    )
    assert.match(out, /^FISKIL_BASE_URL=http:\/\/127\.0\.0\.1:\d+$/m)
    assert.match(out, /^AKAHU_BASE_URL=http:\/\/127\.0\.0\.1:\d+\/v1$/m)
    assert.match(out, /^SNAPTRADE_CONSUMER_KEY=\S+$/m)
    const ended = endOf(child)
    child.kill(signal)
    assert.equal(await ended, 0)
  }
})

test('exit 1: a port that is taken is named, with the flags that choose others', async (t) => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo
  const words = ['--fiskil-port', String(port), '--akahu-port', '0', '--snaptrade-port', '0']
  const { code, out, err } = await runCommand(['sandbox', ...words])
  assert.deepEqual([code, out], [1, ''])
  assert.match(err, new RegExp(`^tributary: port ${port} is taken by another process; choose`))
})
