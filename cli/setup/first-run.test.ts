/**
 * The first run as a person makes it, with processes: setup in an empty folder, the service, the printed
 * request, the doctor.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '#kernel/time.ts'
import { demoPersonalKey } from '#sandbox/snaptrade/people.ts'
import { startSandbox } from '#sandbox/start.ts'
import { compileCache } from '#tests/support/process.ts'

const root = join(import.meta.dirname, '..', '..')

async function findPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return String(typeof address === 'object' ? address?.port : 0)
}

async function makePlace(t: TestContext) {
  const sandbox = await startSandbox({ clock: systemClock })
  const folder = mkdtempSync(join(tmpdir(), 'tributary-first-'))
  const children: ChildProcess[] = []
  t.after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await sandbox.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const environment = {
    PATH: process.env.PATH,
    ...compileCache,
    PORT: await findPort(),
    ADMIN_PORT: await findPort(),
    AKAHU_BASE_URL: sandbox.access.akahu?.baseUrl,
    SNAPTRADE_BASE_URL: sandbox.access.snaptrade?.baseUrl,
    UP_BASE_URL: sandbox.access.up?.baseUrl,
    AKAHU_APP_TOKEN: 'app_token_pahealthy00000000000000000',
    SNAPTRADE_KEY: 'personal',
    SNAPTRADE_CLIENT_ID: demoPersonalKey.clientId,
    SNAPTRADE_CONSUMER_KEY: demoPersonalKey.consumerKey,
  }
  const begin = (args: readonly string[]) => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
      cwd: folder,
      env: environment,
      timeout: 120_000,
    })
    children.push(child)
    return child
  }
  return { begin, ports: environment }
}

async function finish(child: ChildProcess, input = '') {
  const output = { out: '', err: '' }
  child.stdout?.on('data', (chunk: Buffer) => {
    output.out += chunk.toString()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    output.err += chunk.toString()
  })
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  const [code] = await once(child, 'close')
  return { code, ...output }
}

test('setup with every key, then the service: the printed request answers with rows, and the doctor finds nothing', async (t) => {
  const { begin, ports } = await makePlace(t)
  const cli = join(root, 'cli/main.ts')
  const flags = ['--email', 'emma@b.example', '--up-token', '-', '--akahu-user-token', '-']
  const tokens = 'up:yeah:sandbox-healthy00000000000000000\nuser_token_pahealthy00000000000000000\n'
  const made = await finish(begin([cli, 'setup', ...flags]), tokens)
  assert.equal(made.code, 0, made.err)
  const [, key = '', url = ''] = /'Authorization: Bearer (\w+)' '([^']+)'/.exec(made.out) ?? []
  const service = begin([join(root, 'src/main.ts')])
  let welcome = ''
  service.stdout?.on('data', (text) => {
    welcome += String(text)
  })
  const ready = `http://127.0.0.1:${ports.ADMIN_PORT}/readyz`
  for (let tries = 0; tries < 150; tries += 1) {
    if ((await fetch(ready).catch(() => null))?.ok === true) break
    await sleep(200)
  }
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(answer.status, 200)
  const { data } = (await answer.json()) as { readonly data: readonly unknown[] }
  assert.equal(data.length, 3)
  // The owner is there: nobody is to be invited.
  assert.match(welcome, /^Next: sign in at .* users set-password emma@b\.example --password -$/m)
  const doctor = await finish(begin([cli, 'doctor', '--json']))
  assert.equal(doctor.code, 0, doctor.err)
  const { checks } = JSON.parse(doctor.out) as {
    readonly checks: readonly { readonly name: string; readonly status: string }[]
  }
  // How busy the machine of the tests is, is not for them to say.
  const others = checks.filter(({ name, status }) => status !== 'ok' && name !== 'event-loop')
  assert.deepEqual(others, [])
  const again = await finish(begin([cli, 'setup', '--email', 'emma@b.example']))
  assert.match(again.out, /^Nothing was changed/)
})
