/**
 * Every table with a sealed column, for the walk of the key rotation and for the check of keys in use at the opening.
 * How a column is sealed stands with its repository.
 */
import { type RawBuilder, sql } from 'kysely'
import { openSecret, sealedColumns } from './logins.ts'
import { type OAuthTable, openPayload, sealPayload } from './oauth-payload.ts'
import type { SealedTable } from './reseal.ts'

const logins: SealedTable = {
  name: 'logins',
  damage: 'the secret of a login does not open',
  async list(db, sealer, after, limit) {
    const query = db
      .selectFrom('logins')
      .select(['id', 'user_id as userId', 'provider', 'upstream_user_id as upstreamUserId'])
      .select('secret')
      .where('secret_key', '<>', sealer.current)
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
  async listKeys(db) {
    const rows = await db
      .selectFrom('logins')
      .select('secret_key as fingerprint')
      .distinct()
      .where('secret_key', 'is not', null)
      .execute()
    return rows.flatMap(({ fingerprint }) => (fingerprint === null ? [] : [fingerprint]))
  },
}

function oauthTable(name: OAuthTable): SealedTable {
  return {
    name,
    damage: 'the payload of an OAuth row does not open',
    async list(db, sealer, after, limit) {
      const query = db
        .selectFrom(name)
        .select(['id', 'payload'])
        .where('payload_key', '<>', sealer.current)
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
    async listKeys(db) {
      const rows = await db
        .selectFrom(name)
        .select('payload_key as fingerprint')
        .distinct()
        .execute()
      return rows.map(({ fingerprint }) => fingerprint)
    },
  }
}

/** In the order of the walk. */
export const sealedTables: readonly SealedTable[] = [
  logins,
  oauthTable('oauth_grants'),
  oauthTable('oauth_rows'),
]

function behind(id: unknown): RawBuilder<boolean> {
  return sql<boolean>`id > ${id}`
}
