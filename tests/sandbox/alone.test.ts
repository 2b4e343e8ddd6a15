/** The sandbox alone, as a process: what it prints is enough to configure another Tributary. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { compileCache } from '#tests/support/process.ts'
import { until } from '#tests/support/until.ts'
import { runCommand, startCommand } from './command.ts'

const anyPorts = ['fiskil', 'akahu', 'snaptrade', 'up'].flatMap((name) => [`--${name}-port`, '0'])
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

/** A Tributary with these variables, and what runs commands on it: their answers as JSON. */
async function startLive(t: TestContext, environment: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-alone-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const settings = { ...environment, PORT: '0', ADMIN_PORT: '0', DATA_DIR: folder }
  const live = spawn(process.execPath, [server], {
    env: { NODE_ENV: 'test', PATH: process.env.PATH, ...compileCache, ...settings },
  })
  const ended = endOf(live)
  t.after(async () => {
    live.kill('SIGTERM')
    await ended
  })
  const welcome = await readUntil(live, (text) => text.includes('Admin API'))
  assert.match(welcome, /\(live mode/)
  const adminUrl = /Admin API +(\S+)/.exec(welcome)?.[1] ?? ''
  return async (words: readonly string[], input = '') => {
    const own = { ADMIN_URL: adminUrl, DATA_DIR: folder }
    const { code, out, err } = await runCommand([...words, '--json'], own, input)
    assert.equal(code, 0, err)
    return JSON.parse(out)
  }
}

const makeUser = ['users', 'create', '--email', 'a@b.example', '--plan', 'professional']

test('a live Tributary that is given the printed lines links and serves the people there', async (t) => {
  const { environment, people, ownKeys } = JSON.parse((await startAlone(t, '--json')).out)
  const run = await startLive(t, environment)
  const user = await run(makeUser)
  for (const { person, flags } of people) {
    if (person !== 'healthy') continue
    const { connections } = await run(['connections', 'link', user.id, ...flags.split(' ')])
    assert.ok(connections.length > 0, flags)
  }
  const { data } = await run(['connections', 'list', user.id])
  assert.deepEqual(
    new Set(data.map((row: { provider: string }) => row.provider)),
    new Set(['fiskil', 'akahu', 'snaptrade', 'up', 'simplefin', 'enablebanking']),
  )
  assert.ok(ownKeys.length > 1)
  for (const { flags } of ownKeys) {
    const { connections } = await run(['connections', 'link', user.id, ...flags.split(' ')])
    assert.ok(connections.length > 0, flags)
  }
})

test('with the printed personal key, the steps of docs/providers/snaptrade.md lead to its accounts', async (t) => {
  const { out } = await startAlone(t, '--json')
  const { environment, personalKeys } = JSON.parse(out)
  const { SNAPTRADE_BASE_URL } = environment
  const run = await startLive(t, { SNAPTRADE_BASE_URL, ...personalKeys.snaptrade })
  await run(['users', 'create', '--email', 'me@example.com'])
  const { connections } = await run([
    'connections',
    'link',
    'me@example.com',
    '--provider',
    'snaptrade',
  ])
  assert.equal(connections.length, 3)
  const { data } = await run(['connections', 'list', 'me@example.com'])
  assert.equal(data.length, 3)
  const { checks } = await run(['doctor'])
  const said = checks.filter(({ name }: { name: string }) => name === 'provider:snaptrade')
  const [finding, ...others] = said
  assert.deepEqual([finding.status, others], ['ok', []])
  assert.match(
    finding.message,
    /^personal key of TRIBUTARY-PERSONAL accepted; personal key of me@example\.com: 3 connections/,
  )
})

test('with the printed lines of a personal app alone, the tokens are read from standard input, one line each', async (t) => {
  const { environment, ownKeys, personalKeys } = JSON.parse((await startAlone(t, '--json')).out)
  const { AKAHU_BASE_URL } = environment
  const run = await startLive(t, { AKAHU_BASE_URL, ...personalKeys.akahu })
  const [own, other] = ownKeys.map(({ link }: { link: object }) => link)
  assert.equal(personalKeys.akahu.AKAHU_APP_TOKEN, own.appToken)
  const user = await run(makeUser)
  const link = ['connections', 'link', user.id, '--provider', 'akahu', '--user-token', '-']
  const mine = await run(link, `${own.userToken}\n`)
  assert.equal(mine.connections.length, 4)
  const others = await run([...link, '--app-token', '-'], `${other.userToken}\n${other.appToken}\n`)
  assert.equal(others.connections.length, 1)
  assert.deepEqual(await run(['connections', 'remove', others.connections[0].id]), {})
  const { data } = await run(['connections', 'list', user.id])
  assert.equal(data.length, 4)
})

test('without --json it prints lines that a shell can read, and it ends with 0 on a signal', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const { child, out } = await startAlone(t)
    const lines = out.trimEnd().split('\n')
    assert.ok(
      lines.every((line) => /^(?:#.*|[A-Z_]+=\S+)$/.test(line)),
      out,
    )
    assert.match(out, /^FISKIL_BASE_URL=http:\/\/127\.0\.0\.1:\d+$/m)
    assert.match(out, /^AKAHU_BASE_URL=http:\/\/127\.0\.0\.1:\d+\/v1$/m)
    // Otherwise people would be sent to the real provider.
    assert.match(out, /^AKAHU_OAUTH_URL=http:\/\/127\.0\.0\.1:\d+\/authorize$/m)
    assert.match(out, /^SNAPTRADE_CONSUMER_KEY=\S+$/m)
    assert.match(out, /^# {3}SNAPTRADE_KEY=personal\n# {3}SNAPTRADE_CLIENT_ID=TRIBUTARY-PERSONAL$/m)
    assert.match(
      out,
      /personal +--provider snaptrade --client-id TRIBUTARY-PERSONAL --consumer-key/,
    )
    const ended = endOf(child)
    child.kill(signal)
    assert.equal(await ended, 0)
  }
})

test('alone it sends webhooks of what is done through the providers’ own APIs, to the address that is named', async (t) => {
  const arrived: { path: string; signature: string; body: string }[] = []
  const receiver = createHttpServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const signature = String(request.headers['x-fiskil-signature'])
    arrived.push({ path: request.url ?? '', signature, body: Buffer.concat(chunks).toString() })
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  t.after(() => receiver.close())
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  const { environment } = JSON.parse((await startAlone(t, '--webhooks-to', url, '--json')).out)
  const base = `${environment.FISKIL_BASE_URL}/v1`
  const json = { 'content-type': 'application/json' }
  const credentials = {
    client_id: environment.FISKIL_CLIENT_ID,
    client_secret: environment.FISKIL_CLIENT_SECRET,
  }
  const body = JSON.stringify(credentials)
  const token = await (await fetch(`${base}/token`, { method: 'POST', headers: json, body })).json()
  const headers = { authorization: `Bearer ${(token as { token: string }).token}` }
  const listed = await fetch(`${base}/consent?end_user_id=eu_sandbox_twins`, { headers })
  const { consents } = (await listed.json()) as { consents: { arrangement_id: string }[] }
  const id = consents[0]?.arrangement_id
  await fetch(`${base}/consent/${id}`, { method: 'DELETE', headers })
  await until('one arrives', () => arrived.length > 0, 10)
  const [webhook] = arrived
  assert.equal(webhook?.path, '/providers/fiskil/webhook')
  const { data } = JSON.parse(webhook?.body ?? '')
  assert.deepEqual([data.event, data.consent_id], ['consent.revoked', id])
  const key = Buffer.from(environment.FISKIL_WEBHOOK_SECRET, 'base64')
  const signature = createHmac('sha256', key)
    .update(webhook?.body ?? '')
    .digest('base64')
  assert.equal(webhook?.signature, signature)
})

test('exit 2: webhooks go to an http or https URL alone', async () => {
  for (const url of ['127.0.0.1:3000', 'ftp://x.example', '']) {
    const { code, err } = await runCommand(['sandbox', ...anyPorts, '--webhooks-to', url])
    assert.equal(code, 2)
    assert.match(err, /--webhooks-to must be an http or https URL/)
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
