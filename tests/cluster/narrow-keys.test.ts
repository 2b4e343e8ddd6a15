/**
 * Reading R43 on two processes over one PostgreSQL and one Redis: cached answers of narrow keys are shared by
 * processes and never by keys that see something else, and a new secret counts on both at once.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Fleet, startFleet } from './fleet.ts'

let fleet: Fleet
before(async () => {
  fleet = await startFleet({ env: { RATE_LIMIT_CHEAP: '0', RATE_LIMIT_HEAVY: '0' } })
})
after(() => fleet?.close())

const both = () => [fleet.one, fleet.two] as const

async function makeKey(userId: string, limits: object): Promise<{ id: string; key: string }> {
  const { body } = await fleet.one.admin('POST', `/users/${userId}/keys`, limits)
  return body
}

test('R43: what one process has cached for a key is served by the other to keys that see the same, and to no others', async () => {
  const user = await fleet.createLinked()
  const { body } = await fleet.one.get('/v1/accounts', user.key)
  const [one, other] = body.data as { id: string; connectionId: string }[]
  assert(one !== undefined && other !== undefined)
  const make = (limits: object) => makeKey(user.id, limits)
  const keys = [
    { id: 'full', key: user.key },
    await make({ accountIds: [one.id] }),
    await make({ accountIds: [other.id] }),
    await make({ accountIds: [one.id], scopes: ['accounts', 'transactions'] }),
  ]
  const rows = `/v1/transactions?connectionId=${one.connectionId}&limit=500`
  for (const path of ['/v1/accounts', '/v1/connections', rows]) {
    const texts: string[] = []
    for (const [index, { key }] of keys.entries()) {
      const first = await both()[index % 2]?.get(path, key)
      const second = await both()[(index + 1) % 2]?.get(path, key)
      if (index > 0) assert.equal(first?.headers['x-cache'], 'MISS', path)
      assert.equal(second?.text, first?.text)
      assert.equal(second?.headers['x-cache'] === 'HIT', first?.status === 200, path)
      texts.push(first?.text ?? '')
    }
    if (path !== '/v1/connections') assert.notEqual(texts[1], texts[2], path)
    const seen = path === '/v1/connections' ? [] : (JSON.parse(texts[1] ?? '').data ?? [])
    const idOf = (row: { id: string; accountId?: string }) => row.accountId ?? row.id
    assert.ok(
      seen.every((row: { id: string }) => idOf(row) === one.id),
      path,
    )
  }
  const twin = await make({ accountIds: [one.id] })
  const shared = await fleet.two.get('/v1/accounts', twin.key)
  assert.equal(shared.headers['x-cache'], 'HIT')
})

test('R43: a new secret, and the end of the former one, count on both processes at once', async () => {
  const user = await fleet.createUser()
  const { id, key } = await makeKey(user.id, { scopes: ['accounts'] })
  const statuses = (secret: string) =>
    Promise.all(both().map(async (server) => (await server.get('/v1/accounts', secret)).status))
  assert.deepEqual(await statuses(key), [200, 200])
  const rotated = await fleet.one.admin('POST', `/keys/${id}/rotate`, { overlapHours: 1 })
  assert.deepEqual(await statuses(rotated.body.key), [200, 200])
  assert.deepEqual(await statuses(key), [200, 200])
  const last = await fleet.two.admin('POST', `/keys/${id}/rotate`, { overlapHours: 0 })
  assert.deepEqual(await statuses(last.body.key), [200, 200])
  assert.deepEqual(await statuses(key), [401, 401])
  assert.deepEqual(await statuses(rotated.body.key), [401, 401])
})
