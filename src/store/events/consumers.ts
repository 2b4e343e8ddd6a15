/**
 * Feeds and their consumers (`migrations/0023_event_consumers.sql`). The user's row is locked before a feed
 * changes, as for every write of events, so positions are committed in their order.
 */
import { sql } from 'kysely'
import { sightMark } from '#contract/event-query.ts'
import { type ConsumerId, type FeedId, newId, type UserId } from '#kernel/ids.ts'
import type { Engine, RepositoryOptions } from '../engine/engine.ts'
import { type Db, moment } from '../engine/tables.ts'
import { demandUser } from '../people/users.ts'
import type {
  ConsumerBounds,
  ConsumerState,
  ConsumerStore,
  NewConsumer,
} from '../ports/consumers.ts'

const columns = [
  'event_consumers.id',
  'event_consumers.user_id as userId',
  'event_consumers.name',
  'event_consumers.acknowledged',
  'event_consumers.created_at as createdAt',
  'event_consumers.asked_at as askedAt',
] as const

/** Consumers on either engine. */
export function makeConsumerStore({ engine, write }: RepositoryOptions): ConsumerStore {
  const { db, queries } = engine
  return {
    async find(userId, name) {
      const row = await engine.findRow(queries.compile(selectState, db, { userId, name }))
      return row === undefined ? null : toState(row)
    },
    async get(id) {
      const query = db.selectFrom('event_consumers').select(columns).where('id', '=', id)
      return (await query.executeTakeFirst()) ?? null
    },
    async findFeed(userId) {
      const query = db.selectFrom('event_feeds').select(['id', 'last_position as lastPosition'])
      return (await query.where('user_id', '=', userId).executeTakeFirst()) ?? null
    },
    async renewFeed(userId, id) {
      await db
        .updateTable('event_feeds')
        .set({ id: newId<FeedId>() })
        .where('user_id', '=', userId)
        .where('id', '=', id)
        .execute()
    },
    create: (consumer, bounds) => write((tx) => create(engine, tx, consumer, bounds)),
    list: (userId) => list(db, userId),
    count: (userId) => countOf(db, userId),
    async acknowledge(id, { position, at }) {
      await db
        .updateTable('event_consumers')
        .set({
          acknowledged: sql<number>`case when acknowledged < ${position} then ${position} else acknowledged end`,
          asked_at: moment(at),
        })
        .where('id', '=', id)
        .execute()
    },
    async delete(id) {
      await db.deleteFrom('event_consumers').where('id', '=', id).execute()
    },
    async listAfter(userId, position, limit) {
      const query = queries.compile(selectAfter, db, { userId, position, limit })
      const { rows } = await db.executeQuery(query)
      return rows.map(({ position: at, shredding, shreddedAt, ...row }) => ({
        ...row,
        position: at ?? 0,
        isKept: !shredding && shreddedAt === null,
      }))
    },
    async findKept(userId, position) {
      const row = await selectFeed(db, userId, position)
        .select('position')
        .where('shredding', '=', false)
        .where('shredded_at', 'is', null)
        .limit(1)
        .executeTakeFirst()
      return row?.position ?? null
    },
  }
}

const selectState = (
  db: Db,
  { userId, name }: { readonly userId: UserId; readonly name: string },
) =>
  db
    .selectFrom('event_consumers')
    .innerJoin('event_feeds', 'event_feeds.user_id', 'event_consumers.user_id')
    .select([...columns, 'event_feeds.id as feedId', 'event_feeds.last_position as lastPosition'])
    .where('event_consumers.user_id', '=', userId)
    .where('event_consumers.name', '=', name)

type StateRow = ConsumerState['consumer'] & {
  readonly feedId: FeedId
  readonly lastPosition: number
}

function toState({ feedId, lastPosition, ...consumer }: StateRow): ConsumerState {
  return { consumer, feed: { id: feedId, lastPosition } }
}

async function create(
  engine: Engine,
  tx: Db,
  { userId, name, createdAt }: NewConsumer,
  bounds: ConsumerBounds,
): ReturnType<ConsumerStore['create']> {
  // The lock on the user's row serialises concurrent calls, so the counts stay correct.
  await demandUser(engine, tx, userId)
  const found = await selectState(tx, { userId, name }).executeTakeFirst()
  if (found !== undefined) return toState(found)
  const full = await findFull(tx, { userId, name }, bounds)
  if (full !== null) return full
  await tx
    .insertInto('event_feeds')
    .values({ user_id: userId, id: newId<FeedId>(), last_position: 0 })
    .onConflict((conflict) => conflict.column('user_id').doNothing())
    .execute()
  await tx
    .insertInto('event_consumers')
    .values({
      id: newId<ConsumerId>(),
      user_id: userId,
      name,
      acknowledged: sql<number>`(
        select last_position from event_feeds where event_feeds.user_id = ${userId}
      )`,
      created_at: moment(createdAt),
      asked_at: moment(createdAt),
    })
    .execute()
  return toState(await selectState(tx, { userId, name }).executeTakeFirstOrThrow())
}

async function list(db: Db, userId: UserId): ReturnType<ConsumerStore['list']> {
  const rows = await db
    .selectFrom('event_consumers')
    .select(columns)
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const waiting = await countWaiting(db, userId)
  return rows.map((row) => ({ ...row, waiting: waiting.get(row.id) ?? 0 }))
}

/**
 * One pass over the feed, however many consumers there are: from its end back, a consumer stands before
 * the event that it has acknowledged last, and the kept events up to there are those that wait for it.
 */
async function countWaiting(db: Db, userId: UserId): Promise<ReadonlyMap<ConsumerId, number>> {
  const { rows } = await sql<{ id: ConsumerId; waiting: number | string }>`
    select id, waiting from (
      select id, sum(kept) over (
        order by position desc, kept rows between unbounded preceding and current row
      ) as waiting
      from (
        select id, acknowledged as position, 0 as kept from event_consumers where user_id = ${userId}
        union all
        select null as id, position, 1 as kept from events
        where user_id = ${userId} and ${isInFeed} and shredding = false and shredded_at is null
          and position > (select min(acknowledged) from event_consumers where user_id = ${userId})
      ) as marks
    ) as counted
    where id is not null
  `.execute(db)
  // PostgreSQL sums to int8, which `pg` returns as text.
  return new Map(rows.map(({ id, waiting }) => [id, Number(waiting)]))
}

async function countOf(db: Db, userId: UserId): Promise<number> {
  const { count } = await db
    .selectFrom('event_consumers')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/**
 * The bound that one more consumer would pass. Those of a sight are counted apart: what is not seen takes
 * none of their places, until the user has as many as all together may be.
 */
async function findFull(
  db: Db,
  { userId, name }: Pick<NewConsumer, 'userId' | 'name'>,
  { ofSight, inAll }: ConsumerBounds,
): Promise<'too_many_of_sight' | 'too_many' | null> {
  const rows = await db
    .selectFrom('event_consumers')
    .select('name')
    .where('user_id', '=', userId)
    .execute()
  const same = rows.filter((row) => sightIn(row.name) === sightIn(name))
  if (same.length >= ofSight) return 'too_many_of_sight'
  return rows.length >= inAll ? 'too_many' : null
}

/** What a consumer's name says of its sight; empty: everything is seen. */
function sightIn(name: string): string {
  const mark = name.indexOf(sightMark)
  return mark === -1 ? '' : name.slice(mark)
}

/** The words of the partial index: both engines must recognise them. */
const isInFeed = sql<boolean>`position is not null`

function selectFeed(db: Db, userId: UserId, position: number) {
  return db
    .selectFrom('events')
    .where('user_id', '=', userId)
    .where(isInFeed)
    .where('position', '>', position)
    .orderBy('position')
}

interface After {
  readonly userId: UserId
  readonly position: number
  readonly limit: number
}

const selectAfter = (db: Db, { userId, position, limit }: After) =>
  selectFeed(db, userId, position)
    .select([
      'id',
      'position',
      'type',
      'connection_id as connectionId',
      'size',
      'shredding',
      'shredded_at as shreddedAt',
    ])
    .limit(limit)

/**
 * Makes room in the user's feed for this many events; `found` is called if they have one, with the next
 * result of the transaction. The caller has locked the user's row.
 */
export async function advanceFeed(
  engine: Engine,
  tx: Db,
  { userId, by, found }: { readonly userId: UserId; readonly by: number; found: () => void },
): Promise<void> {
  await engine.later(tx, engine.queries.compile(advance, tx, { userId, by }), {
    check(rows) {
      if (rows.length > 0) found()
    },
  })
}

const advance = (tx: Db, { userId, by }: { readonly userId: UserId; readonly by: number }) =>
  tx
    .updateTable('event_feeds')
    .set((set) => ({ last_position: set('last_position', '+', by) }))
    .where('user_id', '=', userId)
    .returning('user_id as userId')

/**
 * The position of an event that is followed by `behind` others of those that the feed was advanced by. Null:
 * it is not in the feed.
 */
export function feedPosition(userId: UserId, behind: number | null) {
  return sql<number | null>`(
    select last_position - ${behind} from event_feeds where event_feeds.user_id = ${userId}
  )`
}

/** An event that a consumer of its user has not acknowledged. */
export const isUnread = sql<boolean>`exists (
  select 1 from event_consumers
  where event_consumers.user_id = events.user_id and event_consumers.acknowledged < events.position
)`
