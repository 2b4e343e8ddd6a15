/**
 * `tributary setup` while a service runs: it is used when it is in live mode, and otherwise the person is
 * told what to do.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runCommand } from '#tests/support/command.ts'
import { startService } from '#tests/support/service.ts'

const email = 'emma@b.example'
const args = ['setup', '--email', email]

async function start(t: TestContext, env: Record<string, string> = {}) {
  const service = await startService({ env })
  t.after(() => service.close())
  const folder = mkdtempSync(join(tmpdir(), 'tributary-setup-'))
  t.after(() => rmSync(folder, { recursive: true }))
  /** @param typed what a person types on a terminal; absent: there is none, and the answer is JSON. */
  const setUp = (environment: Record<string, string>, typed?: string) =>
    runCommand(typed === undefined ? [...args, '--json'] : args, {
      environment,
      workingDirectory: folder,
      typed,
    })
  const { adminUrl: ADMIN_URL, adminToken: ADMIN_TOKEN, dataDir: DATA_DIR } = service
  return { service, folder, setUp, named: { ADMIN_URL, ADMIN_TOKEN }, DATA_DIR }
}

const UP_TOKEN = 'up:yeah:sandbox-healthy00000000000000000'

test('a service in live mode makes the user, the key and the links; no file is written, and the key answers at once', async (t) => {
  const { service, folder, setUp, named } = await start(t, { SANDBOX: 'false' })
  const keys = {
    AKAHU_APP_TOKEN: 'app_token_pahealthy00000000000000000',
    AKAHU_USER_TOKEN: 'user_token_pahealthy00000000000000000',
  }
  const { code, out, err } = await setUp({ ...named, ...keys, UP_TOKEN })
  assert.equal(code, 0, err)
  const { key, connections } = JSON.parse(out)
  assert.ok(connections.length > 1)
  const answer = await service.get('/v1/connections', `Bearer ${key}`)
  assert.equal(answer.body.data.length, connections.length)
  assert.deepEqual(readdirSync(folder), [])
  const again = JSON.parse((await setUp({ ...named, UP_TOKEN })).out)
  assert.equal(again.key, null)
})

test('a service in sandbox mode is not used: one line says to stop it', async (t) => {
  const { service, setUp, named } = await start(t)
  const { code, out, err } = await setUp({ ...named, UP_TOKEN })
  assert.deepEqual([code, out], [1, ''])
  assert.match(
    JSON.parse(err).error.message,
    /is in sandbox mode, .* stop it .*then run setup again$/,
  )
  assert.deepEqual(await service.app.store.users.find(email), null)
})

test('a store that a service holds whose admin API is elsewhere is not touched', async (t) => {
  const { setUp, DATA_DIR } = await start(t, { SANDBOX: 'false' })
  const { code, err } = await setUp({ DATA_DIR, ADMIN_PORT: '1', UP_TOKEN })
  assert.equal(code, 1)
  assert.match(JSON.parse(err).error.message, /another process has the store/)
})

test('a refused key of .env is asked for again beside a running service too: its line is replaced, nothing is added', async (t) => {
  const { folder, setUp, named } = await start(t, { SANDBOX: 'false' })
  const path = join(folder, '.env')
  writeFileSync(path, 'AKAHU_APP_TOKEN=app_token_old\n', { mode: 0o600 })
  const app = 'app_token_pahealthy00000000000000000'
  // The user token; four others left out; then the app token, and the user token kept.
  const typed = `user_token_pahealthy00000000000000000\r\r\r\r\r${app}\r\r`
  const { code, out, err } = await setUp(named, typed)
  assert.equal(code, 0, err)
  assert.ok(out.includes(`Settings   ${path}: AKAHU_APP_TOKEN replaced\n`), out)
  assert.equal(readFileSync(path, 'utf8'), `AKAHU_APP_TOKEN=${app}\n`)
})

test('beside a running service a mistyped address is refused before any key is asked for', async (t) => {
  const { folder, setUp, named } = await start(t, { SANDBOX: 'false' })
  assert.equal((await setUp({ ...named, UP_TOKEN })).code, 0)
  const { code, err } = await runCommand(['setup'], {
    environment: named,
    workingDirectory: folder,
    typed: 'ema@b.example\r',
  })
  assert.equal(code, 1)
  assert.match(err, /owner: ema@b\.example\ntributary: ema@b\.example is no user here, and emma/)
})

test('the request that it prints is one to which the running service answers with rows', async (t) => {
  const { setUp, named } = await start(t, { SANDBOX: 'false' })
  const keys = {
    AKAHU_APP_TOKEN: 'app_token_pahealthy00000000000000000',
    AKAHU_USER_TOKEN: 'user_token_pahealthy00000000000000000',
  }
  const { out, err } = await setUp({ ...named, ...keys }, '\r\r')
  const [, key = '', url = ''] = /'Authorization: Bearer (\w+)' '([^']+)'/.exec(out) ?? []
  assert.match(url, /\/v1\/transactions\?/, err)
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  const { data } = (await answer.json()) as { readonly data: readonly unknown[] }
  assert.equal(data.length, 3)
})
