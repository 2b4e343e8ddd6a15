/** What operators see of users beside their rows: when they were seen, and how their connections are. */
import { type RawBuilder, sql } from 'kysely'
import type { UserId } from '#kernel/ids.ts'
import type { Db } from '../engine/tables.ts'
import type { UserStandingRow } from '../ports/users.ts'

/** Reads those of these users; one who is gone is left out. */
export async function readStandings(db: Db, ids: readonly UserId[]): Promise<UserStandingRow[]> {
  const count = (condition: RawBuilder<unknown>) =>
    sql<string | number>`(select count(*) from connections
      where connections.user_id = users.id and ${condition})`
  const rows = await db
    .selectFrom('users')
    .leftJoin('sessions', (join) => join.on(sql<boolean>`sessions.id = ${lastSession}`))
    .select(['users.id', 'sessions.last_seen_at as lastSeenAt'])
    .select([
      count(sql`connections.status = 'active'`).as('active'),
      count(sql`connections.status not in ('active', 'deleting')`).as('broken'),
    ])
    .select(
      sql<string | number>`(select count(*) from second_factors
        where second_factors.user_id = users.id) + (select count(*) from passkeys
        where passkeys.user_id = users.id)`.as('factors'),
    )
    .where('users.id', 'in', ids)
    .execute()
  return rows.map(({ active, broken, factors, ...row }) => ({
    ...row,
    activeConnections: Number(active),
    brokenConnections: Number(broken),
    hasSecondFactor: Number(factors) > 0,
  }))
}

const lastSession = sql`(select last.id from sessions as last
  where last.user_id = users.id order by last.last_seen_at desc, last.id desc limit 1)`
