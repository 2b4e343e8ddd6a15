/**
 * Mails that wait. `due_at` is when a mail is to be sent or, while a process sends it, when that one counts
 * as gone; null when it is done. A claim is one statement; on PostgreSQL it leaves out what another process
 * is taking.
 */
import { sql } from 'kysely'
import type { Engine, Write } from '../engine/engine.ts'
import { countChanged, countRows } from '../engine/rows.ts'
import { type Db, isAfter, isBefore, isDue, moment } from '../engine/tables.ts'
import { MailMatter } from '../mail-matter.ts'
import type { ClaimedMail, MailBacklog, MailStore } from '../ports/mails.ts'
import { openOrNull, type SealedPayload, type Sealer } from '../seal.ts'
import { type MailQueue, openMatter, queueMail } from './mail-queue.ts'

interface Parts {
  readonly engine: Engine
  readonly write: Write
  readonly mails: MailQueue
}

/** The condition of the partial index, in its words: both engines must recognise it. */
const waits = sql<boolean>`due_at is not null`

export function makeMailStore({ engine, write, mails }: Parts): MailStore {
  const { db } = engine
  const { sealer } = mails
  return {
    queue: (mail) =>
      write(async (tx, _touched, woke) => {
        const isQueued = await queueMail(mails, tx, mail)
        if (isQueued) woke('mail')
        return isQueued
      }),
    claim: async (options) =>
      (await write((tx) => takeDue(engine, tx, options))).map((row) => toClaimed(sealer, row)),
    async end({ id, attempts }) {
      await db
        .updateTable('mails')
        .set({ due_at: null, payload: null, payload_key: null })
        .where('id', '=', id)
        .where('attempts', '=', attempts)
        .execute()
    },
    async postpone({ id, attempts }, dueAt) {
      await db
        .updateTable('mails')
        .set({ due_at: moment(dueAt) })
        .where('id', '=', id)
        .where('attempts', '=', attempts)
        .where(waits)
        .execute()
    },
    readBacklog: (now) => readBacklog(db, now),
    async sweep({ before, now, latestDue, limit }) {
      await db
        .updateTable('mails')
        .set({ due_at: moment(now) })
        .where(waits)
        .where(isAfter('due_at', latestDue))
        .execute()
      const old = db
        .selectFrom('mails')
        .select('id')
        .where('due_at', 'is', null)
        .where(isBefore('created_at', before))
        .limit(limit)
      return countChanged(db.deleteFrom('mails').where('id', 'in', old))
    },
  }
}

function takeDue(
  { kind }: Engine,
  tx: Db,
  { now, leaseMs, limit }: Parameters<MailStore['claim']>[0],
) {
  return tx
    .with('due', (query) => {
      const rows = query
        .selectFrom('mails')
        .select('id')
        .where(waits)
        .where(isDue('due_at', now))
        .orderBy('due_at')
        .orderBy('id')
        .limit(limit)
      return kind === 'postgres' ? rows.forUpdate().skipLocked() : rows
    })
    .updateTable('mails')
    .set((row) => ({ due_at: moment(now + leaseMs), attempts: row('attempts', '+', 1) }))
    .where('id', 'in', (query) => query.selectFrom('due').select('due.id'))
    .returning(['id', 'user_id as userId', 'kind', 'payload', 'payload_key as payloadKey'])
    .returning(['attempts', 'created_at as createdAt'])
    .execute()
}

type Taken = Awaited<ReturnType<typeof takeDue>>[number]

function toClaimed(sealer: Sealer, { payload, payloadKey, kind, ...row }: Taken): ClaimedMail {
  const matter = payload === null ? null : readMatter(sealer, row.id, { payload, payloadKey })
  return { ...row, kind: kind as ClaimedMail['kind'], matter }
}

/** A row that cannot be read must not keep the others waiting. */
function readMatter(sealer: Sealer, id: string, row: SealedPayload): MailMatter | null {
  const text = openOrNull(() => openMatter(sealer, id, row))
  return text === null ? null : (MailMatter.safeParse(JSON.parse(text)).data ?? null)
}

async function readBacklog(db: Db, now: number): Promise<MailBacklog> {
  const waiting = await countRows(db.selectFrom('mails').where(waits))
  const oldest = await db
    .selectFrom('mails')
    .select('created_at as createdAt')
    .where(waits)
    .where((row) => row.or([row('attempts', '>', 0), isDue('due_at', now)]))
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
  return { waiting: Number(waiting), oldestLateAt: oldest?.createdAt ?? null }
}
