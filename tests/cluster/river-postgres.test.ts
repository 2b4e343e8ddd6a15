/**
 * The event river of several processes on one PostgreSQL, and the schema that its keys have to themselves.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { newId, type UserId } from '#kernel/ids.ts'
import { openStore } from '#store/open-store.ts'
import type { StoreChange, WorkKind } from '#store/ports/changes.ts'
import type { Store } from '#store/ports/store.ts'
import {
  accept,
  acceptChunks,
  addEndpoint,
  claimEndpoint,
  deliverAll,
  newEvent,
  recordAs,
} from '#tests/contract/store/event-rows.ts'
import { keyA } from '#tests/contract/store/place.ts'
import {
  raceEndpointClaims,
  raceLedger,
  raceRelease,
  raceRiverDeletion,
  raceShred,
  raceSyncClaims,
} from '#tests/contract/store/river-races.ts'
import { addLink, now } from '#tests/contract/store/rows.ts'
import { until } from './kv-stage.ts'
import { makePostgresGround, type PostgresPlace } from './postgres-place.ts'

const run = promisify(execFile)
const ground = await makePostgresGround()

let place: PostgresPlace
let one: Store
let two: Store
before(async () => {
  place = await ground.makePlace()
  one = await place.open()
  two = await place.open()
})
after(async () => {
  await one?.close()
  await two?.close()
  await ground.remove()
})

const races = {
  'two processes that claim the same syncs never run one twice': raceSyncClaims,
  'two processes that claim one endpoint never hold it both': raceEndpointClaims,
  'an event that one process accepts while the other releases the endpoint is delivered':
    raceRelease,
  'R33: an event that one process replays is not shredded by the other': raceShred,
  'R34b: a ledger that one process ends is not written by the other': raceLedger,
  'nothing is sent for a user whose deletion one process began': raceRiverDeletion,
}
for (const [name, race] of Object.entries(races))
  test(name, async () => {
    for (let round = 0; round < 12; round += 1) await race(one, two)
  })

test('due work of one process is announced in the other, and its own work only once', async () => {
  const { user, connection } = await addLink(one)
  await addEndpoint(one, user.id)
  const [own, theirs]: [WorkKind[], WorkKind[]] = [[], []]
  await quiet([one, two])
  const stops = [one.onWork((kind) => own.push(kind)), two.onWork((kind) => theirs.push(kind))]
  await one.syncs.request(connection.id, { at: now, reason: 'operator' })
  await until(() => theirs.length === 1)
  await acceptChunks(one, user.id, connection.id, 3)
  await until(() => theirs.length === 2)
  assert.deepEqual(theirs, ['sync', 'delivery'])
  // A message that comes later proves that none of before is still on its way.
  await two.syncs.request(connection.id, { at: now, reason: 'operator' })
  await until(() => own.length === 3)
  assert.deepEqual(own, ['sync', 'delivery', 'sync'])
  for (const stop of stops) stop()
})

test('messages of processes of an older version are understood, and due work by its kind', async () => {
  const [changes, kinds]: [StoreChange[], WorkKind[]] = [[], []]
  await quiet([one])
  const stops = [one.onChange((change) => changes.push(change)), one.onWork((k) => kinds.push(k))]
  const userId = newId<UserId>()
  await notify(userId)
  await notify('delivery')
  await until(() => kinds.length > 0)
  assert.deepEqual([changes, kinds], [[{ userId }], ['delivery']])
  for (const stop of stops) stop()
})

test('after the connection between the processes was cut, every kind of work is looked for', async () => {
  const kinds = new Set<WorkKind>()
  const stop = one.onWork((kind) => kinds.add(kind))
  await place.ask(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
    and backend_type = 'client backend'`)
  await until(() => kinds.size === 4)
  assert.deepEqual([...kinds].sort(), ['connection-event', 'delivery', 'mail', 'sync'])
  stop()
})

test('R33: the documented dump contains no key: a restored store decrypts no payload and works', async (t) => {
  const [source, target] = [await makePostgresGround(), await makePostgresGround()]
  const folder = await mkdtemp(join(tmpdir(), 'tributary-river-'))
  t.after(async () => {
    await Promise.all([source.remove(), target.remove()])
    await rm(folder, { recursive: true, force: true })
  })
  const old = await source.makePlace()
  const store = await old.open()
  const { user, connection } = await addLink(store)
  const { id } = await addEndpoint(store, user.id)
  const event = newEvent(user.id, connection.id)
  await accept(store, [event])
  await store.close()
  const file = join(folder, 'tributary.dump')
  const dump = ['--format=custom', '--exclude-schema=*_event_keys', `--file=${file}`]
  await run('pg_dump', [...dump, old.databaseUrl])
  const url = new URL((await target.makePlace()).databaseUrl)
  await run('pg_restore', ['--no-owner', `--dbname=${url.href}`, file])
  url.search = new URL(old.databaseUrl).search
  const restored = await openStore({
    databaseUrl: url.href.replaceAll('+', '%20'),
    dataDir: '/unused',
    mode: 'live',
    encryptionKeys: [keyA],
  })
  assert.equal(await restored.events.open(event.id), null)
  const claimed = await claimEndpoint(restored, id)
  const [due] = await restored.deliveries.listDue(id, { now, limit: 1 })
  assert.ok(claimed && due)
  await recordAs(restored, claimed.lease, due.id, { decision: { kind: 'exhausted' } })
  await restored.deliveries.release(claimed.lease, { now, notBefore: now })
  const next = newEvent(user.id, connection.id)
  await accept(restored, [next])
  assert.deepEqual(await deliverAll(restored, id), [next.id])
  assert.notEqual(await restored.events.open(next.id), null)
  await restored.close()
})

test('a role that may not create the schema of the keys gets its name in the error, and may use a schema created for it', async () => {
  const guarded = await ground.makePlace()
  const role = `river_${randomUUID().replaceAll('-', '')}`
  // The role of the tests is no superuser: it may act for another role only as its member.
  await guarded.tamper(`create role ${role} login password '${role}'`)
  await guarded.tamper(`grant ${role} to current_user`)
  await guarded.tamper(`do $$ begin
    execute format('grant usage, create on schema %I to ${role}', current_schema()); end $$`)
  const url = new URL(guarded.databaseUrl)
  url.username = role
  url.password = role
  const databaseUrl = url.href.replaceAll('+', '%20')
  const options = { databaseUrl, dataDir: '/unused', mode: 'live', encryptionKeys: [keyA] } as const
  const [{ schema } = {}] = await guarded.ask('select current_schema() as schema')
  await assert.rejects(openStore(options), (error) => {
    assert.ok(error instanceof Error && 'reason' in error)
    assert.equal(error.reason, 'not_writable')
    assert.match(error.message, new RegExp(`"${schema}_event_keys".*CREATE on the database`))
    return true
  })
  assert.deepEqual(await guarded.ask("select to_regclass('users') as made"), [{ made: null }])
  await guarded.ask(`create schema ${schema}_event_keys authorization ${role}`)
  await (await openStore(options)).close()
  await guarded.remove()
  await guarded.ask(`drop owned by ${role}; drop role ${role}`)
})

test('two stores whose schemas have long names in one database keep their keys apart', async () => {
  const long = 'x'.repeat(60)
  const stores: Store[] = []
  for (const schema of [`${long}_a`, `${long}_b`]) {
    await place.ask(`create schema ${schema}`)
    const url = new URL(place.databaseUrl)
    url.searchParams.set('options', `-c search_path=${schema}`)
    const databaseUrl = url.href.replaceAll('+', '%20')
    const options = { dataDir: '/unused', mode: 'live', encryptionKeys: [keyA] } as const
    stores.push(await openStore({ ...options, databaseUrl }))
  }
  const [first, second] = stores
  assert.ok(first && second)
  const event = newEvent(newId<UserId>(), null, { createdAt: 1000 })
  await first.events.seal([event])
  assert.equal(await second.events.sweepKeys({ before: 2000, limit: 10 }), 0)
  assert.equal(await first.events.sweepKeys({ before: 2000, limit: 10 }), 1)
  for (const store of stores) await store.close()
})

/** A message of another process. */
async function notify(about: string): Promise<void> {
  const [{ schema } = {}] = await place.ask('select current_schema() as schema')
  const digest = createHash('sha256').update(String(schema)).digest('hex').slice(0, 16)
  await place.ask(`select pg_notify('tributary_${digest}', '${randomUUID()} ${about}')`)
}

/** Resolves when what was announced so far has arrived everywhere. */
async function quiet(stores: readonly Store[]): Promise<void> {
  for (const store of stores) {
    const told = Promise.withResolvers<void>()
    const userId = newId<UserId>()
    const stop = store.onChange((change) => {
      if (change.userId === userId) told.resolve()
    })
    await notify(userId)
    await told.promise
    stop()
  }
}
