/**
 * The status of connections, from a call with credentials or from a provider's report. A status counts only
 * if its credentials are current and its time is the newest.
 */
import type { ConnectionId } from '#kernel/ids.ts'
import { type Db, isUnsetOrBefore, moment } from '../engine/tables.ts'
import type { LearntStatus, ReportedStatus } from '../ports/connections.ts'

/** The connections that changed. The caller has locked the user's row, as every save of the login does. */
export async function setLearntStatus(
  tx: Db,
  { login, connectionId, from, to, at }: LearntStatus,
): Promise<readonly ConnectionId[]> {
  const current = await tx
    .selectFrom('logins')
    .select('version')
    .where('id', '=', login.id)
    .executeTakeFirst()
  if (current?.version !== login.version) return []
  const all = tx.updateTable('connections').where('login_id', '=', login.id)
  const named = connectionId === null ? all : all.where('id', '=', connectionId)
  const meant = named.where('status', '<>', 'deleting')
  if (at !== undefined) {
    await meant
      .set({ status_at: moment(at) })
      .where(isUnsetOrBefore('status_at', at))
      .execute()
  }
  const states = from.filter((status) => status !== to)
  if (states.length === 0) return []
  const changed = await meant
    .set({ status: to })
    .where('status', 'in', states)
    .returning('id')
    .execute()
  return changed.map(({ id }) => id)
}

/**
 * Whether the report was the newest, and whether it changed the status. The caller has locked the user's row.
 */
export async function setReportedStatus(
  tx: Db,
  { connectionId, from, to, at }: ReportedStatus,
): Promise<{ readonly isNew: boolean; readonly hasChanged: boolean }> {
  const { numUpdatedRows } = await tx
    .updateTable('connections')
    .set({ status_at: moment(at) })
    .where('id', '=', connectionId)
    .where('status', '<>', 'deleting')
    .where(isUnsetOrBefore('status_at', at))
    .executeTakeFirstOrThrow()
  const states = from.filter((status) => status !== to)
  if (numUpdatedRows === 0n) return { isNew: false, hasChanged: false }
  if (states.length === 0) return { isNew: true, hasChanged: false }
  const changed = await tx
    .updateTable('connections')
    .set({ status: to })
    .where('id', '=', connectionId)
    .where('status', 'in', states)
    .executeTakeFirstOrThrow()
  return { isNew: true, hasChanged: changed.numUpdatedRows > 0n }
}
