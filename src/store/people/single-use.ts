/** Tokens of mailed links, by their SHA-256 (table `mailed_links`). Using one is a conditional statement. */

import { sql } from 'kysely'
import { comparableEmails } from '#contract/email.ts'
import { isBrokenReference } from '../engine/broken-reference.ts'
import type { RepositoryOptions } from '../engine/engine.ts'
import { countChanged, countRows } from '../engine/rows.ts'
import { type Db, isAfter, isBefore, moment } from '../engine/tables.ts'
import { OwnerGoneError } from '../failure.ts'
import type { NewSingleUse, SingleUseStore } from '../ports/single-use.ts'

const columns = [
  'kind',
  'user_id as userId',
  'email',
  'created_at as createdAt',
  'expires_at as expiresAt',
  'used_at as usedAt',
  'replaced_at as replacedAt',
] as const

type Kinded = { readonly kind: NewSingleUse['kind'] }

export function makeSingleUseStore(options: RepositoryOptions): SingleUseStore {
  const { engine, write } = options
  const { db } = engine
  return {
    create: (token, bounds) =>
      write(async (tx) => {
        const [emailLower] = comparableEmails(token.email)
        await engine.lock(tx, `single-use ${token.kind} ${emailLower}`)
        if ((await countSince(tx, token, emailLower, bounds.since)) >= bounds.limit) return false
        await replaceOlder(tx, token, emailLower)
        await insert(tx, token, emailLower)
        return true
      }),
    async find(kind, hash) {
      const row = await db
        .selectFrom('mailed_links')
        .select(columns)
        .where('id', '=', hash)
        .where('kind', '=', kind)
        .executeTakeFirst()
      return row === undefined ? null : { ...row, kind }
    },
    async use(kind, hash, at) {
      const row = await db
        .updateTable('mailed_links')
        .set({ used_at: moment(at) })
        .where('id', '=', hash)
        .where('kind', '=', kind)
        .where('used_at', 'is', null)
        .where('replaced_at', 'is', null)
        .where(isAfter('expires_at', at))
        .returning(columns)
        .executeTakeFirst()
      return row === undefined ? null : { ...row, kind }
    },
    async listOpen(kind, { now, limit }) {
      const rows = await db
        .selectFrom('mailed_links')
        .select(columns)
        .where('kind', '=', kind)
        .where(isOpen(now))
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .limit(limit)
        .execute()
      return rows.map((row) => ({ ...row, kind }))
    },
    withdraw: (kind, email, now) =>
      write(async (tx) => {
        // PostgreSQL refuses NUL in text.
        if (email.includes('\0')) return false
        const [emailLower] = comparableEmails(email)
        const ended = tx
          .deleteFrom('mailed_links')
          .where('kind', '=', kind)
          .where('email_lower', '=', emailLower)
          .where(isOpen(now))
        return (await countChanged(ended)) > 0
      }),
    async sweep({ before, limit }) {
      const old = db
        .selectFrom('mailed_links')
        .select('id')
        .where(isBefore('expires_at', before))
        .limit(limit)
      return countChanged(db.deleteFrom('mailed_links').where('id', 'in', old))
    },
  }
}

const isOpen = (now: number) =>
  sql<boolean>`(used_at is null and replaced_at is null and ${isAfter('expires_at', now)})`

async function countSince(
  tx: Db,
  { kind }: Kinded,
  emailLower: string,
  since: number,
): Promise<number> {
  return countRows(
    tx
      .selectFrom('mailed_links')
      .where('email_lower', '=', emailLower)
      .where('kind', '=', kind)
      .where(isAfter('created_at', since)),
  )
}

async function replaceOlder(
  tx: Db,
  { kind, createdAt }: NewSingleUse,
  emailLower: string,
): Promise<void> {
  await tx
    .updateTable('mailed_links')
    .set({ replaced_at: moment(createdAt) })
    .where('email_lower', '=', emailLower)
    .where('kind', '=', kind)
    .where('used_at', 'is', null)
    .where('replaced_at', 'is', null)
    .execute()
}

async function insert(tx: Db, token: NewSingleUse, emailLower: string): Promise<void> {
  const row = {
    id: token.hash,
    kind: token.kind,
    user_id: token.userId,
    email: token.email,
    email_lower: emailLower,
    created_at: moment(token.createdAt),
    expires_at: moment(token.expiresAt),
  }
  try {
    await tx.insertInto('mailed_links').values(row).execute()
  } catch (cause) {
    if (!isBrokenReference(cause)) throw cause
    throw new OwnerGoneError('the user of the token is gone', { cause })
  }
}
