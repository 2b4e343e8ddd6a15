/**
 * Every table with a sealed column, for the walk of the key rotation and for the check of keys in use at the opening.
 * How a column is sealed stands with its repository.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Sealer } from '../seal.ts'
import { openSecret, sealedColumns } from './logins.ts'
import { type OAuthTable, openPayload, sealPayload } from './oauth-payload.ts'
import type { Db } from './tables.ts'

/** A row under an older key. */
export interface AgedRow {
  /** Orders the walk; of the type of the table's primary key. */
  readonly id: unknown
  /** As the log may show it. */
  readonly name: string
  /** Seals it again, unless it changed meanwhile. @throws SealError when it does not open. */
  reseal(): Promise<void>
}

/** A table with a sealed column, as the walk sees it. */
export interface SealedTable {
  readonly name: string
  /** The message for a row that does not open. */
  readonly damage: string
  /** Rows under one key, in the order of their ids: a range over the index of (key, id). */
  list(db: Db, sealer: Sealer, range: SealedRange): Promise<readonly AgedRow[]>
  /** The fingerprint behind `after` among those of all keys in use; undefined when there is none. */
  nextKey(db: Db, after: string): Promise<string | undefined>
}

export interface SealedRange {
  /** Fingerprint of the key that the rows are sealed under. */
  readonly key: string
  /** Rows behind this id; null: from the first. */
  readonly after: unknown
  readonly limit: number
}

const logins: SealedTable = {
  name: 'logins',
  damage: 'the secret of a login does not open',
  async list(db, sealer, { key, after, limit }) {
    const query = db
      .selectFrom('logins')
      .select(['id', 'user_id as userId', 'provider', 'upstream_user_id as upstreamUserId'])
      .select('secret')
      .where('secret_key', '=', key)
      .orderBy('id')
      .limit(limit)
    const rows = await (after === null ? query : query.where(behind(after))).execute()
    return rows.map((row) => ({
      id: row.id,
      name: row.id,
      async reseal() {
        if (row.secret === null) return
        const secret = openSecret(sealer, row, row.secret)
        await db
          .updateTable('logins')
          .set(sealedColumns(sealer, row, secret))
          .where('id', '=', row.id)
          // Whoever saved a newer secret meanwhile is right.
          .where('secret', '=', row.secret)
          .execute()
      },
    }))
  },
  async nextKey(db, after) {
    const row = await db
      .selectFrom('logins')
      .select('secret_key as fingerprint')
      .where('secret_key', '>', after)
      .orderBy('secret_key')
      .limit(1)
      .executeTakeFirst()
    return row?.fingerprint ?? undefined
  },
}

function oauthTable(name: OAuthTable): SealedTable {
  return {
    name,
    damage: 'the payload of an OAuth row does not open',
    async list(db, sealer, { key, after, limit }) {
      const query = db
        .selectFrom(name)
        .select(['id', 'payload'])
        .where('payload_key', '=', key)
        .orderBy('id')
        .limit(limit)
      const rows = await (after === null ? query : query.where(behind(after))).execute()
      return rows.map(({ id, payload }) => ({
        id,
        name: Buffer.from(id).toString('hex'),
        async reseal() {
          await db
            .updateTable(name)
            .set(sealPayload(sealer, name, id, openPayload(sealer, name, id, payload)))
            .where('id', '=', id)
            .where('payload', '=', payload)
            .execute()
        },
      }))
    },
    async nextKey(db, after) {
      const row = await db
        .selectFrom(name)
        .select('payload_key as fingerprint')
        .where('payload_key', '>', after)
        .orderBy('payload_key')
        .limit(1)
        .executeTakeFirst()
      return row?.fingerprint
    },
  }
}

/** In the order of the walk. */
export const sealedTables: readonly SealedTable[] = [
  logins,
  oauthTable('oauth_grants'),
  oauthTable('oauth_rows'),
]

/** Fingerprints of all keys in use. One step over the index for each, so that it costs nothing in a large table. */
export async function listKeys(db: Db, table: SealedTable): Promise<readonly string[]> {
  const keys: string[] = []
  // Every step lies behind the one before; no fingerprint is empty.
  let key = await table.nextKey(db, '')
  while (key !== undefined) {
    keys.push(key)
    key = await table.nextKey(db, key)
  }
  return keys
}

/** As `listKeys`, without the key that seals. */
export async function listAgedKeys(
  db: Db,
  table: SealedTable,
  sealer: Sealer,
): Promise<readonly string[]> {
  return (await listKeys(db, table)).filter((key) => key !== sealer.current)
}

function behind(id: unknown): RawBuilder<boolean> {
  return sql<boolean>`id > ${id}`
}
