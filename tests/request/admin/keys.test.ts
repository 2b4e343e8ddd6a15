/** API keys in the admin API: shown once, listed without the secret, revoked at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashKey, isKeyShaped } from '#auth/keys.ts'
import { noLimits } from '#store/ports/keys.ts'
import { type Answer, makeWorld } from './world.ts'

interface Created {
  readonly id: string
  readonly name: string
  readonly key: string
  readonly createdAt: string
}
const created = ({ body }: Answer) => body as Created
const errorOf = ({ body }: Answer) =>
  (body as { error: { code?: string; details?: string[] } }).error
const listed = ({ body }: Answer) => (body as { data: Record<string, unknown>[] }).data

test('201: a new key is answered with id, name, key and createdAt, and it works', async (t) => {
  const { ask, addUser, store } = await makeWorld(t)
  const id = await addUser('a@b.example')
  const answer = await ask('POST', `/admin/users/${id}/keys`, { name: ' laptop ' })
  assert.equal(answer.status, 201)
  const { key, ...rest } = created(answer)
  assert.deepEqual(Object.keys(rest), ['id', 'name', 'createdAt'])
  assert.equal(rest.name, 'laptop')
  assert.equal(rest.createdAt, '2026-11-20T03:15:00.000Z')
  assert.ok(isKeyShaped(key))
  assert.equal((await store.keys.findCaller(hashKey(key)))?.userId, id)
})

test('a key is shown once: not in lists, not in the log, not anywhere on the disk', async (t) => {
  const { ask, addUser, readDisk, logged } = await makeWorld(t)
  const id = await addUser('a@b.example')
  const { key } = created(await ask('POST', `/admin/users/${id}/keys`))
  const list = await ask('GET', `/admin/users/${id}/keys`)
  const prefix = String(listed(list)[0]?.prefix)
  assert.ok(key.startsWith(prefix) && prefix.length === 16)
  const secret = key.slice(prefix.length)
  assert.ok(!JSON.stringify(list.body).includes(secret))
  assert.ok(!logged.some((line) => line.includes(secret)))
  const disk = await readDisk()
  // What must be found proves that the search can find.
  assert.ok(disk.includes(prefix))
  assert.ok(!disk.includes(secret))
})

test('200: the list shows for each key whether it is active, expired or revoked, and when it was used', async (t) => {
  const { ask, addUser, store, clock } = await makeWorld(t)
  const id = await addUser('a@b.example')
  const make = async (body: object) => created(await ask('POST', `/admin/users/${id}/keys`, body))
  const active = await make({ name: 'active' })
  const expiring = await make({ name: 'expired', expires: '2026-11-20T14:16:00+11:00' })
  const revoked = await make({ name: 'revoked' })
  clock.advance(60_000)
  await ask('DELETE', `/admin/keys/${revoked.id}`)
  await store.keys.touch(active.id as Parameters<typeof store.keys.touch>[0], clock.now())
  const rows = listed(await ask('GET', `/admin/users/${id}/keys`))
  const byId = new Map(rows.map((row) => [row.id, row]))
  const of = (key: Created) => ({ ...byId.get(key.id), prefix: undefined })
  const common = {
    ...{ prefix: undefined, createdAt: '2026-11-20T03:15:00.000Z' },
    ...{ ...noLimits, formerUntil: null },
  }
  const minuteLater = '2026-11-20T03:16:00.000Z'
  assert.deepEqual(of(active), {
    ...common,
    id: active.id,
    name: 'active',
    status: 'active',
    expiresAt: null,
    lastUsedAt: minuteLater,
    revokedAt: null,
  })
  assert.deepEqual(of(expiring), {
    ...common,
    id: expiring.id,
    name: 'expired',
    status: 'expired',
    expiresAt: minuteLater,
    lastUsedAt: null,
    revokedAt: null,
  })
  assert.deepEqual(of(revoked), {
    ...common,
    id: revoked.id,
    name: 'revoked',
    status: 'revoked',
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: minuteLater,
  })
})

test('R43: a key with limits and one with a new secret are listed as such, and an audit row tells it', async (t) => {
  const { ask, addUser, store } = await makeWorld(t)
  const id = await addUser('a@b.example')
  const limits = { scopes: ['accounts', 'events'], addresses: ['10.0.0.0/8'] }
  const made = created(await ask('POST', `/admin/users/${id}/keys`, { name: 'narrow', ...limits }))
  const answer = await ask('POST', `/admin/keys/${made.id}/rotate`, { overlapHours: 1 })
  assert.equal(answer.status, 200)
  const { key, ...rest } = answer.body as Readonly<Record<string, string>>
  assert.deepEqual(rest, { id: made.id, name: 'narrow', formerUntil: '2026-11-20T04:15:00.000Z' })
  assert.ok(isKeyShaped(key ?? '') && key !== made.key)
  const [row] = listed(await ask('GET', `/admin/users/${id}/keys`))
  assert.deepEqual(
    [row?.scopes, row?.addresses, row?.connectionIds, row?.formerUntil, row?.prefix],
    [limits.scopes, limits.addresses, null, rest.formerUntil, key?.slice(0, 16)],
  )
  const page = { userId: null, after: null, limit: 9 }
  const actions = (await store.auditLog.list(page)).map(({ action }) => action)
  assert.ok(actions.includes('keys.rotate'))
  const unknown = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'
  assert.equal((await ask('POST', `/admin/keys/${unknown}/rotate`)).status, 404)
  const wrong = await ask('POST', `/admin/users/${id}/keys`, { scopes: [] })
  assert.equal(wrong.status, 400)
})

test('R27: a revoked key is unknown to the next look-up; revoking it again keeps the first time', async (t) => {
  const { ask, addUser, store, clock } = await makeWorld(t)
  const id = await addUser('a@b.example')
  const { id: keyId, key } = created(await ask('POST', `/admin/users/${id}/keys`))
  assert.equal((await ask('DELETE', `/admin/keys/${keyId}`)).status, 204)
  assert.equal(await store.keys.findCaller(hashKey(key)), null)
  clock.advance(5000)
  assert.equal((await ask('DELETE', `/admin/keys/${keyId.toUpperCase()}`)).status, 204)
  const [row] = listed(await ask('GET', `/admin/users/${id}/keys`))
  assert.equal(row?.revokedAt, '2026-11-20T03:15:00.000Z')
})

test('404: a key that does not exist, and an id that is none', async (t) => {
  const { ask } = await makeWorld(t)
  for (const id of ['7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10', 'nothing']) {
    const answer = await ask('DELETE', `/admin/keys/${id}`)
    assert.equal(answer.status, 404)
    assert.equal(errorOf(answer).code, 'key_not_found')
  }
})

test('400: names of no or more than 100 characters, control characters, an expiry that has passed', async (t) => {
  const { ask, addUser } = await makeWorld(t)
  const id = await addUser('a@b.example')
  const post = (body: object) => ask('POST', `/admin/users/${id}/keys`, body)
  for (const name of ['', '   ', 'x'.repeat(101), 'a\u0000b', 'a\nb', '\ud800', 7]) {
    assert.equal((await post({ name })).status, 400, JSON.stringify(name))
  }
  assert.equal((await post({ name: '🔑'.repeat(100) })).status, 201)
  for (const expires of ['2026-11-20T03:15:00Z', '2025-01-01T00:00:00Z']) {
    assert.deepEqual(errorOf(await post({ expires })).details, ['expires: must lie in the future'])
  }
  assert.equal((await post({ expires: '2027-01-01' })).status, 400)
  assert.deepEqual(errorOf(await post({ expiresAt: null })).details, [
    'expiresAt: is an unknown field',
  ])
})

test('409: a twenty-first active key is refused; revoked and expired ones leave room', async (t) => {
  const { ask, addUser, clock } = await makeWorld(t)
  const id = await addUser('a@b.example')
  const post = (body: object = {}) => ask('POST', `/admin/users/${id}/keys`, body)
  const first = created(await post({ expires: '2026-11-20T03:16:00Z' }))
  const second = created(await post())
  for (let count = 2; count < 20; count += 1) assert.equal((await post()).status, 201)
  const refused = await post()
  assert.equal(refused.status, 409)
  assert.equal(errorOf(refused).code, 'too_many_keys')
  await ask('DELETE', `/admin/keys/${second.id}`)
  assert.equal((await post()).status, 201)
  assert.equal((await post()).status, 409)
  clock.advance(60_000)
  assert.equal((await post()).status, 201)
  assert.notEqual(first.id, second.id)
})

test("one user's keys are not in another's list", async (t) => {
  const { ask, addUser } = await makeWorld(t)
  const emma = await addUser('emma@b.example')
  const jack = await addUser('jack@b.example')
  await ask('POST', `/admin/users/${emma}/keys`)
  assert.equal(listed(await ask('GET', `/admin/users/${emma}/keys`)).length, 1)
  assert.deepEqual(listed(await ask('GET', `/admin/users/${jack}/keys`)), [])
})
