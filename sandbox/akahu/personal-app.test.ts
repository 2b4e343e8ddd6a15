/**
 * The personal apps of the Akahu emulator: what they reach, what they do not, and how their owners end or
 * limit them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AkahuEmulator,
  demoApp,
  demoUserTokens,
  startAkahuEmulator,
  toPersonalTokens,
} from './emulator.ts'

const now = Date.parse('2026-11-20T21:15:00.000Z')
const healthy = toPersonalTokens('healthy')
const history = toPersonalTokens('history')

interface Ground extends AsyncDisposable {
  readonly akahu: AkahuEmulator
  readonly clock: { ms: number; now(): number }
}

async function open(): Promise<Ground> {
  const clock = { ms: now, now: () => clock.ms }
  const akahu = await startAkahuEmulator({ clock })
  return { akahu, clock, [Symbol.asyncDispose]: () => akahu.close() }
}

const headersOf = ({ appToken, userToken }: { appToken: string; userToken: string }) => ({
  authorization: `Bearer ${userToken}`,
  'x-akahu-id': appToken,
})

async function ask(
  { akahu }: Ground,
  path: string,
  headers: Record<string, string> = headersOf(healthy),
  method = 'GET',
): Promise<{ readonly status: number; readonly said: string; readonly items: unknown[] }> {
  const response = await fetch(`${akahu.baseUrl}${path}`, { method, headers })
  const body = (await response.json()) as { message?: string; items?: unknown[] }
  return { status: response.status, said: body.message ?? '', items: body.items ?? [] }
}

const range = '?start=2026-10-01T00:00:00.000Z&end=2026-11-20T00:00:00.000Z'

test('a personal app shows the accounts and rows of its owner, the same as the full app does', async () => {
  await using ground = await open()
  const full = headersOf({ ...demoApp, userToken: demoUserTokens.healthy })
  for (const path of ['/accounts', `/transactions${range}`]) {
    const own = await ask(ground, path)
    assert.ok(own.items.length > 0)
    assert.deepEqual(own.items, (await ask(ground, path, full)).items)
  }
  assert.equal((await ask(ground, '/me')).status, 200)
})

test('HTTP Basic, the endpoints of full apps and webhooks are refused', async () => {
  await using ground = await open()
  for (const secret of ['', demoApp.appSecret]) {
    const basic = Buffer.from(`${healthy.appToken}:${secret}`).toString('base64')
    for (const path of ['/connections', '/categories', '/keys/1', '/webhook-events']) {
      assert.equal((await ask(ground, path, { authorization: `Basic ${basic}` })).status, 401, path)
    }
  }
  for (const path of ['/connections', '/categories']) {
    assert.equal((await ask(ground, path)).status, 401, path)
  }
  assert.equal((await ask(ground, '/webhooks')).status, 403)
  assert.equal((await ask(ground, '/webhooks', headersOf(healthy), 'POST')).status, 403)
})

test('a user token with the app token of another app is 403, an unknown or regenerated one 401', async () => {
  await using ground = await open()
  const status = async (appToken: string, userToken: string) =>
    (await ask(ground, '/accounts', headersOf({ appToken, userToken }))).status
  assert.equal(await status(history.appToken, healthy.userToken), 403)
  assert.equal(await status(demoApp.appToken, healthy.userToken), 403)
  assert.equal(await status(healthy.appToken, demoUserTokens.healthy), 403)
  assert.equal(await status('app_token_unknown', healthy.userToken), 403)
  assert.equal(await status(healthy.appToken, 'user_token_unknown'), 401)
  ground.akahu.people.healthy.personal.userToken = 'user_token_regenerated'
  assert.equal(await status(healthy.appToken, healthy.userToken), 401)
  assert.equal(await status(healthy.appToken, 'user_token_regenerated'), 200)
})

test('a permission that is switched off and an address outside the allow-list are 403, at this app alone', async () => {
  await using ground = await open()
  const { ownApp } = ground.akahu.faultControls
  const full = headersOf({ ...demoApp, userToken: demoUserTokens.healthy })
  ownApp?.withdrawPermission('healthy')
  assert.deepEqual((await ask(ground, `/transactions${range}`)).status, 403)
  assert.equal((await ask(ground, '/accounts')).status, 200)
  assert.equal((await ask(ground, `/transactions${range}`, full)).status, 200)
  ownApp?.grantPermission('healthy')
  assert.equal((await ask(ground, `/transactions${range}`)).status, 200)
  ownApp?.bar('healthy')
  const barred = await ask(ground, '/me')
  assert.deepEqual(
    [barred.status, barred.said],
    [403, 'This address is not on the allow-list of the app'],
  )
  assert.equal((await ask(ground, '/me', headersOf(history))).status, 200)
  ownApp?.admit('healthy')
  assert.equal((await ask(ground, '/me')).status, 200)
})

test('a second refresh within the hour is refused', async () => {
  await using ground = await open()
  const refresh = async () => (await ask(ground, '/refresh', headersOf(healthy), 'POST')).status
  assert.deepEqual([await refresh(), await refresh()], [200, 429])
  ground.clock.ms += 3_600_000
  assert.equal(await refresh(), 200)
})

test('ending the token of a personal app leaves the full app alone, and consent commands concern both', async () => {
  await using ground = await open()
  const { people, faultControls } = ground.akahu
  assert.equal((await ask(ground, '/token', headersOf(healthy), 'DELETE')).status, 200)
  assert.equal((await ask(ground, '/me')).status, 401)
  assert.equal(people.healthy.userToken, demoUserTokens.healthy)
  faultControls.consent.renew('healthy')
  assert.equal((await ask(ground, '/me')).status, 200)
  faultControls.consent.expire('healthy')
  assert.deepEqual([people.healthy.userToken, people.healthy.personal.userToken], [null, null])
})
