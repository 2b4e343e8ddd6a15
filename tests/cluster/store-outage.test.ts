/**
 * PostgreSQL unavailable, not answering, busy and back: every call ends in bounded time, and nothing needs a
 * restart.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client } from 'pg'
import { StoreOpenError, StoreUnavailableError } from '#store/failure.ts'
import { openStore } from '#store/open-store.ts'
import type { StoreChange } from '#store/ports/changes.ts'
import type { Store } from '#store/ports/store.ts'
import { keyA } from '#tests/contract/store/place.ts'
import { addKey, addUser } from '#tests/contract/store/rows.ts'
import { type CutLine, makeCutLine } from './cut-line.ts'
import { makePostgresGround, type PostgresGround, type PostgresPlace } from './postgres-place.ts'

const open = (databaseUrl: string) =>
  openStore({ databaseUrl, dataDir: '/unused', mode: 'live', encryptionKeys: [keyA] })

describe('an outage of PostgreSQL', () => {
  let ground: PostgresGround
  let place: PostgresPlace
  let line: CutLine
  let url: string

  before(async () => {
    ground = await makePostgresGround()
    place = await ground.makePlace()
    const server = new URL(place.databaseUrl)
    line = await makeCutLine({ host: server.hostname, port: Number(server.port || 5432) })
    server.hostname = '127.0.0.1'
    server.port = String(line.port)
    url = server.href.replaceAll('+', '%20')
  })
  after(async () => {
    await line?.close()
    await ground?.remove()
  })

  test('calls fail at once as unavailable, and work again when the server is back', async () => {
    const store = await open(url)
    const user = await addUser(store)
    const key = await addKey(store, user.id)
    await line.cut()
    const calls: readonly (() => Promise<unknown>)[] = [
      () => store.keys.findCaller(key.hash),
      () => store.users.find(user.id),
      () => store.users.setTimezone(user.id, 'Australia/Perth'),
      () => store.keys.touch(key.id, 1),
      () => store.ping(),
    ]
    for (const call of calls) await endsUnavailable(call, 3_000)
    await line.mend()
    for (const call of calls) await call()
    await store.close()
  })

  test('a restored connection for change notifications reports a change for all users', async () => {
    const store = await open(url)
    const forgotten = Promise.withResolvers<StoreChange>()
    store.onChange((change) => forgotten.resolve(change))
    await line.cut()
    await line.mend()
    assert.deepEqual(await forgotten.promise, { userId: null })
    // The new connection receives the notifications of another process.
    const other = await place.open()
    const heard = Promise.withResolvers<StoreChange>()
    store.onChange((change) => heard.resolve(change))
    const user = await addUser(other)
    assert.deepEqual(await heard.promise, { userId: user.id })
    await Promise.all([store.close(), other.close()])
  })

  test('a server that went silent costs bounded time, in calls and in closing', async () => {
    const store = await open(url)
    await store.ping()
    line.silence()
    await endsUnavailable(() => store.ping(), 14_000)
    const from = performance.now()
    await store.close()
    assert.ok(performance.now() - from < 7_000)
    await line.mend()
  })

  test('a statement that waits too long for a lock ends as unavailable', async () => {
    const store = await place.open()
    const user = await addUser(store)
    const holder = new Client({ connectionString: place.databaseUrl })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select 1 from users where id = $1 for update', [user.id])
    await endsUnavailable(() => store.users.setTimezone(user.id, 'Australia/Perth'), 12_000)
    await holder.query('rollback')
    await holder.end()
    assert.equal((await store.users.setTimezone(user.id, 'Australia/Perth'))?.id, user.id)
    await store.close()
  })

  test('a connection that the server ends between calls is replaced unnoticed', async () => {
    const store = await place.open()
    await store.ping()
    const ended = await place.ask(`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'tributary' and datname = current_database()`)
    assert.ok(ended.length > 0, 'no connection was there to end')
    await new Promise((resolve) => setTimeout(resolve, 300))
    await store.ping()
    await store.close()
  })

  test('a store whose server cannot be reached does not open, and says where, without a password', async () => {
    await line.cut()
    const secret = new URL(url)
    secret.username = 'someone'
    secret.password = 'hunter2'
    const from = performance.now()
    const error = await failureOf(open(secret.href))
    assert.equal(error.reason, 'unreachable')
    assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${line.port}`))
    assert.doesNotMatch(error.message, /hunter2/)
    assert.ok(performance.now() - from < 3_000)
    await line.mend()
  })

  test('a database that does not exist is named', async () => {
    const missing = new URL(place.databaseUrl)
    missing.pathname = '/no_such_database'
    const error = await failureOf(open(missing.href))
    assert.equal(error.reason, 'unreachable')
    assert.match(error.message, /no_such_database/)
  })
})

async function endsUnavailable(call: () => Promise<unknown>, withinMs: number): Promise<void> {
  const from = performance.now()
  await assert.rejects(call, StoreUnavailableError)
  const tookMs = performance.now() - from
  assert.ok(tookMs < withinMs, `it took ${tookMs} ms`)
}

async function failureOf(opening: Promise<Store>): Promise<StoreOpenError> {
  const error = await opening.then(
    (store) => store.close(),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof StoreOpenError, String(error))
  return error
}
