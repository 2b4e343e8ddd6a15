/** What a start says. Why a process has not started is one line that says what to do, without frames. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiError } from '#contract/errors.ts'
import { UpstreamError } from '#providers/failure.ts'
import { readConfig } from '#src/config.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import { makeSqlitePlace } from '#tests/contract/store/place.ts'
import { addUser, newPasskey } from '#tests/contract/store/rows.ts'
import { describeStartFailure, describeWelcome, lookForUsers } from './welcome.ts'

const base = 'http://localhost:3000'

test('a start names a person only while nobody else has an account and this one has no way to sign in', async (t) => {
  const config = readConfig({ SANDBOX: 'false' }, '/srv/tributary')
  const place = makeSqlitePlace()
  t.after(() => place.remove())
  const store = await place.open()
  t.after(() => store.close())
  const describe = async () => {
    const lines = describeWelcome({
      config,
      origins: { base, mcp: base, auth: base },
      adminUrl: 'http://127.0.0.1:3001',
      adminTokenFile: null,
      command: { words: 'tributary', knowsSettings: true },
      demo: null,
      users: await lookForUsers(store),
    })
    return lines.find((line) => line.startsWith('Next: '))
  }
  const nobodyNamed = `Next: sign in at ${base}/`
  assert.equal(await describe(), 'Next: tributary users invite you@example.com')
  const only = await addUser(store)
  const words = `users set-password ${only.email} --password -`
  assert.equal(await describe(), `${nobodyNamed}; a first password is set with tributary ${words}`)
  const passkey = await store.passkeys.create(newPasskey(only.id))
  assert.equal(await describe(), nobodyNamed)
  assert(passkey.kind === 'made')
  await store.passkeys.remove(only.id, passkey.row.id)
  const other = await addUser(store)
  assert.equal(await describe(), nobodyNamed)
  await store.users.delete(other.id)
  assert.match((await describe()) ?? '', /set-password/)
  await store.sessions.setPassword(only.id, 'a hash')
  assert.equal(await describe(), nobodyNamed)
})

test('a process without a public address sends nobody to one', () => {
  const environment = {
    SANDBOX: 'false',
    ROLE: 'worker',
    SIGN_UP: 'open',
    DEFAULT_PLAN: 'developer',
  }
  for (const users of ['none', 'some'] as const) {
    const lines = describeWelcome({
      config: readConfig(environment, '/srv/tributary'),
      origins: { base, mcp: base, auth: base },
      adminUrl: 'http://127.0.0.1:3001',
      adminTokenFile: null,
      command: { words: 'tributary', knowsSettings: true },
      demo: null,
      users,
    })
    assert.doesNotMatch(lines.join('\n'), new RegExp(base))
    assert.ok(lines.includes('Next: people and programs need a process with ROLE=api'))
  }
})

test('a store that fails after it was opened is one line with what to do, and no stack', () => {
  assert.equal(
    describeStartFailure(new StoreUnavailableError('the disk under the store is full')),
    'the disk under the store is full. See that the disk under DATA_DIR, or the server of DATABASE_URL, is there, takes writes and has free space',
  )
  const known = new StoreUnavailableError('PostgreSQL is full', { remedy: 'Make room' })
  assert.equal(describeStartFailure(known), 'PostgreSQL is full. Make room')
})

test('emulators that do not answer within the time limits are one line that names the two variables', () => {
  const failure = { kind: 'unavailable', status: null, detail: 'no answer within 10 ms' } as const
  const error = apiError('provider_unavailable', { cause: new UpstreamError('akahu', failure) })
  assert.equal(
    describeStartFailure(error),
    'the emulators of the sandbox did not answer in time (no answer within 10 ms): raise UPSTREAM_TIMEOUT_MS and REQUEST_TIMEOUT_MS, or leave both out',
  )
})
