/**
 * Every table with a sealed column, for key rotation and for the check of keys in use when the store is opened. The
 * repository of each table defines how its column is sealed.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Sealer } from '../seal.ts'
import { openSecrets, openUrl, sealSecrets, sealUrl, secretColumns } from './endpoint-rows.ts'
import type { Engine } from './engine.ts'
import { unwrapKey, wrapKey } from './event-seal.ts'
import { openLedgerKey, sealLedgerKey } from './ledgers.ts'
import { openSecret, sealedColumns } from './logins.ts'
import { openMatter, sealMatter } from './mail-queue.ts'
import { type OAuthTable, openPayload, sealPayload } from './oauth-payload.ts'
import { openFactor, sealFactor } from './second-factors.ts'
import type { Db } from './tables.ts'

/** A row sealed under an older key. */
export interface AgedRow {
  /** Orders the rows; its type is that of the table's primary key. */
  readonly id: unknown
  /** The row's name for the log. */
  readonly name: string
  /** Seals it again, unless it changed meanwhile. @throws SealError when it does not open. */
  reseal(): Promise<void>
}

/** The store, or one transaction of it, and the separate place of the event keys. */
export type Places = Pick<Engine, 'db' | 'keysOf'>

/** A table with a sealed column. */
export interface SealedTable {
  readonly name: string
  /** The log message for a row that does not open. */
  readonly damage: string
  /** Rows under one key, by id: a range of the index on (key, id). */
  list(places: Places, sealer: Sealer, range: SealedRange): Promise<readonly AgedRow[]>
  /** The next key fingerprint in use after `after`; undefined when there is none. */
  nextKey(places: Places, after: string): Promise<string | undefined>
}

export interface SealedRange {
  /** Fingerprint of the key that the rows are sealed under. */
  readonly key: string
  /** Only rows after this id; null: from the first. */
  readonly after: unknown
  readonly limit: number
}

const logins: SealedTable = {
  name: 'logins',
  damage: 'the secret of a login does not open',
  async list({ db }, sealer, { key, after, limit }) {
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
          // A secret that was saved meanwhile is newer, and stays.
          .where('secret', '=', row.secret)
          .execute()
      },
    }))
  },
  async nextKey({ db }, after) {
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
    async list({ db }, sealer, { key, after, limit }) {
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
    async nextKey({ db }, after) {
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

const ledgerKeys: SealedTable = {
  name: 'ledger_keys',
  damage: 'the key of a ledger does not open',
  async list({ db }, sealer, { key, after, limit }) {
    const query = db
      .selectFrom('ledger_keys')
      .select(['user_id as id', 'secret'])
      .where('secret_key', '=', key)
      .orderBy('user_id')
      .limit(limit)
    const rows = await (after === null ? query : query.where(behind(after, 'user_id'))).execute()
    return rows.map(({ id, secret }) => ({
      id,
      name: id,
      async reseal() {
        await db
          .updateTable('ledger_keys')
          .set(sealLedgerKey(sealer, id, openLedgerKey(sealer, id, secret)))
          .where('user_id', '=', id)
          .where('secret', '=', secret)
          .execute()
      },
    }))
  },
  nextKey: ({ db }, after) => nextSecretKey(db, 'ledger_keys', after),
}

const secondFactors: SealedTable = {
  name: 'second_factors',
  damage: 'the secret of a second factor does not open',
  async list({ db }, sealer, { key, after, limit }) {
    const query = db
      .selectFrom('second_factors')
      .select(['user_id as id', 'secret'])
      .where('secret_key', '=', key)
      .orderBy('user_id')
      .limit(limit)
    const rows = await (after === null ? query : query.where(behind(after, 'user_id'))).execute()
    return rows.map(({ id, secret }) => ({
      id,
      name: id,
      async reseal() {
        await db
          .updateTable('second_factors')
          .set(sealFactor(sealer, id, openFactor(sealer, id, secret)))
          .where('user_id', '=', id)
          .where('secret', '=', secret)
          .execute()
      },
    }))
  },
  nextKey: ({ db }, after) => nextSecretKey(db, 'second_factors', after),
}

const endpoints: SealedTable = {
  name: 'webhook_endpoints',
  damage: 'the secrets of a webhook endpoint do not open',
  async list({ db }, sealer, { key, after, limit }) {
    const query = db
      .selectFrom('webhook_endpoints')
      .select(['id', 'sealed_url as sealedUrl', ...secretColumns])
      .where('secret_key', '=', key)
      .orderBy('id')
      .limit(limit)
    const rows = await (after === null ? query : query.where(behind(after))).execute()
    return rows.map(({ id, sealedUrl, ...sealed }) => ({
      id,
      name: id,
      async reseal() {
        await db
          .updateTable('webhook_endpoints')
          .set({
            ...sealSecrets(sealer, id, openSecrets(sealer, id, sealed)),
            ...sealUrl(sealer, id, openUrl(sealer, id, sealedUrl)),
          })
          .where('id', '=', id)
          // Every change of the secrets is a change of this one.
          .where('secret', '=', sealed.secret)
          .execute()
      },
    }))
  },
  nextKey: ({ db }, after) => nextSecretKey(db, 'webhook_endpoints', after),
}

const eventKeys: SealedTable = {
  name: 'event_keys',
  damage: 'the key of an event does not open',
  async list({ db, keysOf }, sealer, { key, after, limit }) {
    const keys = keysOf(db)
    const query = keys
      .selectFrom('event_keys')
      .select(['event_id as id', 'secret'])
      .where('secret_key', '=', key)
      .orderBy('event_id')
      .limit(limit)
    const rows = await (after === null ? query : query.where(behind(after, 'event_id'))).execute()
    return rows.map(({ id, secret }) => ({
      id,
      name: id,
      async reseal() {
        await keys
          .updateTable('event_keys')
          .set(wrapKey(sealer, id, unwrapKey(sealer, id, secret)))
          .where('event_id', '=', id)
          .where('secret', '=', secret)
          .execute()
      },
    }))
  },
  nextKey: ({ db, keysOf }, after) => nextSecretKey(keysOf(db), 'event_keys', after),
}

const mails: SealedTable = {
  name: 'mails',
  damage: 'the payload of a mail does not open',
  async list({ db }, sealer, { key, after, limit }) {
    const query = db
      .selectFrom('mails')
      .select(['id', 'payload'])
      .where('payload_key', '=', key)
      .orderBy('id')
      .limit(limit)
    const rows = await (after === null ? query : query.where(behind(after))).execute()
    return rows.map(({ id, payload }) => ({
      id,
      name: id,
      async reseal() {
        if (payload === null) return
        await db
          .updateTable('mails')
          .set(sealMatter(sealer, id, openMatter(sealer, id, payload)))
          .where('id', '=', id)
          .where('payload', '=', payload)
          .execute()
      },
    }))
  },
  async nextKey({ db }, after) {
    const row = await db
      .selectFrom('mails')
      .select('payload_key as fingerprint')
      .where('payload_key', '>', after)
      .orderBy('payload_key')
      .limit(1)
      .executeTakeFirst()
    return row?.fingerprint ?? undefined
  },
}

async function nextSecretKey(
  db: Db,
  table: 'ledger_keys' | 'second_factors' | 'webhook_endpoints' | 'event_keys',
  after: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom(table)
    .select('secret_key as fingerprint')
    .where('secret_key', '>', after)
    .orderBy('secret_key')
    .limit(1)
    .executeTakeFirst()
  return row?.fingerprint
}

/** In the order in which rotation handles them. */
export const sealedTables: readonly SealedTable[] = [
  logins,
  oauthTable('oauth_grants'),
  oauthTable('oauth_rows'),
  ledgerKeys,
  secondFactors,
  endpoints,
  eventKeys,
  mails,
]

/** Fingerprints of all keys in use. One index step per key, so that a large table costs no more. */
export async function listKeys(places: Places, table: SealedTable): Promise<readonly string[]> {
  const keys: string[] = []
  // No fingerprint is empty, and each step returns a greater one.
  let key = await table.nextKey(places, '')
  while (key !== undefined) {
    keys.push(key)
    key = await table.nextKey(places, key)
  }
  return keys
}

/** As `listKeys`, without the current key. */
export async function listAgedKeys(
  places: Places,
  table: SealedTable,
  sealer: Sealer,
): Promise<readonly string[]> {
  return (await listKeys(places, table)).filter((key) => key !== sealer.current)
}

function behind(id: unknown, column = 'id'): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(column)} > ${id}`
}
