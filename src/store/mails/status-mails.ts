/**
 * The notice that a connection has to be reconnected, queued in the transaction of the change that made it
 * necessary. It is queued once until the connection is active again; when it is due is a rule of the room of
 * mails.
 */
import type { ConnectionId, UserId } from '#kernel/ids.ts'
import { hasChanged } from '../engine/rows.ts'
import type { Db } from '../engine/tables.ts'
import type { StoredStatus } from '../ports/connections.ts'
import type { ReconnectDueAt } from '../ports/mails.ts'
import { type MailQueue, queueMail } from './mail-queue.ts'

/** A connection whose status was set just now. */
export interface StatusChange {
  readonly id: ConnectionId
  readonly userId: UserId
  readonly status: StoredStatus
}

/** `open`: of the present loss. `past`: of the one before. */
const keysOf = (id: ConnectionId) => ({ open: `reconnect:${id}`, past: `reconnect:${id}:past` })

/** Runs in the transaction of the change. */
export async function mailStatus(
  mails: MailQueue,
  tx: Db,
  changed: readonly StatusChange[],
): Promise<void> {
  const { reconnectDueAt } = mails
  if (reconnectDueAt === null) return
  for (const one of changed) {
    if (one.status === 'active') await forget(tx, one)
    if (one.status === 'invalidated' || one.status === 'revoked')
      await queue({ ...mails, reconnectDueAt }, tx, one)
  }
}

async function queue(
  mails: MailQueue & { readonly reconnectDueAt: ReconnectDueAt },
  tx: Db,
  { id, userId }: StatusChange,
): Promise<void> {
  const { open, past } = keysOf(id)
  const at = mails.now()
  const former = await tx
    .selectFrom('mails')
    .select('created_at as createdAt')
    .where('key', '=', past)
    .executeTakeFirst()
  const dueAt = mails.reconnectDueAt({ at, formerAt: former?.createdAt ?? null })
  const matter = { kind: 'reconnect', connectionId: id } as const
  await queueMail(mails, tx, { key: open, userId, matter, at, dueAt })
}

/** A mail that nobody has tried to send is deleted; a sent one stays as the memory of its day. */
async function forget(tx: Db, { id }: StatusChange): Promise<void> {
  const { open, past } = keysOf(id)
  if (
    await hasChanged(
      tx
        .deleteFrom('mails')
        .where('key', '=', open)
        .where('due_at', 'is not', null)
        .where('attempts', '=', 0),
    )
  )
    return
  const sent = await tx.selectFrom('mails').select('id').where('key', '=', open).executeTakeFirst()
  if (sent === undefined) return
  await tx.deleteFrom('mails').where('key', '=', past).execute()
  await tx
    .updateTable('mails')
    .set({ key: past, due_at: null, payload: null, payload_key: null })
    .where('id', '=', sent.id)
    .execute()
}
