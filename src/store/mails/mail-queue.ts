/**
 * Queues mails inside a transaction, for the mail repository and for changes of the store that people are
 * told of. Without a mail server nothing is queued.
 */
import { type MailId, newId } from '#kernel/ids.ts'
import { dayMs } from '#kernel/time.ts'
import { countRows } from '../engine/rows.ts'
import { type Db, isAfter, moment } from '../engine/tables.ts'
import type { MailKind, MailMatter } from '../mail-matter.ts'
import { maxNoticesPerDay, type NewMail, type ReconnectDueAt } from '../ports/mails.ts'
import type { SealedPayload, Sealer } from '../seal.ts'

export interface MailQueue {
  /** Null: this installation sends no mail. */
  readonly reconnectDueAt: ReconnectDueAt | null
  readonly sealer: Sealer
  /** For changes whose caller gives no time. */
  readonly now: () => number
}

/** True when the mail was queued. `dueAt`: at once when absent. */
export async function queueMail(
  { reconnectDueAt, sealer }: MailQueue,
  tx: Db,
  { key, userId, matter, at, dueAt = at }: NewMail & { readonly dueAt?: number },
): Promise<boolean> {
  if (reconnectDueAt === null || (isNotice(matter) && (await isFull(tx, userId, at)))) return false
  const id = newId<MailId>()
  const row = await tx
    .insertInto('mails')
    .values({
      id,
      user_id: userId,
      key,
      kind: matter.kind,
      created_at: moment(at),
      due_at: moment(dueAt),
      attempts: 0,
      ...sealMatter(sealer, id, JSON.stringify(matter)),
    })
    .onConflict((conflict) => conflict.column('key').doNothing())
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** Mails with a link have bounds of their own (ports/single-use.ts). */
function isNotice(matter: MailMatter): boolean {
  return !('url' in matter)
}

const linkKinds = ['invitation', 'confirmation', 'reset'] as const satisfies readonly MailKind[]

/** Links do not count: whoever asks for many must not keep a notice of a new key from its receiver. */
async function isFull(tx: Db, userId: NewMail['userId'], at: number): Promise<boolean> {
  const count = await countRows(
    tx
      .selectFrom('mails')
      .where('user_id', '=', userId)
      .where('kind', 'not in', linkKinds)
      .where(isAfter('created_at', at - dayMs)),
  )
  return Number(count) >= maxNoticesPerDay
}

const purpose = 'mails'

/** The columns of a payload sealed under the current key and bound to its row. */
export function sealMatter(sealer: Sealer, id: string, text: string) {
  return {
    payload: sealer.seal(purpose, id, Buffer.from(text, 'utf8')),
    payload_key: sealer.current,
  }
}

/** @throws SealError when it does not open. */
export function openMatter(sealer: Sealer, id: string, row: SealedPayload): string {
  return Buffer.from(sealer.open(purpose, id, row.payload, row.payloadKey)).toString('utf8')
}
