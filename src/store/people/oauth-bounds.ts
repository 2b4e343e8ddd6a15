/**
 * Bounds the rows that unauthenticated callers create in the authorization server: requests that wait for a
 * person, and clients that were never used. At the total bound, rows of the network with the most are
 * deleted, so that nobody can lock others out by filling the table.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Engine } from '../engine/engine.ts'
import { type Db, isAfter } from '../engine/tables.ts'
import type { NewOAuthRow, OAuthStore } from '../ports/oauth.ts'
import { networkBytes } from '../ports/oauth.ts'

type Bounds = Parameters<OAuthStore['savePending']>[1]

/** The largest number of rows deleted by one statement, so that a sweep locks the store only briefly. */
const mostAtOnce = 10_000

/** The model is a literal, not a parameter, because the partial indexes for this query require it. */
const isWaiting = (at: number) =>
  sql<boolean>`(model = 'Interaction' and ${isAfter('expires_at', at)})`

const isOfOrigin = (origin: Uint8Array | null) =>
  origin === null ? sql<boolean>`origin is null` : sql<boolean>`origin = ${origin}`

/**
 * The part of a request's origin that all addresses of its network share, as `oauth_requests_of_network` has
 * it: that index alone answers what is asked of it.
 */
const network = sql<Uint8Array>`substr(origin, 1, ${sql.lit(networkBytes)})`

interface Admission {
  readonly engine: Engine
  readonly tx: Db
}

/** Checks the bounds for one more waiting request and makes room, in the transaction that stores it. */
export async function admitPending(
  { engine, tx }: Admission,
  { origin }: Pick<NewOAuthRow, 'origin'>,
  { at, ofOrigin, inAll }: Bounds,
): Promise<'kept' | 'origin_full' | 'full'> {
  const waiting = isWaiting(at)
  if ((await count(tx, sql`${isOfOrigin(origin)} and ${waiting}`, ofOrigin)) >= ofOrigin) {
    return 'origin_full'
  }
  if ((await count(tx, waiting, inAll)) < inAll) return 'kept'
  return origin !== null && (await takePlace({ engine, tx }, origin, waiting)) ? 'kept' : 'full'
}

/**
 * Deletes the oldest request of the network with the most; false when the new request's network has as many,
 * or when there was none that no other transaction deletes.
 */
async function takePlace(
  { engine, tx }: Admission,
  origin: Uint8Array,
  waiting: RawBuilder<boolean>,
): Promise<boolean> {
  const networks = await sql<{ network: Uint8Array; count: number | string }>`
    select ${network} as network, count(*) as count from oauth_rows
    where ${waiting} and ${network} is not null group by ${network} order by count(*) desc limit 1
  `.execute(tx)
  const [largest] = networks.rows
  if (largest === undefined) return false
  const own = origin.slice(0, networkBytes)
  const most = Number(largest.count)
  if ((await count(tx, sql`${network} = ${own} and ${waiting}`, most)) + 1 >= most) return false
  // Each transaction takes a row of its own and waits for none. SQLite has a single writer.
  const free = engine.kind === 'postgres' ? sql`for update skip locked` : sql``
  const { numAffectedRows } = await sql`
    delete from oauth_rows where id = (
      select id from oauth_rows where ${network} = ${largest.network} and ${waiting}
      order by expires_at, id limit 1 ${free}
    )
  `.execute(tx)
  return numAffectedRows === 1n
}

/** Counts the rows, reading at most `limit` of them. */
async function count(tx: Db, condition: RawBuilder<unknown>, limit: number): Promise<number> {
  const rows = sql`select 1 from oauth_rows where ${condition} limit ${limit}`
  const counted = await sql<{ count: number | string }>`
    select count(*) as count from (${rows}) as found
  `.execute(tx)
  return Number(counted.rows[0]?.count ?? 0)
}

/** Deletes the oldest never used clients of an origin, except its newest `keep`. */
export async function trimClients(db: Db, origin: Uint8Array, keep: number): Promise<void> {
  const ofOrigin = db
    .selectFrom('oauth_rows')
    .select('id')
    .where('origin', '=', origin)
    .where('model', '=', 'Client')
    .where('used_at', 'is', null)
  const newest = ofOrigin.orderBy('created_at', 'desc').orderBy('id').limit(keep)
  await db
    .deleteFrom('oauth_rows')
    .where('id', 'in', ofOrigin)
    .where('id', 'not in', newest)
    .execute()
}

/** Deletes never used clients beyond `keep`: the newest of every network stays first, then the second. */
export async function trimUnusedClients(db: Db, keep: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from oauth_rows where id in (
      select id from (
        select id, created_at, row_number() over (
          partition by ${network} order by created_at desc, id
        ) as place
        from oauth_rows
        where origin is not null and model = 'Client' and used_at is null
      ) as ranked
      order by place, created_at desc, id limit ${mostAtOnce} offset ${keep}
    )
  `.execute(db)
  return Number(numAffectedRows ?? 0)
}
