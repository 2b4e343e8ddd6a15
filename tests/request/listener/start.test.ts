import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { request } from 'undici'
import { makeJar } from '#tests/support/jar.ts'
import { type Ending, type Started, startProcess } from '#tests/support/process.ts'

const run = promisify(execFile)

let folder: string
let running: Started
let welcome: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tributary-start-'))
  running = startProcess({ DATA_DIR: folder })
  welcome = await running.ready()
})
after(async () => {
  running.child.kill('SIGTERM')
  await running.ended
  await rm(folder, { recursive: true, force: true })
})

async function get(url: string, key?: string) {
  const { statusCode, body } = await request(url, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  })
  return { status: statusCode, body: await body.text() }
}

/** It did not start, and says why in one line: no stack, no second sentence from elsewhere. */
function assertOneLine(ending: Ending, pattern: RegExp): void {
  assert.equal(ending.code, 1)
  const lines = ending.stderr.trimEnd().split('\n')
  assert.equal(lines.length, 1, ending.stderr)
  assert.match(lines[0] ?? '', /^tributary: /)
  assert.match(lines[0] ?? '', pattern)
  assert.doesNotMatch(ending.stderr, /node:internal| at .*\.ts:/)
}

test('each printed key opens what its plan opens', async () => {
  const base = running.printed('REST API')
  const connections = JSON.parse(
    (await get(`${base}/connections`, running.printed('professional'))).body,
  )
  assert(connections.data.length > 3)
  const broker = connections.data.find((row: { category: string }) => row.category === 'brokerage')
  const holdings = `${base}/holdings?connectionId=${broker.id}`
  assert.equal((await get(holdings, running.printed('professional'))).status, 200)
  assert.equal((await get(`${base}/accounts`, running.printed('developer'))).status, 200)
  assert.equal((await get(holdings, running.printed('developer'))).status, 403)
})

test('the printed request returns transactions', async () => {
  const line = /curl -s -H 'Authorization: Bearer (\S+)' '(\S+)'/.exec(welcome)
  assert(line !== null)
  const answer = await get(line[2] ?? '', line[1])
  assert.equal(answer.status, 200)
  assert(JSON.parse(answer.body).data.length > 0)
})

test('the printed demo sign-in opens the printed dashboard', async () => {
  const browser = makeJar(running.printed('Dashboard'))
  const page = await browser.get('/sign-in')
  const email = running.printed('E-mail')
  const entered = await browser.post('/sign-in', {
    ...page.hidden,
    email,
    password: running.printed('Password'),
  })
  assert.equal(entered.status, 303)
  assert.ok((await browser.get('/settings')).text.includes(email))
})

test('the printed addresses answer; health is on the admin listener and never on the public one', async () => {
  assert.equal((await get(running.printed('API docs'))).status, 200)
  assert.equal(JSON.parse((await get(running.printed('OpenAPI'))).body).openapi.slice(0, 3), '3.1')
  assert.equal((await get(`${running.printed('Admin API')}/healthz`)).status, 200)
  assert.equal((await get(`${running.printed('Admin API')}/readyz`)).status, 200)
  const origin = new URL(running.printed('REST API')).origin
  for (const path of ['/healthz', '/readyz', '/metrics', '/admin/users']) {
    assert.equal((await get(origin + path)).status, 404, path)
  }
})

test('every file that a start leaves in DATA_DIR is named in docs/storage.md', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/storage.md'), 'utf8')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const written = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  assert.ok(written.includes('tributary.db') && written.includes('encryption-key'))
  const files = new Set(written.map((name) => name.replace(/-(?:wal|shm|journal)$/, '')))
  const isNamed = (name: string) => new RegExp(`\`(?:[\\w-]+/)*${RegExp.escape(name)}\``).test(page)
  assert.deepEqual(
    [...files].filter((name) => !isNamed(name)),
    [],
  )
})

test('no file in DATA_DIR has a demo key or the password in plain text', async () => {
  const labels = ['professional', 'developer', 'Password']
  const printed = labels.map((label) => running.printed(label))
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const { name, parentPath } of entries.filter((entry) => entry.isFile())) {
    const bytes = await readFile(join(parentPath, name))
    for (const text of printed) assert.ok(!bytes.includes(text), name)
  }
})

test('off a terminal the log is JSON, a line each, before the welcome', () => {
  const lines = welcome.slice(0, welcome.indexOf('Tributary is ready')).trimEnd().split('\n')
  const messages = lines.map((line) => {
    const { level, msg } = JSON.parse(line)
    assert.equal(typeof level, 'string')
    return msg
  })
  assert.ok(messages.includes('the schema was brought up to date'), welcome)
})

test('a second start on the same data and a taken port: one line each, exit 1', async () => {
  const port = new URL(running.printed('REST API')).port
  const elsewhere = join(folder, 'elsewhere')
  const [second, taken] = await Promise.all([
    startProcess({ DATA_DIR: folder }).ended,
    startProcess({ DATA_DIR: elsewhere, PORT: port }).ended,
  ])
  assertOneLine(second, /another process has the store in .* open/)
  assertOneLine(taken, new RegExp(`port ${port} is taken`))
  assert.equal((await get(running.printed('OpenAPI'))).status, 200)
})

test('the printed next step of live mode works in another terminal, wherever the admin listener and the data are', async () => {
  const live = startProcess({ DATA_DIR: join(folder, 'live data'), SANDBOX: 'false' })
  try {
    const printed = await live.ready()
    assert.doesNotMatch(printed, /trib_live_|@demo\.example/)
    const [, hint = ''] = /^Next: (.+)$/m.exec(printed) ?? []
    // Not started by npm, and no wrapper on the path: the pinned runtime itself is called.
    assert.match(
      hint,
      /^ADMIN_URL=http:\S+ DATA_DIR='.+live data' \S*\/node \S+\/cli\/main\.ts users /,
    )
    const { stdout } = await run('sh', ['-c', hint], { cwd: folder, env: {} })
    assert.match(stdout, /you@example\.com/)
    const list = hint.replace(/users .*/, 'users list')
    const { stdout: users } = await run('sh', ['-c', list], { cwd: folder, env: {} })
    assert.doesNotMatch(users, /demo\.example/)
  } finally {
    live.child.kill('SIGTERM')
    await live.ended
  }
})

test('a start that waits for what never comes is one line, exit 1', async () => {
  const never = `import { registerHooks } from 'node:module'
    registerHooks({
      load: (url, context, next) => url.endsWith('/sandbox/start.ts')
        ? { format: 'module', source: 'await new Promise(() => {})', shortCircuit: true }
        : next(url, context),
    })`
  const ending = await startProcess({
    DATA_DIR: join(folder, 'never'),
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(never)}`,
  }).ended
  assertOneLine(ending, /the start ended before the service was ready/)
})

test('a host that is none of this machine’s is one line, exit 1', async () => {
  // RFC 5737: this address is assigned to no host.
  const nowhere = { HOST: '192.0.2.1', BASE_URL: 'https://api.example.com' }
  const [open, admin] = await Promise.all([
    startProcess({ DATA_DIR: join(folder, 'host'), ...nowhere }).ended,
    startProcess({ DATA_DIR: join(folder, 'admin-host'), ADMIN_HOST: '192.0.2.1' }).ended,
  ])
  assertOneLine(open, /192\.0\.2\.1; set HOST and ADMIN_HOST/)
  assertOneLine(admin, /192\.0\.2\.1; set HOST and ADMIN_HOST/)
})

test('every wrong variable is reported at once, without any secret', async () => {
  const { code, stderr } = await startProcess({
    DATA_DIR: join(folder, 'wrong'),
    PORT: 'zz',
    LOG_LEVEL: 'loud',
    RATE_LIMIT_HEAVY: '-1',
    ENCRYPTION_KEY: 'sekrit-and-too-short',
    DATABASE_URL: 'mysql://user:sekrit@host/db',
    TRUST_PROXY: '300.1.2.3',
  }).ended
  assert.equal(code, 1)
  for (const name of [
    'PORT',
    'LOG_LEVEL',
    'RATE_LIMIT_HEAVY',
    'ENCRYPTION_KEY',
    'DATABASE_URL',
    'TRUST_PROXY',
  ]) {
    assert.match(stderr, new RegExp(`^ +${name}: `, 'm'))
  }
  assert(!stderr.includes('sekrit'))
})

test('a database that does not answer is one line without its password, exit 1', async () => {
  const ending = await startProcess({
    DATA_DIR: join(folder, 'postgres'),
    DATABASE_URL: 'postgres://user:sekrit@127.0.0.1:1/db',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  }).ended
  assertOneLine(ending, /127\.0\.0\.1:1.*DATABASE_URL has its host and port/)
  assert(!ending.stderr.includes('DATA_DIR'))
  assert(!ending.stderr.includes('sekrit'))
})

test('after a stop: the same data with another ENCRYPTION_KEY or in the other mode is refused, as it was it opens with the same keys', async () => {
  running.child.kill('SIGTERM')
  assert.equal((await running.ended).code, 0)
  const wrongKey = await startProcess({
    DATA_DIR: folder,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  }).ended
  assertOneLine(wrongKey, /ENCRYPTION_KEY/)
  const keyFile = join(folder, 'secrets', 'encryption-key')
  const held = await readFile(keyFile, 'utf8')
  await writeFile(keyFile, randomBytes(32).toString('base64'))
  const wrongFile = await startProcess({ DATA_DIR: folder }).ended
  await rm(keyFile)
  const lost = await startProcess({ DATA_DIR: folder }).ended
  assertOneLine(wrongFile, new RegExp(`${keyFile} does not hold every key`))
  assertOneLine(lost, new RegExp(`${keyFile} is missing, but .*sandbox/tributary\\.db was sealed`))
  await writeFile(keyFile, held, { mode: 0o600 })
  const wrongMode = await startProcess({
    DATA_DIR: join(folder, 'sandbox'),
    ENCRYPTION_KEY: held.trim(),
    SANDBOX: 'false',
  }).ended
  assertOneLine(wrongMode, /made in sandbox mode and does not open in live mode/)
  const key = running.printed('professional')
  const password = running.printed('Password')
  running = startProcess({ DATA_DIR: folder })
  await running.ready()
  assert.equal(running.printed('professional'), key)
  assert.equal(running.printed('Password'), password)
  assert.equal((await get(`${running.printed('REST API')}/accounts`, key)).status, 200)
})
