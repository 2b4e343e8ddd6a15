/**
 * Browsers in which somebody is signed in, and the hashes of their passwords. Which session is still good is judged by
 * whoever holds the clock; here old ones are only swept.
 */
import { newId, type SessionId } from '#kernel/ids.ts'
import type { SessionStore } from '../session-port.ts'
import { type Db, isBefore, moment } from './tables.ts'

const columns = [
  'id',
  'user_id as userId',
  'created_at as createdAt',
  'signed_in_at as signedInAt',
  'last_seen_at as lastSeenAt',
] as const

/** Rows that one statement sweeps: a sweep must not hold the store for long. */
const sweepBatch = 500

/** The session repository over `db`. */
export function makeSessionStore(db: Db): SessionStore {
  return {
    create: ({ userId, hash, at }) =>
      db
        .insertInto('sessions')
        .values({
          id: newId<SessionId>(),
          user_id: userId,
          hash,
          created_at: moment(at),
          signed_in_at: moment(at),
          last_seen_at: moment(at),
        })
        .returning(columns)
        .executeTakeFirstOrThrow(),
    async find(hash) {
      const row = await db
        .selectFrom('sessions')
        .select(columns)
        .where('hash', '=', hash)
        .executeTakeFirst()
      return row ?? null
    },
    async touch(id, at) {
      await db
        .updateTable('sessions')
        .set({ last_seen_at: moment(at) })
        .where('id', '=', id)
        .where(isBefore('last_seen_at', at))
        .execute()
    },
    async delete(userId, id) {
      const { numDeletedRows } = await db
        .deleteFrom('sessions')
        .where('user_id', '=', userId)
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      return numDeletedRows > 0n
    },
    async deleteAll(userId) {
      await db.deleteFrom('sessions').where('user_id', '=', userId).execute()
    },
    async sweep({ seenBefore, createdBefore }) {
      // One statement for each bound: either is a range over its own index, both in one would read the whole table.
      const idle = await deleteBefore(db, 'last_seen_at', seenBefore)
      return idle + (await deleteBefore(db, 'created_at', createdBefore))
    },
    async setPassword(userId, hash) {
      const { numUpdatedRows } = await db
        .updateTable('users')
        .set({ password_hash: hash })
        .where('id', '=', userId)
        .executeTakeFirstOrThrow()
      return numUpdatedRows > 0n
    },
    async findPassword(userId) {
      const row = await db
        .selectFrom('users')
        .select('password_hash')
        .where('id', '=', userId)
        .executeTakeFirst()
      return row?.password_hash ?? null
    },
  }
}

async function deleteBefore(
  db: Db,
  column: 'last_seen_at' | 'created_at',
  ms: number,
): Promise<number> {
  const old = db.selectFrom('sessions').select('id').where(isBefore(column, ms)).limit(sweepBatch)
  const { numDeletedRows } = await db
    .deleteFrom('sessions')
    .where('id', 'in', old)
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
