/**
 * The book of a deleted account: a person who used everything is deleted, and every table has the rows that
 * it had before they came, and no more, except what docs/storage.md says.
 */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { request } from 'undici'
import { type ConnectionId, newId, type SyncRunId } from '#kernel/ids.ts'
import { newPasskey } from '#tests/contract/store/rows.ts'
import { startReceiver, withStatus } from '#tests/request/webhooks/stage.ts'
import type { Fields, Jar } from '#tests/support/jar.ts'
import { totpOf } from '#tests/support/totp.ts'
import { until } from '#tests/support/until.ts'
import { makeEvents } from '#webhooks/envelope.ts'
import { startMailed } from './mailed.ts'
import { connectAgent, type Person, password } from './world.ts'

const world = await startMailed()
after(() => world.close())

/** Each table with its rows as text; the instants at which background work looked are no matter. */
async function readTables(): Promise<Map<string, string[]>> {
  const { dataDir } = world.service
  const tables = new Map<string, string[]>()
  const files = await readdir(dataDir, { recursive: true })
  for (const file of files.filter((name) => name.endsWith('.db'))) {
    const db = new DatabaseSync(join(dataDir, file), { readOnly: true })
    try {
      const list = db.prepare("select name from sqlite_master where type = 'table'").all()
      for (const { name } of list) {
        if (name === 'schema_migrations') continue
        const rows = db.prepare(`select * from "${name}"`).all()
        tables.set(
          String(name),
          rows.map((row) => JSON.stringify(row)),
        )
      }
    } finally {
      db.close()
    }
  }
  return tables
}

const send = async (jar: Jar, page: string, fields: Fields = {}, path = page) =>
  jar.post(path, { ...(await jar.get(page)).hidden, ...fields })

/** Signs up, and does something for every table that can have a row of a person. */
async function live(email: string, hook: string): Promise<{ person: Person; jar: Jar }> {
  const { service } = world
  const { store } = service.app
  const jar = world.jar()
  await send(jar, '/sign-up', { name: 'Emma', email, password })
  const { id } = (await store.users.find(email)) ?? assert.fail('nobody signed up')
  await store.users.setPlan(id, {
    ...{ plan: 'professional', status: 'active', legacyUntil: null, grandfathered: false },
  })
  await send(jar, '/forgot-password', { email })
  const user = { id } as unknown as Parameters<typeof service.link>[0]
  const [row] = await service.link(user, 'healthy')
  assert(row !== undefined)
  await send(jar, `/connections/${row.id}`, {}, `/connections/${row.id}/reconnect`)
  await send(jar, '/keys', { name: 'laptop', expires: '' })
  await connectAgent(service, jar, { name: 'Claude' })
  await send(jar, '/webhooks', {
    pending: 'true',
    url: hook,
    events: ['transactions.synced', 'trades.synced'],
  })
  const second = '/settings/second-factor'
  const { text } = await jar.get(second)
  const secret = /<output name="secret"[^>]*>([^<]*)</.exec(text)?.[1] ?? ''
  await send(jar, second, { code: totpOf(secret, service.clock.now()) })
  const made = await store.passkeys.create(newPasskey(id))
  assert.equal(made.kind, 'made')
  await addEvent({ id, email }, row.id)
  const { key } = await service.app.actions.createKey({ actor: { kind: 'operator' } }, id, {})
  const headers = { authorization: `Bearer ${key}` }
  await (await request(`${service.baseUrl}/v1/accounts`, { headers })).body.dump()
  // A look at the page writes what was counted.
  await jar.get('/usage')
  return { person: { id, email }, jar }
}

async function addEvent({ id }: Person, connectionId: ConnectionId): Promise<void> {
  const { app, clock } = world.service
  const events = makeEvents({
    ...{ userId: id, connectionId, runId: newId<SyncRunId>(), type: 'transactions.synced' },
    ...{ createdAt: clock.now(), new: ['{"description":"x"}'], updated: [] },
  })
  await app.store.events.accept(await app.store.events.seal(events))
}

/** What a person can have rows in. */
const owned = [
  ...['users', 'sessions', 'link_attempts', 'api_keys', 'logins', 'connections', 'accounts'],
  ...['oauth_grants', 'oauth_rows', 'syncs', 'sync_runs', 'second_factors', 'recovery_codes'],
  ...['passkeys', 'used_challenges'],
  ...[
    'ledger_keys',
    'ledger_months',
    'pending_ledgers',
    'webhook_endpoints',
    'events',
    'deliveries',
    'attempts',
  ],
  ...['usage_by_reader', 'mailed_links', 'mails', 'audit', 'event_keys'],
]

test('a person who used everything leaves the audit, the client of their agent and keys of events, which are swept', async (t) => {
  const receiver = await startReceiver(t, withStatus(500))
  const email = 'everything@example.test'
  const start = await readTables()
  const { person, jar } = await live(email, receiver.url)
  const filled = async () => {
    const now = await readTables()
    return owned.filter((name) => (now.get(name)?.length ?? 0) <= (start.get(name)?.length ?? 0))
  }
  let empty = owned
  await until('every table has a row', async () => {
    empty = await filled()
    return empty.length === 0
  }).catch((cause: unknown) => {
    throw new Error(`without a row: ${empty.join(', ')}`, { cause })
  })
  const answer = await send(jar, '/settings/delete', { email, decision: 'confirm' })
  assert.equal(answer.location, '/deleted', answer.text)
  const left = await readTables()
  const more = [...left].flatMap(([name, rows]) => {
    const surplus = rows.length - (start.get(name)?.length ?? 0)
    return surplus === 0 ? [] : [name]
  })
  const allowed = ['audit', 'oauth_rows', 'event_keys', 'meta']
  assert.deepEqual(
    more.filter((name) => !allowed.includes(name)),
    [],
  )
  const clients = left.get('oauth_rows')?.map((row) => JSON.parse(row).model)
  assert.deepEqual([...new Set(clients)], ['Client'])
  for (const [name, rows] of left) {
    const holds = rows.some((row) => row.includes(person.id) || row.includes(email))
    assert.equal(holds, name === 'audit', name)
  }
  assert.ok(!left.get('audit')?.some((row) => row.includes(email)))
})
