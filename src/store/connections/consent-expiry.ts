/**
 * When consents end: stored with the connection, and found by time for the notices that people get before.
 */
import { sql } from 'kysely'
import type { ConnectionId } from '#kernel/ids.ts'
import { type Db, isAfter, isBefore, isNot, moment, momentOrNull } from '../engine/tables.ts'
import type { ConnectionRow, ConnectionStore, ExpiringConnection } from '../ports/connections.ts'

type Page = Parameters<ConnectionStore['listExpiring']>[0]

/** Restricts a query of connections to those whose consent ends before a time, in the order of the port. */
export function whereExpiring({ before, after }: Omit<Page, 'limit'>) {
  const isIn = isBefore('consent_expires_at', before)
  // A consent that was withdrawn has ended already.
  const isLiving = sql<boolean>`status not in ('deleting', 'revoked')`
  if (after === null) return sql<boolean>`(${isIn} and ${isLiving})`
  const { consentExpiresAt, id } = after
  // The first condition is a range of the index; the second leaves out its first instant's read rows.
  const isLater = sql<boolean>`(consent_expires_at >= ${moment(consentExpiresAt)}
    and (${isAfter('consent_expires_at', consentExpiresAt)} or id > ${id}))`
  return sql<boolean>`(${isIn} and ${isLiving} and ${isLater})`
}

/** The rows of such a query with their type. */
export function toExpiring(rows: readonly ConnectionRow[]): ExpiringConnection[] {
  return rows.flatMap((row) => {
    const { consentExpiresAt } = row
    return consentExpiresAt === null ? [] : [{ ...row, consentExpiresAt }]
  })
}

const isDistinct = (at: number | null) =>
  at === null ? sql<boolean>`consent_expires_at is not null` : isNot('consent_expires_at', at)

/** Writes a difference only. */
export async function setConsentExpiry(tx: Db, id: ConnectionId, at: number | null): Promise<void> {
  await tx
    .updateTable('connections')
    .set({ consent_expires_at: momentOrNull(at) })
    .where('id', '=', id)
    .where('status', '<>', 'deleting')
    .where(isDistinct(at))
    .execute()
}
