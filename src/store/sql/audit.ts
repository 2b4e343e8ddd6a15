/**
 * The audit: who did what to whose things, written and never changed. Ids and names only, no secret and no money data.
 */
import { randomUUID } from 'node:crypto'
import type { AuditEntry } from '../port.ts'
import { type Db, moment } from './tables.ts'

/** Writes one entry. */
export async function writeAudit(db: Db, entry: AuditEntry): Promise<void> {
  await db
    .insertInto('audit')
    .values({
      id: randomUUID(),
      at: moment(entry.at),
      actor: entry.actor,
      action: entry.action,
      user_id: entry.userId,
      subject: entry.subject,
    })
    .execute()
}
