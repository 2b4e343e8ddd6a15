/**
 * The audit: who did what to which user's data; entries are written once and never changed. Ids and names
 * only, no secret and no money data.
 */
import { randomUUID } from 'node:crypto'
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { addressOf, nameActor } from '#contract/actor.ts'
import {
  type AuditFacts,
  isAuditAction,
  parseFacts,
  refusedSignIn,
  signedIn,
  signedOut,
  toRecord,
} from '#contract/audit.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Write } from '../engine/engine.ts'
import { countChanged } from '../engine/rows.ts'
import { type Db, isBefore, moment } from '../engine/tables.ts'
import type {
  AuditEntry,
  AuditLog,
  AuditRow,
  ExtensionEntry,
  SweptEntries,
} from '../ports/audit.ts'
import { readSubject } from './former-subjects.ts'

export async function writeAudit(db: Db, entry: AuditEntry): Promise<void> {
  await writeEntry(db, { ...entry, ...toRecord(entry, entry.userId) })
}

/** Writes one entry. Processes of earlier versions read `subject` alone. */
export async function writeEntry(db: Db, entry: ExtensionEntry): Promise<void> {
  await db
    .insertInto('audit')
    .values({
      id: randomUUID(),
      at: moment(entry.at),
      actor: nameActor(entry.actor),
      address: addressOf(entry.actor),
      action: entry.action,
      user_id: entry.userId,
      subject: entry.subject,
      details: JSON.stringify(entry.details),
    })
    .execute()
}

/** The audit repository over `db`. */
export function makeAuditLog({ db, write }: { db: Db; write: Write }): AuditLog {
  return {
    async list({ userId, action, after, limit }) {
      let query = db
        .selectFrom('audit')
        .select([
          'id',
          'at',
          'actor',
          'address',
          'action',
          'user_id as userId',
          'subject',
          'details',
        ])
        .orderBy('at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
      if (userId !== null) query = query.where('user_id', '=', userId)
      if (action !== undefined) {
        const length = sql.lit(action.length)
        query = query.where(sql<boolean>`substr(action, 1, ${length}) = ${action}`)
      }
      if (after !== null) {
        query = query.where(sql<boolean>`(at, id) < (${moment(after.at)}, ${after.id})`)
      }
      const rows = await query.execute()
      return rows.map(({ details, ...row }) => ({ ...row, facts: readFacts(row, details) }))
    },
    sweep: (kind, { before, ofUser, ofNobody, limit }) =>
      write(async (tx) => {
        const ids = idsOf(tx, kind)
        const aged = ids.where(isBefore('at', before)).orderBy('at').limit(limit)
        let count = await deleteThese(tx, aged)
        for (const { userId, surplus } of await listOverBound(tx, kind, { ofUser, ofNobody })) {
          if (count >= limit) break
          const theirs = ids.where('user_id', 'is not distinct from', userId)
          const oldest = theirs.orderBy('at').orderBy('id').limit(Math.min(surplus, limit))
          count += await deleteThese(tx, oldest)
        }
        return count
      }),
  }
}

function readFacts(
  { action, subject }: Pick<AuditRow, 'action' | 'subject'>,
  details: string | null,
): AuditFacts | null {
  if (!isAuditAction(action)) return null
  if (details === null) return parseFacts(action, readSubject(action, subject))
  try {
    return parseFacts(action, JSON.parse(details))
  } catch {
    // It was changed by hand.
    return null
  }
}

/** The actions are literals, not parameters: the partial indexes require it (migrations 0006 and 0007). */
const isOf: Readonly<Record<SweptEntries, RawBuilder<SqlBool>>> = {
  refusals: sql`action = ${sql.lit(refusedSignIn)}`,
  sessions: sql`action in (${sql.lit(signedIn)}, ${sql.lit(signedOut)})`,
}

function idsOf(tx: Db, kind: SweptEntries) {
  return tx.selectFrom('audit').select('id').where(isOf[kind])
}

async function deleteThese(tx: Db, ids: ReturnType<typeof idsOf>): Promise<number> {
  return countChanged(tx.deleteFrom('audit').where('id', 'in', ids))
}

const maxCrowded = 100

/** The users over their bound and by how many entries; null means without a user. */
async function listOverBound(
  tx: Db,
  kind: SweptEntries,
  bounds: { readonly ofUser: number; readonly ofNobody: number },
): Promise<readonly { readonly userId: UserId | null; readonly surplus: number }[]> {
  const rows = await tx
    .selectFrom('audit')
    .select(['user_id as userId', sql<number | string>`count(*)`.as('count')])
    .where(isOf[kind])
    .groupBy('user_id')
    .having(
      sql<boolean>`count(*) > case when user_id is null then ${sql.lit(bounds.ofNobody)} else ${sql.lit(bounds.ofUser)} end`,
    )
    .limit(maxCrowded)
    .execute()
  return rows.map(({ userId, count }) => ({
    userId,
    surplus: Number(count) - (userId === null ? bounds.ofNobody : bounds.ofUser),
  }))
}
