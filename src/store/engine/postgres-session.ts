/**
 * Whether a connection to PostgreSQL keeps its session. Behind a pooler that lends a server's session for one
 * transaction (PgBouncer, `pool_mode = transaction`) it does not: LISTEN hears nothing, limits and prepared
 * statements are those of whoever had the session before.
 */
import { randomUUID } from 'node:crypto'
import { type Kysely, sql } from 'kysely'

/**
 * One connection marks its session. A pooler shows itself either at that connection, which does not find its
 * mark in its next transaction, or at another one, which was lent the session that is free meanwhile and
 * finds it there.
 */
export function keepsSession<Tables>(db: Kysely<Tables>): Promise<boolean> {
  const mark = randomUUID()
  return db.connection().execute(async (own) => {
    await sql`select set_config('tributary.session', ${mark}, false)`.execute(own)
    if ((await readMark(own)) !== mark || !(await allowsTransactions(own))) return false
    return db.transaction().execute(async (other) => (await readMark(other)) !== mark)
  })
}

/** What lends a session for one statement (PgBouncer, `pool_mode = statement`) ends the connection. */
async function allowsTransactions<Tables>(db: Kysely<Tables>): Promise<boolean> {
  try {
    // Not `begin`, which would be sent together with the next statement.
    await sql`start transaction`.execute(db)
    await sql`rollback`.execute(db)
    return true
  } catch (error) {
    if (error instanceof Error && error.message.includes('statement pooling')) return false
    throw error
  }
}

async function readMark<Tables>(db: Kysely<Tables>): Promise<string | null> {
  const { rows } = await sql<{ mark: string | null }>`
    select current_setting('tributary.session', true) as mark
  `.execute(db)
  return rows[0]?.mark ?? null
}
