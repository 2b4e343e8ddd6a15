/**
 * What follows from a change of a connection's status, in its transaction: the notice to its owner and the
 * event for endpoints (reading R41). A connection that waits for a second factor has neither.
 */
import type { ConnectionEventType } from '#contract/events.ts'
import type { ConnectionStatus } from '#contract/resources.ts'
import type { ConnectionId, UserId } from '#kernel/ids.ts'
import type { Write } from '../engine/engine.ts'
import type { Db } from '../engine/tables.ts'
import type { MailQueue } from '../mails/mail-queue.ts'
import { mailStatus } from '../mails/status-mails.ts'
import type { StoredStatus } from '../ports/connections.ts'
import { addConnectionEvent } from './connection-events.ts'

/** A connection whose status was set just now. */
export interface StatusNews {
  readonly id: ConnectionId
  readonly userId: UserId
  readonly status: StoredStatus
  /** Null: the connection was created. Absent: it was another one, and not `deleting`. */
  readonly former?: ConnectionStatus | null
}

/** How a transaction tells of due work. */
export type Woke = Parameters<Parameters<Write>[0]>[2]

/** Queues mails, and events of those that have another status than before. */
export async function tellStatus(
  mails: MailQueue,
  { tx, woke }: { readonly tx: Db; readonly woke: Woke },
  changed: readonly StatusNews[],
): Promise<void> {
  await mailStatus(mails, tx, changed)
  for (const { id, userId, former, status } of changed) {
    if (status === former) continue
    const type = former === null ? 'connection.linked' : types[status]
    if (type === null) continue
    // What is being removed has no status of its own that its user could see.
    const shown = status === 'deleting' ? former : status
    const news = { id, userId, type, at: mails.now(), ...(shown == null ? {} : { status: shown }) }
    if (await addConnectionEvent(tx, news)) woke('connection-event')
  }
}

const types: Readonly<Record<StoredStatus, ConnectionEventType | null>> = {
  active: 'connection.restored',
  invalidated: 'connection.invalidated',
  revoked: 'connection.revoked',
  deleting: 'connection.removed',
  pending_mfa: null,
}
