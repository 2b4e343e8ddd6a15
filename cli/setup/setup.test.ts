/**
 * `tributary setup` in a folder of its own against the emulators: what it makes and prints, its second run,
 * runs that were cut off, and every wrong input. The terminal is a stand-in; the store, the adapters and the
 * files are real.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { isKeyShaped } from '#auth/keys.ts'
import { systemClock } from '#kernel/time.ts'
import { demoPersonalKey } from '#sandbox/snaptrade/people.ts'
import { startSandbox } from '#sandbox/start.ts'
import type { Ended } from '#tests/support/command.ts'
import { makeSetupFolder } from '#tests/support/setup-folder.ts'

const email = 'emma@b.example'
const up = 'up:yeah:sandbox-healthy00000000000000000'
const expiredUp = 'up:yeah:sandbox-expired00000000000000000'
const akahuApp = 'app_token_pahealthy00000000000000000'
const akahuUser = 'user_token_pahealthy00000000000000000'
const snaptrade = {
  SNAPTRADE_CLIENT_ID: demoPersonalKey.clientId,
  SNAPTRADE_CONSUMER_KEY: demoPersonalKey.consumerKey,
}

const sandbox = await startSandbox({ clock: systemClock })
after(() => sandbox.close())

const makeFolder = (t: TestContext) => makeSetupFolder(t, sandbox)

function readDocument({ code, out, err }: Ended, expected = 0) {
  assert.equal(code, expected, err)
  assert.match(out, /^[^\n]*\n$/)
  const document = JSON.parse(out)
  assert.deepEqual(Object.keys(document), ['user', 'key', 'connections'])
  return document
}

const providersOf = (document: { connections: { provider: string }[] }) =>
  [...new Set(document.connections.map(({ provider }) => provider))].sort()

test('an empty folder: owner, key and the accounts of a token, as one JSON document; a second run changes nothing', async (t) => {
  const { folder, setUp } = makeFolder(t)
  const args = ['--email', email, '--timezone', 'Australia/Perth', '--up-token', '-', '--json']
  const first = readDocument(await setUp(args, { input: `${up}\n` }))
  assert.deepEqual(first.user, {
    id: first.user.id,
    email,
    timezone: 'Australia/Perth',
    plan: 'professional',
  })
  assert.ok(isKeyShaped(first.key))
  assert.deepEqual(providersOf(first), ['up'])
  assert.equal(
    readFileSync(join(folder, '.env'), 'utf8'),
    '# Added by tributary setup.\nSANDBOX=false\n',
  )
  const again = readDocument(await setUp(args, { input: `${up}\n` }))
  assert.deepEqual(again.user, first.user)
  assert.equal(again.key, null)
  assert.deepEqual(
    again.connections.map(({ id }: { id: string }) => id),
    [first.connections[0].id],
  )
  const text = await setUp(['--email', email], { env: { UP_TOKEN: up } })
  assert.match(text.out, /^Nothing was changed: all of this is set up already\.\n/)
  assert.equal(text.code, 0)
  assert.doesNotMatch(text.out, /--timezone/)
  const moved = ['--email', email, '--timezone', 'Pacific/Auckland']
  const kept = await setUp(moved, { env: { UP_TOKEN: up } })
  assert.match(kept.out, /Note {7}--timezone is for a new owner; this one keeps Australia\/Perth\n/)
})

test('every key at once from the environment, and a further key in a later run makes no second API key', async (t) => {
  const { setUp } = makeFolder(t)
  const both = { AKAHU_APP_TOKEN: akahuApp, AKAHU_USER_TOKEN: akahuUser, UP_TOKEN: up }
  const personal = { ...snaptrade, SNAPTRADE_KEY: 'personal' }
  const all = await setUp(['--email', email], { env: { ...both, ...personal } })
  assert.equal(all.code, 0, all.err)
  assert.match(all.out, /\(up\): 4 accounts\n/)
  assert.match(all.out, /\(akahu\): \d accounts?\n/)
  assert.match(all.out, /\(snaptrade\): \d accounts?\n/)
  const { setUp: setUpOther } = makeFolder(t)
  const one = readDocument(
    await setUpOther(['--email', email, '--json'], { env: { UP_TOKEN: up } }),
  )
  const { UP_TOKEN: _, ...akahu } = both
  const more = readDocument(await setUpOther(['--email', email, '--json'], { env: akahu }))
  assert.deepEqual([providersOf(one), providersOf(more)], [['up'], ['akahu', 'up']])
  assert.equal(more.key, null)
})

test('the text has the key once and a request with a real account; no line of it has a provider’s token', async (t) => {
  const { setUp } = makeFolder(t)
  const { out, err } = await setUp(['--email', email], { env: { UP_TOKEN: up, PORT: '18999' } })
  const [, key = '', path = ''] =
    /curl -s -H 'Authorization: Bearer (trib_live_\w+)' 'http:\/\/127\.0\.0\.1:18999(.+)'/.exec(
      out,
    ) ?? []
  assert.ok(isKeyShaped(key))
  assert.match(
    path,
    /^\/v1\/transactions\?connectionId=[\da-f-]{36}&accountId=[\da-f-]{36}&limit=3$/,
  )
  assert.match(out, /\n {2}npm start\n/)
  assert.ok(!(out + err).includes('up:yeah'))
  assert.match(out, /^ {2}Owner/)
  assert.doesNotMatch(out, /made before/)
})

test('on a terminal everything is asked for, nothing secret is shown, and what the service needs goes to .env', async (t) => {
  const { folder, setUp } = makeFolder(t)
  writeFileSync(join(folder, '.env'), '# mine\nLOG_LEVEL=warn\n', { mode: 0o600 })
  // A wrong address is asked for again; one Enter leaves out SnapTrade.
  const typed = `wrong\r${email}\r${akahuApp}\r${akahuUser}\r\r${up}\r`
  const { code, out, err } = await setUp([], { typed })
  assert.equal(code, 0, err)
  assert.match(
    err,
    /E-mail address of the owner: wrong\n {2}This is not an e-mail address, .*\nE-mail address of the owner: emma@b\.example\n/,
  )
  for (const secret of [akahuApp, akahuUser, up]) assert.ok(!(out + err).includes(secret))
  assert.match(out, /\(akahu\)[\s\S]*AKAHU_APP_TOKEN, SANDBOX added/)
  const file = readFileSync(join(folder, '.env'), 'utf8')
  assert.ok(file.startsWith('# mine\nLOG_LEVEL=warn\n\n# Added'))
  assert.ok(file.includes(`AKAHU_APP_TOKEN=${akahuApp}\n`))
  assert.doesNotMatch(file, /USER_TOKEN|UP_TOKEN/)
  const again = await setUp(['--email', email], { typed: '\r\r\r\r' })
  assert.match(again.out, /^Nothing was changed/)
  assert.match(
    again.out,
    / {2}API key {4}made before, .*\n {13}npm run --silent tributary -- keys create emma@b\.example\n/,
  )
})

test('a typed key that is refused is not kept: the next run asks for it again', async (t) => {
  const { folder, setUp } = makeFolder(t)
  const { SNAPTRADE_CLIENT_ID: id, SNAPTRADE_CONSUMER_KEY: key } = snaptrade
  const swapped = await setUp(['--email', email], {
    typed: `${akahuApp}\ruser_token_nobody\r${id}\rwrong\r${up}\r`,
  })
  assert.equal(swapped.code, 1)
  assert.match(swapped.err, /Akahu is not linked: [\s\S]*SnapTrade is not linked: /)
  const settings = () => readFileSync(join(folder, '.env'), 'utf8')
  assert.equal(settings(), '# Added by tributary setup.\nSANDBOX=false\n')
  const right = await setUp(['--email', email], {
    typed: `${akahuApp}\r${akahuUser}\r${id}\r${key}\r\r`,
  })
  assert.equal(right.code, 0, right.err)
  for (const one of [`AKAHU_APP_TOKEN=${akahuApp}`, `SNAPTRADE_CONSUMER_KEY=${key}`]) {
    assert.ok(settings().includes(`${one}\n`), one)
  }
})

test('Ctrl-C, Ctrl-D and a signal end it with one line, and nothing is made', async (t) => {
  const { folder, setUp } = makeFolder(t)
  for (const [args, typed] of [
    [[], '\x03'],
    [['--email', email], `${akahuApp}\x03`],
    [[], '\x04'],
    [['--email', email], '\x04'],
  ] as const) {
    const { code, out, err } = await setUp(args, { typed })
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /tributary: Stopped; nothing was changed\n$/)
  }
  const stopped = await setUp(['--email', email], { untilStopped: async () => {} })
  assert.match(stopped.err, /^tributary: Stopped; run setup again, it completes what is missing\n$/)
  assert.throws(() => readFileSync(join(folder, '.env')), { code: 'ENOENT' })
})

test('a refused token is one line and exit 1; the other keys are linked, and a repeated run ends right', async (t) => {
  const { setUp } = makeFolder(t)
  const wrong = { AKAHU_APP_TOKEN: akahuApp, AKAHU_USER_TOKEN: 'user_token_nobody', UP_TOKEN: up }
  const first = await setUp(['--email', email, '--json'], { env: wrong })
  const document = readDocument(first, 1)
  assert.deepEqual(providersOf(document), ['up'])
  assert.ok(isKeyShaped(document.key))
  const { error } = JSON.parse(first.err)
  assert.match(error.message, /^Akahu is not linked: .*Developers.*; then run setup again$/)
  const right = readDocument(
    await setUp(['--email', email, '--json'], { env: { ...wrong, AKAHU_USER_TOKEN: akahuUser } }),
  )
  assert.deepEqual([providersOf(right), right.key], [['akahu', 'up'], null])
})

test('a key in .env that is refused is named with its file, one in the environment as that', async (t) => {
  const { folder, setUp } = makeFolder(t)
  const path = join(folder, '.env')
  writeFileSync(path, 'AKAHU_APP_TOKEN=app_token_old\nSANDBOX=false\n', { mode: 0o600 })
  const { err } = await setUp(['--email', email], { env: { AKAHU_USER_TOKEN: akahuUser } })
  const place = `replace AKAHU_APP_TOKEN in ${path}, AKAHU_USER_TOKEN in the environment; then run setup again\n`
  assert.ok(err.endsWith(place), err)
  assert.match(err, /^tributary: Akahu is not linked: Akahu refuses this app token with/)
})

test('a first run in which nothing could be linked makes no key; the repeated one does, for the same user', async (t) => {
  const { setUp } = makeFolder(t)
  const refused = await setUp(['--email', email, '--json'], { env: { UP_TOKEN: expiredUp } })
  const first = readDocument(refused, 1)
  assert.deepEqual([first.key, first.connections], [null, []])
  assert.match(
    JSON.parse(refused.err).error.message,
    /^Up is not linked: .*has expired.*run setup again$/,
  )
  const second = readDocument(await setUp(['--email', email, '--json'], { env: { UP_TOKEN: up } }))
  assert.equal(second.user.id, first.user.id)
  assert.ok(isKeyShaped(second.key))
})

test('a mistyped address makes no second owner; half of a pair, and several problems at once are told', async (t) => {
  const { setUp } = makeFolder(t)
  await setUp(['--email', email], { env: { UP_TOKEN: up } })
  const taken = await setUp(['--email', 'ema@b.example'], { env: { UP_TOKEN: up } })
  assert.equal(taken.code, 1)
  assert.match(
    taken.err,
    /^tributary: ema@b\.example is no user here, and emma@b\.example is the owner already: correct the address, [^\n]*users create[^\n]*\. Nothing was linked or stored\n$/,
  )
  const half = await setUp(['--email', email], { env: { AKAHU_USER_TOKEN: akahuUser } })
  assert.match(half.err, /^tributary: Akahu is not linked: AKAHU_APP_TOKEN not set; [^\n]*\n$/)
  const { code, out } = await setUp(['--email', email], { env: { AKAHU_APP_TOKEN: akahuApp } })
  assert.equal(code, 0)
  assert.match(out, /Note {7}Akahu is not linked: AKAHU_USER_TOKEN not given/)
  const several = await setUp(['--email', email], {
    env: { AKAHU_USER_TOKEN: 'x', UP_TOKEN: 'a b' },
  })
  assert.match(
    several.err,
    /^tributary: Not everything could be linked\n {2}Akahu [^\n]*\n {2}Up [^\n]*\n$/,
  )
  assert.doesNotMatch(several.err, /a b/)
})

test('wrong input is one line before anything is made: address, zone, sandbox mode, settings, tokens as arguments', async (t) => {
  const { folder, setUp } = makeFolder(t)
  const cases: readonly (readonly [readonly string[], Record<string, string>, number, RegExp])[] = [
    [[], {}, 1, /^tributary: The e-mail address of the owner is needed: --email E\n$/],
    [['--email', 'emma'], {}, 1, /^tributary: --email must be an e-mail address\n$/],
    [
      ['--email', email, '--timezone', 'Mars/Base'],
      {},
      1,
      /^tributary: --timezone must be an IANA/,
    ],
    [['--email', email], { SANDBOX: 'true' }, 1, /^tributary: SANDBOX is true in the environment/],
    [
      ['--email', email],
      { PORT: 'x' },
      1,
      /^tributary: PORT: got "x"[^\n]*; correct it in the environment, then run setup again\n$/,
    ],
    [
      ['--email', email],
      { PORT: 'x', LOG_LEVEL: 'x' },
      1,
      /^tributary: 2 settings cannot be used; .* run setup again\n {2}[A-Z]\S+: .*\n {2}[A-Z]\S+: .*\n$/,
    ],
    [['--email', email, '--up-token', up], {}, 2, /^tributary: --up-token takes only -/],
    [
      ['--email', email, '--up-token', '-'],
      {},
      1,
      /^tributary: Standard input has no line for --up-token/,
    ],
    [['--email', email, 'more'], {}, 2, /^tributary: it takes no argument without a flag/],
    [
      ['--email', email],
      { ADMIN_URL: 'http://127.0.0.1:2', ADMIN_TOKEN: 'x' },
      1,
      /^tributary: No server answers at/,
    ],
  ]
  for (const [args, env, code, words] of cases) {
    const ended = await setUp(args, { env })
    assert.deepEqual([ended.code, ended.out], [code, ''], args.join(' '))
    assert.match(ended.err, words)
    assert.ok(!ended.err.includes(up))
  }
  assert.throws(() => readFileSync(join(folder, '.env')), { code: 'ENOENT' })
  assert.throws(() => readFileSync(join(folder, 'data', 'tributary.db')), { code: 'ENOENT' })
})

test('.env that is a directory or says SANDBOX=true, and a data directory that is a file, stop it in one line', async (t) => {
  const { folder, setUp } = makeFolder(t)
  mkdirSync(join(folder, '.env'))
  const directory = await setUp(['--email', email])
  assert.match(directory.err, /^tributary: .*\.env is not a regular file[^\n]*\n$/)
  rmSync(join(folder, '.env'), { recursive: true })
  writeFileSync(join(folder, '.env'), 'SANDBOX=true\n', { mode: 0o600 })
  const made = await setUp(['--email', email])
  assert.match(
    made.err,
    /^tributary: SANDBOX is true in .*\.env, which means made-up people[^\n]*\n$/,
  )
  assert.equal(readFileSync(join(folder, '.env'), 'utf8'), 'SANDBOX=true\n')
  rmSync(join(folder, '.env'))
  writeFileSync(join(folder, 'file'), '')
  const place = await setUp(['--email', email], { env: { DATA_DIR: join(folder, 'file') } })
  assert.match(place.err, /^tributary: .*file.*cannot be used[^\n]*\n$/)
})

test('two at once: one of them has the store, the other says so, and both together make one owner and one key', async (t) => {
  const { setUp } = makeFolder(t)
  const start = () => setUp(['--email', email, '--json'], { env: { UP_TOKEN: up } })
  const ended = await Promise.all([start(), start()])
  const late = readDocument(await start())
  assert.equal(late.key, null)
  const keys = ended.flatMap(({ code, out }) => (code === 0 ? [JSON.parse(out).key] : []))
  assert.equal(keys.filter((key) => key !== null).length, 1)
  for (const { code, err } of ended) {
    if (code !== 0) assert.match(err, /another process has the store|another setup is writing/)
  }
})

test('a broker’s key alone: holdings are shown to try, on a terminal its variables go to .env; a company’s key links nothing', async (t) => {
  const { folder, setUp } = makeFolder(t)
  const { SNAPTRADE_CLIENT_ID: id, SNAPTRADE_CONSUMER_KEY: key } = snaptrade
  const typed = await setUp(['--email', email], { typed: `\r${id}\r${key}\r\r` })
  assert.equal(typed.code, 0, typed.err)
  assert.match(
    typed.out,
    /'http:\/\/127\.0\.0\.1:3000\/v1\/holdings\?connectionId=[\da-f-]{36}&accountId=/,
  )
  assert.ok(!(typed.out + typed.err).includes(key))
  const file = readFileSync(join(folder, '.env'), 'utf8')
  assert.match(
    file,
    /^SNAPTRADE_CLIENT_ID=.+\nSNAPTRADE_CONSUMER_KEY=.+\nSNAPTRADE_KEY=personal\nSANDBOX=false\n/m,
  )
  assert.match((await setUp(['--email', email])).out, /^Nothing was changed/)
  const other = makeFolder(t)
  const company = await other.setUp(['--email', email], { env: snaptrade })
  assert.equal(company.code, 0, company.err)
  assert.match(
    company.out,
    /Note {7}SnapTrade is not linked: .* set, but not SNAPTRADE_KEY=personal; set it if the key is your own, and run setup again\. Users of a company’s key/,
  )
  const half = await other.setUp(['--email', email], { env: { SNAPTRADE_KEY: 'personal' } })
  assert.deepEqual([half.code, half.err.split('\n').length], [1, 2])
  assert.match(half.err, /SNAPTRADE_CLIENT_ID and SNAPTRADE_CONSUMER_KEY not set/)
})
