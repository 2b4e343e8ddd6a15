/**
 * The command against a listening admin door: what it prints, on which stream, and its exit codes. Each exit
 * code and each stream is tried on a process, too; a process takes longer to start than a command to run.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isKeyShaped } from '#auth/keys.ts'
import { akahu, fiskil, snaptrade, up } from '#tests/request/admin/credentials.ts'
import { adminToken, makeWorld, type WorldOptions } from '#tests/request/admin/world.ts'
import { runCommand } from '#tests/support/command.ts'
import { compileCache } from '#tests/support/process.ts'
import { startService } from '#tests/support/service.ts'

const main = fileURLToPath(new URL('main.ts', import.meta.url))
const entry = fileURLToPath(new URL('tributary.js', import.meta.url))

interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

interface RunOptions {
  readonly environment?: Record<string, string>
  readonly input?: string
  readonly script?: string
  readonly workingDirectory?: string
}

function runProcess(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { environment = {}, input = '', script = main } = options
  const child = spawn(process.execPath, [script, ...args], {
    env: { PATH: process.env.PATH, NODE_ENV: 'test', ...compileCache, ...environment },
    cwd: options.workingDirectory ?? tmpdir(),
  })
  const output = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    output.out += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output.err += chunk.toString()
  })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...output }))
  })
}

/** A listening door, and a command configured for it. */
async function start(t: TestContext, options: WorldOptions = {}) {
  const world = await makeWorld(t, options)
  const url = await world.door.listen({ host: '127.0.0.1', port: 0 })
  const environment = { ADMIN_URL: url, ADMIN_TOKEN: adminToken }
  const tributary = (...args: string[]) => runCommand(args, { environment })
  const json = async (...args: string[]) => {
    const { code, out, err } = await tributary(...args, '--json')
    assert.equal(code, 0, err)
    assert.equal(err, '')
    assert.match(out, /^[^\n]*\n$/)
    return JSON.parse(out)
  }
  return { world, url, environment, tributary, json }
}

test('users, plans, keys and connections are created, listed and removed, as JSON documents', async (t) => {
  const { json } = await start(t, { providers: ['fiskil'] })
  const user = await json(
    ...['users', 'create', '--email', 'emma@b.example', '--timezone', 'Pacific/Auckland'],
    ...['--plan', 'developer', '--status', 'active'],
  )
  assert.deepEqual(Object.keys(user), ['id', 'email', 'timezone', 'plan'])
  assert.equal((await json('users', 'list')).data.length, 1)
  assert.equal((await json('users', 'show', user.id)).email, 'emma@b.example')
  const plan = await json(
    ...['plans', 'set', 'emma@b.example', '--plan', 'professional', '--status', 'trialing'],
    ...['--legacy-until', '2027-01-01T00:00:00Z', '--grandfathered'],
  )
  assert.deepEqual(plan, {
    plan: 'professional',
    status: 'trialing',
    legacyUntil: '2027-01-01T00:00:00.000Z',
    grandfathered: true,
  })
  const key = await json(
    ...['keys', 'create', user.id, '--name', 'a b', '--expires', '2027-01-01T00:00:00Z'],
  )
  assert.ok(isKeyShaped(key.key))
  assert.deepEqual(await json('keys', 'revoke', key.id), {})
  assert.equal((await json('keys', 'list', user.id)).data[0].status, 'revoked')
  const { connections } = await json(
    ...['connections', 'link', user.id, '--provider', 'fiskil', '--end-user-id', fiskil.endUserId],
  )
  assert.equal(connections.length, 2)
  const [first] = connections
  assert.deepEqual(await json('connections', 'refresh', first.id), first)
  assert.deepEqual(await json('connections', 'remove', first.id), {})
  assert.equal((await json('connections', 'list', user.id)).data.length, 1)
  assert.deepEqual(await json('users', 'delete', user.id), {})
  assert.deepEqual(await json('users', 'list'), { data: [] })
})

test('users invite prints the link and until when it holds, and says why an address is not invited', async (t) => {
  const { tributary, json } = await start(t)
  const invitation = await json('users', 'invite', 'guest@b.example')
  assert.deepEqual(Object.keys(invitation), ['email', 'url', 'expiresAt'])
  assert.match(invitation.url, /\/invitations\/[\w-]{43}$/)
  const shown = await tributary('users', 'invite', 'other@b.example')
  assert.match(
    shown.out,
    /^email +other@b\.example\nurl +https:\S+\nexpiresAt +\S+Z\n\nWhoever has this link/,
  )
  await json('users', 'create', '--email', 'emma@b.example')
  const taken = await tributary('users', 'invite', 'emma@b.example')
  assert.deepEqual([taken.code, taken.out], [1, ''])
  assert.match(taken.err, /exists already \(email_taken\)/)
  assert.equal((await tributary('users', 'invite')).code, 2)
})

test('the list of users has all of them, however many pages that takes', async (t) => {
  const { world, json } = await start(t)
  const emails = Array.from({ length: 1002 }, (_, index) => `user-${index}@b.example`)
  for (const email of emails) await world.addUser(email)
  const { data } = await json('users', 'list')
  assert.deepEqual(data.map(({ email }: { email: string }) => email).sort(), [...emails].sort())
})

test('audit list shows who did what, for all users or for one', async (t) => {
  const { json, tributary } = await start(t)
  const user = await json('users', 'create', '--email', 'emma@b.example')
  await json('users', 'create', '--email', 'liam@b.example')
  assert.equal((await json('audit', 'list')).data.length, 2)
  assert.equal((await json('audit', 'list', '--limit', '1')).data.length, 1)
  const { data } = await json('audit', 'list', '--user', 'emma@b.example')
  assert.deepEqual([data.length, data[0].subject], [1, user.id])
  assert.match((await tributary('audit', 'list')).out, /^at +actor +action.*\n.*users\.create/)
})

test('a secret given as - is read from standard input, its line end left out', async (t) => {
  const { world, environment } = await start(t, { providers: ['akahu', 'snaptrade', 'up'] })
  const id = await world.addUser('a@b.example')
  const bank = await runProcess(
    ['connections', 'link', id, '--provider', 'akahu', '--user-token', '-', '--json'],
    { environment, input: `${akahu.userToken}\n` },
  )
  assert.equal(bank.code, 0, bank.err)
  assert.equal(JSON.parse(bank.out).connections.length, 4)
  const broker = await runCommand(
    [
      ...['connections', 'link', id, '--provider', 'snaptrade'],
      ...['--snaptrade-user-id', snaptrade.snaptradeUserId, '--user-secret', '-', '--json'],
    ],
    { environment, input: `${snaptrade.userSecret}\r\n` },
  )
  assert.equal(broker.code, 0, broker.err)
  const token = await runCommand(
    ['connections', 'link', id, '--provider', 'up', '--token', '-', '--json'],
    { environment, input: `${up.token}\n` },
  )
  assert.equal(token.code, 0, token.err)
  const again = ['connections', 'link', id, '--provider', 'up', '--token', '-']
  const wrong = await runCommand(again, { environment, input: 'up:yeah:nobody\n' })
  assert.match(wrong.err, /^tributary: Up refuses this token/, 'without the words of the envelope')
  const empty = await runCommand(
    ['connections', 'link', id, '--provider', 'akahu', '--user-token', '-'],
    { environment },
  )
  assert.deepEqual(
    [empty.code, empty.err],
    [1, 'tributary: Standard input is empty; send the value of --user-token to it, on one line\n'],
  )
})

test('a password given as - makes an account that can sign in; set-password changes it', async (t) => {
  const { world, environment } = await start(t)
  const signIn = async (password: string) =>
    (await world.signIns.signIn({ email: 'a@b.example', password }, '127.0.0.1')).kind
  const made = await runCommand(
    ['users', 'create', '--email', 'a@b.example', '--password', '-', '--json'],
    { environment, input: 'the first password\n' },
  )
  assert.equal(made.code, 0, made.err)
  assert.equal(await signIn('the first password'), 'in')
  const changed = await runCommand(['users', 'set-password', 'a@b.example', '--password', '-'], {
    environment,
    input: 'the second password\n',
  })
  assert.deepEqual(changed, { code: 0, out: 'The password is set.\n', err: '' })
  assert.equal(await signIn('the first password'), 'refused')
  assert.equal(await signIn('the second password'), 'in')
})

test('for people there are aligned tables, and a new key comes with a warning', async (t) => {
  const { world, tributary } = await start(t)
  assert.equal((await tributary('users', 'list')).out, 'There are no users.\n')
  const id = await world.addUser('a@b.example')
  const { out } = await tributary('users', 'list')
  const [head, row] = out.split('\n')
  assert.equal(head?.indexOf('email'), row?.indexOf('a@b.example'))
  assert.equal(head?.indexOf('plan'), row?.indexOf('none'))
  const created = await tributary('keys', 'create', id)
  assert.match(created.out, /^key {8}trib_live_\w{39}$/m)
  assert.match(created.out, /never shown again/)
  assert.equal((await tributary('keys', 'list', id)).out.includes('API key'), true)
  const deleted = await tributary('users', 'delete', id)
  assert.equal(deleted.out, 'The user and all their data are deleted.\n')
})

test('names from providers cannot steer the terminal', async () => {
  const { render } = await import('./render.ts')
  const show = { kind: 'table', rows: 'data', columns: ['name'], empty: '' } as const
  const text = render(show, { data: [{ name: 'Bank\u001b[2J\u202eknaB\n' }] })
  assert.equal(text, 'name\nBank?[2J?knaB?\n')
})

test('exit 1: a refusal is a sentence with its details, or the envelope with --json, on standard error', async (t) => {
  const { environment, tributary } = await start(t)
  const plain = await runProcess(['users', 'create', '--email', 'nobody'], { environment })
  assert.deepEqual(plain, {
    code: 1,
    out: '',
    err: 'tributary: Invalid request parameters (invalid_params)\n  --email: must be an e-mail address\n',
  })
  const json = await tributary('users', 'show', 'nobody@b.example', '--json')
  assert.equal(json.code, 1)
  assert.equal(json.out, '')
  assert.deepEqual(JSON.parse(json.err), {
    error: {
      message: 'User not found; list them with `tributary users list`',
      code: 'user_not_found',
    },
  })
})

test('exit 1: a wrong token, no server, a server that is something else: one clear line each', async (t) => {
  const { environment, url } = await start(t)
  const wrong = await runCommand(['users', 'list'], {
    environment: { ...environment, ADMIN_TOKEN: 'wrong' },
  })
  assert.equal(wrong.code, 1)
  assert.match(wrong.err, /^tributary: The admin token is wrong.*\(invalid_token\)\n$/)
  const away = await runCommand(['users', 'list'], {
    environment: { ...environment, ADMIN_URL: 'http://127.0.0.1:2' },
  })
  assert.deepEqual(away, {
    code: 1,
    out: '',
    err: 'tributary: No server answers at http://127.0.0.1:2; start it, or set ADMIN_URL\n',
  })
  const other = createServer((_request, response) => response.end('<html>hello</html>'))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.after(() => other.close())
  const strange = await runCommand(['users', 'list', '--json'], {
    environment: {
      ...environment,
      ADMIN_URL: `http://127.0.0.1:${(other.address() as AddressInfo).port}`,
    },
  })
  assert.equal(strange.code, 1)
  assert.match(JSON.parse(strange.err).error.message, /answered 200, but not as the admin API does/)
  const nonsense = await runCommand(['users', 'list'], {
    environment: { ...environment, ADMIN_URL: 'nonsense' },
  })
  assert.match(nonsense.err, /ADMIN_URL should be an http or https URL, not "nonsense"/)
  assert.ok(url.startsWith('http://127.0.0.1:'))
})

test('exit 1: pointed at the public listener, every command says which one is meant', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const environment = { ADMIN_URL: service.baseUrl, ADMIN_TOKEN: adminToken }
  for (const args of [
    ['users', 'list'],
    ['sandbox', 'reset'],
  ]) {
    const { code, err } = await runCommand(args, { environment })
    assert.equal(code, 1)
    assert.match(
      err,
      /answered 404, but not as the admin API does[\s\S]*must be the admin listener/,
    )
  }
})

test('the token is found in DATA_DIR, or in data below the working directory', async (t) => {
  const { url } = await start(t)
  const folder = mkdtempSync(join(tmpdir(), 'tributary-cli-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const none = await runCommand(['users', 'list'], { environment: { DATA_DIR: folder } })
  assert.equal(none.code, 1)
  assert.match(none.err, /There is no admin token here; start the server first/)
  assert.ok(none.err.includes(join(folder, 'admin-token')))
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data', 'admin-token'), `${adminToken}\n`)
  const byVariable = await runCommand(['users', 'list', '--json'], {
    environment: { ADMIN_URL: url, DATA_DIR: join(folder, 'data') },
  })
  assert.deepEqual(byVariable, { code: 0, out: '{"data":[]}\n', err: '' })
  const { port } = new URL(url)
  const byPlace = await runProcess(['users', 'list', '--json'], {
    environment: { ADMIN_PORT: port },
    workingDirectory: folder,
  })
  assert.deepEqual(byPlace, { code: 0, out: '{"data":[]}\n', err: '' })
})

test('exit 2: wrong usage names the mistake and gives the usage line of the command', async () => {
  const keysCreate =
    'usage: tributary keys create U [--name N] [--expires ISO] [--scopes S,S] [--connection-ids C,C] [--account-ids A,A] [--addresses IP,CIDR]\n'
  const cases: [string[], string][] = [
    [['keys', 'create'], `tributary: U is missing\n${keysCreate}`],
    [['keys', 'create', 'u', 'v'], `tributary: "v" is one argument too many\n${keysCreate}`],
    [['keys', 'create', 'u', '--nme', 'x'], `tributary: Unknown option '--nme'\n${keysCreate}`],
    [
      ['keys', 'create', 'u', '--name', 'x', '--name', 'y'],
      `tributary: --name is given more than once\n${keysCreate}`,
    ],
    [['keys', 'create', '..'], `tributary: ".." is not a valid name\n${keysCreate}`],
    [
      ['plans', 'set', 'u', '--plan', 'none'],
      'tributary: --status is missing\n' +
        'usage: tributary plans set U --plan developer|professional|none --status active|trialing|past_due|canceled [--legacy-until ISO] [--grandfathered]\n',
    ],
  ]
  const { code, err: audit } = await runProcess(['audit', '--limit', '0'])
  assert.equal(code, 2)
  assert.match(audit, /^tributary: "audit" needs a verb\n/)
  for (const [args, err] of cases) {
    assert.deepEqual(await runCommand(args), { code: 2, out: '', err })
  }
  for (const args of [[], ['nothing'], ['keys'], ['keys', 'nothing'], ['--json']]) {
    const { code, out, err } = await runCommand(args)
    assert.deepEqual([code, out], [2, ''], args.join(' '))
    assert.match(err, /^tributary: .*\nusage: tributary /)
  }
})

test('exit 1: problems that the server reports of fields are reported of flags, as text and as JSON', async (t) => {
  const { world, tributary } = await start(t)
  const id = await world.addUser('a@b.example')
  const link = ['connections', 'link', id, '--provider']
  const refusals: [string[], string[]][] = [
    [[...link, 'fiskil'], ['--end-user-id: is required']],
    [
      [...link, 'akahu', '--end-user-id', 'x'],
      ['--user-token: is required', '--end-user-id: does not go with the other options'],
    ],
    [
      [...link, 'plaid'],
      ['--provider: must be one of fiskil, akahu, snaptrade, up, simplefin, enablebanking'],
    ],
    [
      ['plans', 'set', id, '--plan', 'x', '--status', 'active', '--legacy-until', 'soon'],
      [
        '--plan: must be one of developer, professional, none',
        '--legacy-until: must be an ISO 8601 instant with Z or an offset, e.g. 2027-01-31T00:00:00Z',
      ],
    ],
  ]
  for (const [args, details] of refusals) {
    const { code, err } = await tributary(...args)
    assert.equal(code, 1)
    assert.deepEqual(
      err.trimEnd().split('\n').slice(1),
      details.map((line) => `  ${line}`),
    )
    const json = await tributary(...args, '--json')
    assert.deepEqual(JSON.parse(json.err).error.details, details)
  }
})

test('exit 1: a 503 says to ask the doctor', async (t) => {
  const { world, tributary } = await start(t, { providers: ['fiskil'], wrongOwnSecrets: true })
  const id = await world.addUser('a@b.example')
  const link = ['connections', 'link', id, '--provider', 'fiskil', '--end-user-id', 'eu_x']
  const { code, err } = await tributary(...link)
  assert.equal(code, 1)
  assert.match(
    err,
    /^tributary: fiskil refuses this installation’s own credentials; .*FISKIL_CLIENT_SECRET/,
  )
  assert.match(
    err,
    /\n {2}`tributary doctor` says what is unavailable or refused, and what to do\n$/,
  )
})

test('the entry that any Node can run starts the pinned runtime', async () => {
  const { code, out } = await runProcess(['--version'], { script: entry })
  assert.equal(code, 0)
  assert.match(out, /^tributary \d+\.\d+\.\d+\n$/)
})
