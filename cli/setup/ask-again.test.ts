/**
 * A key that a provider refuses is asked for again on a terminal, and its line of `.env` is replaced once it
 * is accepted. The terminal is a stand-in; the store, the adapters and the files are real.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { systemClock } from '#kernel/time.ts'
import { demoApplication } from '#sandbox/enablebanking/index.ts'
import { demoPersonalKey } from '#sandbox/snaptrade/people.ts'
import { startSandbox } from '#sandbox/start.ts'
import { makeSetupFolder } from '#tests/support/setup-folder.ts'

const args = ['--email', 'emma@b.example']
const up = 'up:yeah:sandbox-healthy00000000000000000'
const expiredUp = 'up:yeah:sandbox-expired00000000000000000'
const akahuApp = 'app_token_pahealthy00000000000000000'
const akahuUser = 'user_token_pahealthy00000000000000000'
const { clientId, consumerKey } = demoPersonalKey

const sandbox = await startSandbox({ clock: systemClock })
after(() => sandbox.close())

function makePlace(t: TestContext, text: string) {
  const { folder, setUp } = makeSetupFolder(t, sandbox)
  const path = join(folder, '.env')
  writeFileSync(path, text, { mode: 0o600 })
  return { path, setUp, read: () => readFileSync(path, 'utf8') }
}

const broker = (id: string, key: string) =>
  `SNAPTRADE_CLIENT_ID=${id}\nSNAPTRADE_CONSUMER_KEY=${key}\nSNAPTRADE_KEY=personal\nSANDBOX=false\n`

/** Enter leaves out Akahu, Up and SimpleFIN, which are asked for before anything is linked. */
const leaveOut = '\r\r\r\r'

test('a refused key of .env is asked for until it is right, and its line alone is replaced', async (t) => {
  const { path, setUp, read } = makePlace(t, `# mine\n${broker(clientId, 'old-key')}`)
  const typed = `${leaveOut}\rwrong-key\r\r${consumerKey}\r`
  const { code, out, err } = await setUp(args, { typed })
  assert.equal(code, 0, err)
  assert.match(out, /\(snaptrade\): \d accounts?\n/)
  assert.ok(out.includes(`Settings   ${path}: SNAPTRADE_CONSUMER_KEY replaced\n`), out)
  assert.equal(read(), `# mine\n${broker(clientId, consumerKey)}`)
  const asked =
    /SnapTrade is not linked: SnapTrade refuses this key \(Unable to verify .*\)\.\nGive it again/g
  assert.equal(err.match(asked)?.length, 2, err)
  assert.doesNotMatch(err, /this installation|restart|Upstream/)
  for (const secret of ['old-key', 'wrong-key', consumerKey])
    assert.ok(!(out + err).includes(secret))
  assert.match((await setUp(args)).out, /^Nothing was changed/)
})

test('an app token of .env and a typed user token are asked for together, and the user token goes to no file', async (t) => {
  const { setUp, read } = makePlace(t, 'AKAHU_APP_TOKEN=app_token_old\nSANDBOX=false\n')
  // First the user token, SnapTrade, Up and SimpleFIN; then both tokens of Akahu.
  const typed = `user_token_wrong\r\r${up}\r\r\r${akahuApp}\r${akahuUser}\r`
  const { code, out, err } = await setUp(args, { typed })
  assert.equal(code, 0, err)
  assert.match(out, /\(akahu\): \d accounts?\n/)
  assert.match(out, /\(up\): \d accounts?\n/)
  assert.equal(read(), `AKAHU_APP_TOKEN=${akahuApp}\nSANDBOX=false\n`)
})

test('a refused token of the person that stands in .env is replaced there', async (t) => {
  const { setUp, read } = makePlace(t, `UP_TOKEN=${expiredUp}\nSANDBOX=false\n`)
  const { code, out, err } = await setUp(args, { typed: `\r\r\r\r${up}\r` })
  assert.equal(code, 0, err)
  assert.equal(read(), `UP_TOKEN=${up}\nSANDBOX=false\n`)
  assert.match(out, /UP_TOKEN is sealed in the store; the line in \.env is no longer needed/)
})

test('a token of .env is said to be sealed in the store where its provider was linked, and nowhere else', async (t) => {
  const { setUp } = makePlace(t, `UP_TOKEN=${up}\nSIMPLEFIN_TOKEN=nonsense\nSANDBOX=false\n`)
  const { code, out, err } = await setUp(args)
  assert.equal(code, 1)
  assert.match(err, /SimpleFIN is not linked: /)
  assert.match(out, /UP_TOKEN is sealed in the store/)
  assert.doesNotMatch(out, /SIMPLEFIN_TOKEN is sealed/)
  const misplaced = makePlace(t, 'UP_TOKEN=user_token_of_akahu\nSANDBOX=false\n')
  const none = await misplaced.setUp(args)
  assert.match(none.err, /Up is not linked: /)
  assert.doesNotMatch(none.out, /is sealed/)
})

test('what was typed and refused is asked for again too, and is then kept where the service needs it', async (t) => {
  const { setUp, read } = makePlace(t, 'SANDBOX=false\n')
  const typed = `\r${clientId}\rwrong-key\r${expiredUp}\r\r\r\r${consumerKey}\r${up}\r`
  const { code, out, err } = await setUp(args, { typed })
  assert.equal(code, 0, err)
  assert.match(out, /: SNAPTRADE_CLIENT_ID, SNAPTRADE_CONSUMER_KEY, SNAPTRADE_KEY added\n/)
  assert.ok(read().includes(`SNAPTRADE_CONSUMER_KEY=${consumerKey}\n`))
  assert.doesNotMatch(read(), /UP_TOKEN/)
})

test('Enter keeps what is there: the file stays, and the refusal names variable and file, as without a terminal', async (t) => {
  const text = broker(clientId, 'old-key')
  const { path, setUp, read } = makePlace(t, text)
  const place = `replace SNAPTRADE_CLIENT_ID in ${path}, SNAPTRADE_CONSUMER_KEY in ${path}; then run setup again\n`
  const kept = await setUp(args, { typed: `${leaveOut}\r\r` })
  const same = await setUp(args, { typed: `${leaveOut}\rold-key\r` })
  const piped = await setUp(args)
  for (const { code, err } of [kept, same, piped]) {
    assert.equal(code, 1)
    assert.ok(err.endsWith(place), err)
  }
  assert.doesNotMatch(piped.err, /Give it again/)
  assert.equal(read(), text)
})

test('a key of the environment is not asked for, said to be there, and its line of the file stays', async (t) => {
  const text = broker('OLD-ID', 'key-of-file')
  const { setUp, read } = makePlace(t, text)
  const env = { SNAPTRADE_CONSUMER_KEY: consumerKey }
  const half = await setUp(args, { env, typed: `${leaveOut}${clientId}\r` })
  assert.equal(half.code, 0, half.err)
  assert.match(
    half.err,
    / {2}consumer key: SNAPTRADE_CONSUMER_KEY is set in the environment; setup cannot replace it there\.\n/,
  )
  assert.equal(read(), broker(clientId, 'key-of-file'))
  const both = { SNAPTRADE_CLIENT_ID: clientId, SNAPTRADE_CONSUMER_KEY: 'wrong-key' }
  const all = await setUp(args, { env: both, typed: `${leaveOut}x\ry\r` })
  assert.equal(all.code, 1)
  assert.doesNotMatch(all.err, /Give it again/)
  assert.match(all.err, /replace SNAPTRADE_CLIENT_ID in the environment, .* in the environment;/)
  assert.equal(read(), broker(clientId, 'key-of-file'))
})

test('a key of another provider is never sent, and is asked for again at once', async (t) => {
  const { setUp, read } = makePlace(t, broker(clientId, 'old-key'))
  const typed = `${leaveOut}${up}\r\r\r${consumerKey}\r`
  const { code, err } = await setUp(args, { typed })
  assert.equal(code, 0, err)
  assert.match(err, /the client id is a key of Up, [^;]*\.\nGive it again/)
  assert.equal(read(), broker(clientId, consumerKey))
})

test('a typed key of another provider, or of another field, is asked for again at once, twice more, and named as the question did', async (t) => {
  const { setUp } = makePlace(t, 'SANDBOX=false\n')
  const typed = `${up}\r${akahuApp}\r${akahuUser}\r\r${akahuUser}\r"${up}"\r${akahuApp}\r`
  const { code, out, err } = await setUp(args, { typed })
  assert.equal(code, 1)
  const again = ['a key of Up, which', 'a key of Akahu, which', 'a value in quotes.']
  for (const what of again) assert.equal(err.split(`\n  This is ${what}`).length, 2, what)
  assert.match(out, /\(akahu\): \d accounts?\n/)
  assert.match(err, /Up is not linked: the personal access token is a key of Akahu, .*; copy it/)
})

test('a key is tried three times at most, and Ctrl-C says that a repeated run completes it', async (t) => {
  const { setUp, read } = makePlace(t, broker(clientId, 'old-key'))
  const thrice = await setUp(args, { typed: `${leaveOut}\r1\r\r2\r\r3\r\r4\r\r5\r` })
  assert.equal(thrice.code, 1)
  assert.equal(thrice.err.match(/Give it again/g)?.length, 2)
  const stopped = await setUp(args, { typed: `${leaveOut}\x03` })
  assert.deepEqual([stopped.code, stopped.out], [1, ''])
  assert.match(stopped.err, /tributary: Stopped; run setup again, it completes what is missing\n$/)
  assert.equal(read(), broker(clientId, 'old-key'))
  const right = await setUp(args, { typed: `${leaveOut}\r${consumerKey}\r` })
  assert.equal(right.code, 0, right.err)
})

test('a private key that cannot be read is asked for twice more, may be pasted as PEM, and the owner is told what comes next', async (t) => {
  const { setUp } = makePlace(t, 'SANDBOX=false\n')
  const { id, privateKey } = demoApplication
  const env = { ENABLEBANKING_BASE_URL: sandbox.enablebanking.url }
  const pem = privateKey.trim().replaceAll('\n', '\r')
  const typed = `${leaveOut}${id}\rnot-a-key\r${pem}\r`
  const { code, out, err } = await setUp(args, { typed, env })
  assert.equal(code, 0, err)
  assert.equal(err.match(/ {2}This is no PEM text: .*\.\n/g)?.length, 1, err)
  assert.match(
    out,
    /the keys are accepted\. Set a password \(`tributary users set-password emma@b\.example/,
  )
  assert.ok(!(out + err).includes(privateKey.split('\n')[1] ?? ''))
})

test('a private key that stays unreadable is one line, and the others are linked', async (t) => {
  const { setUp } = makePlace(t, 'SANDBOX=false\n')
  const { id } = demoApplication
  const typed = `\r\r${up}\r\r${id}\rone\rtwo\rthree\r`
  const { code, out, err } = await setUp(args, { typed })
  assert.equal(code, 1)
  assert.match(out, /\(up\): \d accounts?\n/)
  assert.match(
    err,
    /Enable Banking is not linked: the private key is no PEM text: copy the whole [^\n]*dashes; then run setup again\n/,
  )
})
