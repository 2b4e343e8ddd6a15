/**
 * The wrapped keys of events in their separate place: durable before their events are accepted, destroyed
 * before their payloads. This file handles no payload.
 */
import { type Insertable, sql } from 'kysely'
import type { EventId } from '#kernel/ids.ts'
import { inBatches } from '../engine/batches.ts'
import type { Engine, RepositoryOptions } from '../engine/engine.ts'
import { type Db, isBefore, moment, type Tables } from '../engine/tables.ts'
import type { NewEvent } from '../ports/events.ts'
import type { SealedSecret, Sealer } from '../seal.ts'
import { type EventKey, makeEventKey, unwrapKey, wrapKey } from './event-seal.ts'

interface Parts {
  readonly engine: Engine
  readonly sealer: Sealer
}

/** Creates a key for each event, in order. They are durable when this resolves. */
export async function addKeys(
  { engine, sealer }: Parts,
  events: readonly Pick<NewEvent, 'id' | 'createdAt'>[],
): Promise<readonly EventKey[]> {
  return inBatches(events, async (batch) => {
    const made = batch.map(({ id, createdAt }) => ({ id, createdAt, key: makeEventKey() }))
    const rows = made.map(({ id, createdAt, key }) => ({
      event_id: id,
      created_at: moment(createdAt),
      ...wrapKey(sealer, id, key),
    }))
    const keys = engine.keysOf(engine.db)
    await keys.executeQuery(engine.queries.compile(insertKeys, keys, { rows }))
    return made.map(({ key }) => key)
  })
}

/** The keys that exist. @throws SealError when one cannot be decrypted. */
export async function readKeys(
  { engine, sealer }: Parts,
  ids: readonly EventId[],
): Promise<ReadonlyMap<EventId, EventKey>> {
  const wrapped = await readWrappedKeys(engine, ids)
  return new Map([...wrapped].map(([id, row]) => [id, unwrapKey(sealer, id, row)]))
}

/** As `readKeys`, not decrypted: one that cannot be decrypted affects its own event alone. */
export async function readWrappedKeys(
  engine: Engine,
  ids: readonly EventId[],
): Promise<ReadonlyMap<EventId, SealedSecret>> {
  const keys = engine.keysOf(engine.db)
  const rows = await inBatches(ids, async (batch) => {
    const query = engine.queries.compile(selectKeys, keys, { ids: batch })
    return (await keys.executeQuery(query)).rows
  })
  return new Map(rows.map((row) => [row.id, row]))
}

/** These keys cannot be deleted until the transaction `tx` ends. `missing` throws: one is gone. */
export async function holdKeys(
  { kind, queries, keysOf, later }: Engine,
  tx: Db,
  ids: readonly EventId[],
  missing: () => never,
): Promise<void> {
  await inBatches(ids, async (batch) => {
    const keys = keysOf(tx)
    const check = (rows: readonly unknown[]) => {
      if (rows.length !== batch.length) missing()
    }
    const hold = kind === 'postgres' ? selectForShare : selectIds
    await later(keys, queries.compile(hold, keys, { ids: batch }), { check })
    return []
  })
}

interface KeyIds {
  readonly [name: string]: readonly EventId[]
  readonly ids: readonly EventId[]
}

const selectKeys = (keys: Db, { ids }: KeyIds) =>
  keys
    .selectFrom('event_keys')
    .select(['event_id as id', 'secret', 'secret_key as secretKey'])
    .where('event_id', 'in', ids)

const selectIds = (keys: Db, { ids }: KeyIds) =>
  keys.selectFrom('event_keys').select('event_id').where('event_id', 'in', ids)

const selectForShare = (keys: Db, given: KeyIds) => selectIds(keys, given).forKeyShare()

type NewKey = Insertable<Tables['event_keys']>

const insertKeys = (keys: Db, { rows }: { readonly rows: readonly NewKey[] }) =>
  keys.insertInto('event_keys').values(rows)

/** Deletes the keys, and removes them from the engine's own log where the engine can. */
export async function destroyKeys(engine: Engine, ids: readonly EventId[]): Promise<void> {
  await inBatches(ids, async (batch) => {
    await engine.keysOf(engine.db).deleteFrom('event_keys').where('event_id', 'in', batch).execute()
    return []
  })
  await engine.scrubKeys()
}

interface KeyPlace {
  readonly createdAt: number
  readonly id: EventId
}

/**
 * Destroys keys that are older than `before` and belong to no event, page by page; about `limit` per call. An
 * event that is accepted at the same time either keeps its key from being swept, or is refused because the
 * key is gone.
 */
export async function sweepOrphans(
  { engine, write }: RepositoryOptions,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<number> {
  let swept = 0
  let after: KeyPlace | null = null
  // Every page is after the previous one, so the loop ends with the table.
  while (swept < limit) {
    const page: readonly KeyPlace[] = await listKeys(engine, before, after)
    const last = page.at(-1)
    if (last === undefined) break
    after = last
    const ids = page.map(({ id }) => id)
    swept += await write((tx) => destroyOrphans(engine, tx, ids))
  }
  if (swept > 0) await engine.scrubKeys()
  return swept
}

const pageRows = 500

function listKeys({ db, keysOf }: Engine, before: number, after: KeyPlace | null) {
  const page = keysOf(db)
    .selectFrom('event_keys')
    .select(['event_id as id', 'created_at as createdAt'])
    .where(isBefore('created_at', before))
    .orderBy('created_at')
    .orderBy('event_id')
    .limit(pageRows)
  if (after === null) return page.execute()
  const place = sql<boolean>`(created_at, event_id) > (${moment(after.createdAt)}, ${after.id})`
  return page.where(place).execute()
}

/** In one transaction: SQLite has one writer; PostgreSQL locks the keys before it looks their events up. */
async function destroyOrphans(
  { kind, keysOf }: Engine,
  tx: Db,
  ids: readonly EventId[],
): Promise<number> {
  const keys = keysOf(tx)
  const held = keys.selectFrom('event_keys').select('event_id as id').where('event_id', 'in', ids)
  const rows = await (kind === 'postgres' ? held.forUpdate().skipLocked() : held).execute()
  if (rows.length === 0) return 0
  const present = await tx
    .selectFrom('events')
    .select('id')
    .where(
      'id',
      'in',
      rows.map(({ id }) => id),
    )
    .execute()
  const owned = new Set(present.map(({ id }) => id))
  const orphans = rows.map(({ id }) => id).filter((id) => !owned.has(id))
  if (orphans.length === 0) return 0
  await keys.deleteFrom('event_keys').where('event_id', 'in', orphans).execute()
  return orphans.length
}
