/**
 * The durable store on PostgreSQL: the port's promises, then what several processes on one database rely on.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { startPeriodic } from '#jobs/periodic.ts'
import { openStore } from '#store/open-store.ts'
import type { StoreChange } from '#store/ports/changes.ts'
import { addEndpoint } from '#tests/contract/store/event-rows.ts'
import { keyA } from '#tests/contract/store/place.ts'
import {
  raceCodes,
  raceDeletion,
  raceEnding,
  racePasskeys,
  raceRelink,
  raceRemoval,
  raceSecrets,
} from '#tests/contract/store/races.ts'
import {
  addGrant,
  addKey,
  addLink,
  addSession,
  addUser,
  newOAuthRow,
  now,
  someHash,
  somePassword,
} from '#tests/contract/store/rows.ts'
import { storeContract } from '#tests/contract/store/store-contract.ts'
import { makeConnectionEvents } from '#webhooks/accept-connection-events.ts'
import { makePostgresGround, type PostgresGround, type PostgresPlace } from './postgres-place.ts'

const ground = await makePostgresGround()
after(() => ground.remove())

storeContract('PostgreSQL', () => ground.makeMigratedPlace())
describe('many processes on one PostgreSQL', () => testSharing(ground))

function testSharing({ makePlace }: PostgresGround): void {
  let place: PostgresPlace
  before(async () => {
    place = await makePlace()
  })
  after(() => place.remove())

  test('many that start at once on an empty schema all open, and one migrates', async () => {
    const empty = await makePlace()
    const lines: string[] = []
    const log = ({ message }: { message: string }) => lines.push(message)
    const stores = await Promise.all(Array.from({ length: 5 }, () => empty.open({ log })))
    assert.equal(lines.filter((line) => /schema/.test(line)).length, 1)
    await Promise.all(stores.map((store) => store.ping()))
    await Promise.all(stores.map((store) => store.close()))
    await empty.remove()
  })

  test('R27: a change is notified to the other process within a second, and once in its own', async () => {
    const [one, two] = await Promise.all([place.open(), place.open()])
    const user = await addUser(one)
    const key = await addKey(one, user.id)
    const own: StoreChange[] = []
    const reported = Promise.withResolvers<StoreChange>()
    // What was announced before may still be on its way.
    await settle()
    one.onChange((change) => own.push(change))
    two.onChange((change) => reported.resolve(change))
    const from = performance.now()
    await one.keys.revoke(key.id, now)
    assert.deepEqual(await reported.promise, { userId: user.id })
    assert.ok(performance.now() - from < 1_000)
    assert.equal(await two.keys.findCaller(key.hash), null)
    await settle()
    assert.deepEqual(own, [{ userId: user.id }])
    await Promise.all([one.close(), two.close()])
  })

  test('stores in two schemas of one database do not receive each other’s notifications', async () => {
    const other = await makePlace()
    const [mine, theirs] = await Promise.all([place.open(), other.open()])
    const heard: StoreChange[] = []
    theirs.onChange((change) => heard.push(change))
    await addUser(mine)
    await settle()
    assert.deepEqual(heard, [])
    await Promise.all([mine.close(), theirs.close()])
    await other.remove()
  })

  test('two processes that change one connection at once lose nothing', async () => {
    const [one, two] = await Promise.all([place.open(), place.open()])
    const { user, connection } = await addLink(one)
    const { hash } = await addKey(one, user.id)
    const from = (await one.keys.findCaller(hash))?.epoch ?? Number.NaN
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? one : two).connections.repoint(connection.id, `up_${index}` as never),
      ),
    )
    assert.equal((await two.keys.findCaller(hash))?.epoch, from + 20)
    await Promise.all([one.close(), two.close()])
  })

  test('R41: two processes that change a connection and accept its events make one of each change, in order', async () => {
    const stores = await Promise.all([place.open(), place.open()])
    const [one, two] = stores
    const { user, connection } = await addLink(one)
    const types = ['connection.revoked', 'connection.restored'] as const
    const { id } = await addEndpoint(one, user.id, { events: types })
    const failed = (_task: string, error: unknown) => assert.fail(String(error))
    const jobs = stores.map((store) => {
      const job = startPeriodic(makeConnectionEvents(store), { done: () => {}, failed })
      store.onWork((kind) => {
        if (kind === 'connection-event') job.wake()
      })
      return job
    })
    for (let count = 0; count < 10; count += 1) {
      await one.connections.setStatus(connection.id, 'revoked')
      await two.connections.setStatus(connection.id, 'active')
    }
    const list = () => one.deliveries.list(id, { after: null, limit: 100 })
    for (let look = 0; look < 200 && (await list()).length < 20; look += 1) await settle()
    await settle()
    await Promise.all(jobs.map((job) => job.stop()))
    assert.deepEqual(
      (await list()).map(({ type }) => type).toReversed(),
      Array.from({ length: 10 }, () => types).flat(),
    )
    await Promise.all(stores.map((store) => store.close()))
  })

  test('a sign-in that was checked before another process set a new password begins no session', async () => {
    const [one, two] = await Promise.all([place.open(), place.open()])
    const user = await addUser(one, { passwordHash: somePassword })
    const holder = new Client({ connectionString: place.databaseUrl })
    await holder.connect()
    await holder.query('begin')
    await holder.query('update users set password_hash = $2 where id = $1', [user.id, 'new'])
    // It waits for the user's row, and finds another password there.
    const hash = someHash()
    const waiting = one.sessions.create({
      userId: user.id,
      hash,
      at: now,
      passwordHash: somePassword,
    })
    await settle()
    await holder.query('delete from sessions where user_id = $1', [user.id])
    await holder.query('commit')
    await holder.end()
    assert.equal(await waiting, null)
    assert.equal(await two.sessions.find(hash), null)
    await Promise.all([one.close(), two.close()])
  })

  test('sign-ins in one process and new passwords from another leave no session of the old password', async () => {
    const [one, two] = await Promise.all([place.open(), place.open()])
    for (let round = 0; round < 20; round += 1) {
      const user = await addUser(one, { passwordHash: somePassword })
      const hashes = Array.from({ length: 6 }, someHash)
      const passwordHash = somePassword
      const begin = (hash: Uint8Array) =>
        one.sessions.create({ userId: user.id, hash, at: now, passwordHash })
      await Promise.all([...hashes.map(begin), two.sessions.setPassword(user.id, 'new')])
      for (const hash of hashes) assert.equal(await two.sessions.find(hash), null)
    }
    await Promise.all([one.close(), two.close()])
  })

  test('an agent that is allowed while another process sets a new password is allowed before it or not at all', async () => {
    const [one, two] = await Promise.all([place.open(), place.open()])
    for (let round = 0; round < 20; round += 1) {
      const user = await addUser(one, { passwordHash: somePassword })
      const session = await addSession(one, user.id)
      const grant = await addGrant(one, user.id)
      const agent = newOAuthRow({ model: 'Agent', grantId: grant.id })
      const [isKept] = await Promise.all([
        one.oauth.saveWhile(session.id, agent),
        two.sessions.setPassword(user.id, 'new'),
      ])
      assert.equal((await two.oauth.find('Agent', agent.id)) !== null, isKept)
      assert.equal(await one.oauth.saveWhile(session.id, newOAuthRow()), false)
    }
    await Promise.all([one.close(), two.close()])
  })

  test('one process deletes a user while the other gives them things: found by the deletion, or refused', async () => {
    const [one, two] = await Promise.all([place.open(), place.open()])
    for (let round = 0; round < 30; round += 1) {
      await raceDeletion(one, two)
      await raceRemoval(one, two)
    }
    await Promise.all([one.close(), two.close()])
  })

  test('of two processes that are given the same code, one accepts it', async () => {
    const [one, two] = await Promise.all([place.open(), place.open()])
    await raceCodes(one, two)
    await racePasskeys(one, two)
    await Promise.all([one.close(), two.close()])
  })

  test('of two processes that replace the secret of one login, each finds the one that it replaces', async () => {
    const [one, two] = await Promise.all([place.open(), place.open()])
    for (let round = 0; round < 5; round += 1) await raceSecrets(one, two)
    await Promise.all([one.close(), two.close()])
  })

  test('of two processes that remove the last two connections of a login one ends it, unless a link began with it', async () => {
    const [one, two] = await Promise.all([place.open(), place.open()])
    for (let round = 0; round < 30; round += 1) await raceEnding(one, two)
    await Promise.all([one.close(), two.close()])
  })

  test('R20b: a loss in one process never outlives a relink in the other', async () => {
    const [one, two] = await Promise.all([place.open(), place.open()])
    for (let round = 0; round < 30; round += 1) await raceRelink(one, two)
    await Promise.all([one.close(), two.close()])
  })

  test('a request for consent that waits for its row holds up no other one', async () => {
    const store = await place.open()
    const ask = (row: ReturnType<typeof newOAuthRow>) =>
      store.oauth.savePending(row, { at: now, ofOrigin: 5, inAll: 9 })
    const row = newOAuthRow({ model: 'Interaction', origin: someHash() })
    assert.equal(await ask(row), 'kept')
    const holder = new Client({ connectionString: place.databaseUrl })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select 1 from oauth_rows where id = $1 for update', [row.id])
    const again = ask(row)
    await untilWaiting(place)
    const other = ask(newOAuthRow({ model: 'Interaction', origin: someHash() }))
    const first = await Promise.race([other, again, sleep(2_000, 'both wait')])
    await holder.query('commit')
    assert.equal(first, 'kept')
    assert.deepEqual(await Promise.all([other, again]), ['kept', 'kept'])
    await holder.end()
    await store.close()
  })

  test('a request for consent that needs a place takes none that another transaction holds', async () => {
    const store = await place.open()
    const crowd = someHash()
    const ask = (origin: Uint8Array, inAll = 1_000) =>
      store.oauth.savePending(newOAuthRow({ model: 'Interaction', origin }), {
        at: now,
        ofOrigin: 9,
        inAll,
      })
    for (let index = 0; index < 5; index += 1) assert.equal(await ask(crowd), 'kept')
    const holder = new Client({ connectionString: place.databaseUrl })
    await holder.connect()
    await holder.query('begin')
    await holder.query(
      `select id from oauth_rows where origin = $1 order by expires_at, id limit 1 for update`,
      [crowd],
    )
    const asked = ask(someHash(), 1)
    const first = await Promise.race([asked, sleep(2_000, 'it waits')])
    await holder.query('rollback')
    await holder.end()
    await asked
    const [left] = await place.ask(
      `select count(*)::int as count from oauth_rows where origin = '\\x${Buffer.from(crowd).toString('hex')}'`,
    )
    await store.close()
    assert.deepEqual([first, left], ['kept', { count: 4 }])
  })

  test('a write that lost to a deadlock is tried again and succeeds', async () => {
    const store = await place.open()
    const { user, connection } = await addLink(store)
    const holder = new Client({ connectionString: place.databaseUrl })
    await holder.connect()
    let isStoreRefused = false
    // Who waited first is the one that is refused, unless the other one came more than a second later.
    for (let round = 0; round < 5 && !isStoreRefused; round += 1) {
      await holder.query('begin')
      await holder.query('select 1 from connections where id = $1 for update', [connection.id])
      // The store now holds the user and waits for the connection; the holder goes the other way.
      const change = store.connections.setStatus(connection.id, 'revoked')
      await untilWaiting(place)
      isStoreRefused = await holder
        .query('select 1 from users where id = $1 for update', [user.id])
        .then(() => true)
        .catch(() => false)
      await holder.query('rollback')
      await change
    }
    await holder.end()
    assert(isStoreRefused)
    assert.equal((await store.connections.find(connection.id))?.status, 'revoked')
    await store.close()
  })

  test('instants, bytes and booleans lie in columns of their types', async () => {
    const store = await place.open()
    const user = await addUser(store, { createdAt: now, grandfathered: true })
    const rows = await place.ask(
      `select pg_typeof(created_at)::text as at, pg_typeof(id)::text as id, grandfathered,
        to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') as text
        from users where id = '${user.id}'`,
    )
    assert.deepEqual(rows, [
      {
        at: 'timestamp with time zone',
        id: 'uuid',
        grandfathered: true,
        text: '2026-11-20T03:15:00.123',
      },
    ])
    await store.close()
  })

  test('a database role that may not create tables gets a clear error', async () => {
    const guarded = await makePlace()
    const role = `reader_${Date.now()}`
    await guarded.tamper(`create role ${role} login password '${role}'`)
    await guarded.tamper(`do $$ begin
      execute format('grant usage on schema %I to ${role}', current_schema()); end $$`)
    const url = new URL(guarded.databaseUrl)
    url.username = role
    url.password = role
    const opening = openStore({
      databaseUrl: url.href.replaceAll('+', '%20'),
      dataDir: '/unused',
      mode: 'live',
      encryptionKeys: [keyA],
    })
    await assert.rejects(opening, { name: 'StoreOpenError', reason: 'not_writable' })
    await guarded.remove()
    await place.tamper(`drop role ${role}`)
  })
}

/** Resolves when a session in the database of this run waits for a lock. */
async function untilWaiting({ ask }: PostgresPlace): Promise<void> {
  for (let look = 0; look < 200; look += 1) {
    const waiting = await ask(`select 1 from pg_locks join pg_stat_activity using (pid)
      where not granted and datname = current_database()`)
    if (waiting.length > 0) return
    await settle()
  }
  assert.fail('nobody waits')
}

/** Time for messages between processes of this machine to arrive. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 200))
}
