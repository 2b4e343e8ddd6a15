/**
 * Every table with a sealed column, for key rotation and for the check of keys in use when the store is
 * opened. The repository of each table defines how its column is sealed.
 */
import { sql } from 'kysely'
import type { EndpointId, EventId, LoginId, UserId } from '#kernel/ids.ts'
import { openSecret, sealedColumns } from '../connections/logins.ts'
import type { Engine } from '../engine/engine.ts'
import {
  openSecrets,
  openUrl,
  type SealedSecrets,
  type SealedUrl,
  sealSecrets,
  sealUrl,
} from '../events/endpoint-rows.ts'
import { unwrapKey, wrapKey } from '../events/event-seal.ts'
import { openMatter, sealMatter } from '../mails/mail-queue.ts'
import { type OAuthTable, openOAuthPayload, sealOAuthPayload } from '../people/oauth-payload.ts'
import { openFactor, sealFactor } from '../people/second-factors.ts'
import type { LoginName } from '../ports/logins.ts'
import { openOrNull, type SealedPayload, type SealedSecret, type Sealer } from '../seal.ts'
import { openLedgerKey, sealLedgerKey } from '../syncs/ledgers.ts'

/** A row sealed under an older key. */
export interface AgedRow {
  /** Orders the rows; its type is that of the table's primary key. */
  readonly id: unknown
  /** The row's name for the log. */
  readonly name: string
  /** The key that the value names; null: it names none. In a damaged row it is not that of the column. */
  readonly key: string | null
  /** Seals it again, unless it changed meanwhile. @throws SealError when it does not open. */
  reseal(): Promise<void>
}

/** The store, or one transaction of it, and the separate place of the event keys. */
export type SealedStore = Pick<Engine, 'db' | 'keysOf'>

export interface SealedTable {
  readonly name: string
  /** The log message for a row that does not open. */
  readonly damage: string
  /** Rows under one key, by id: a range of the index on (key, id). */
  list(places: SealedStore, sealer: Sealer, range: SealedRange): Promise<readonly AgedRow[]>
  /** The next key fingerprint in use after `after`; undefined when there is none. */
  nextKey(places: SealedStore, after: string): Promise<string | undefined>
}

export interface SealedRange {
  /** Fingerprint of the key that the rows are sealed under. */
  readonly key: string
  /** Only rows after this id; null: from the first. */
  readonly after: unknown
  readonly limit: number
}

type SealedName =
  | OAuthTable
  | 'logins'
  | 'ledger_keys'
  | 'second_factors'
  | 'webhook_endpoints'
  | 'event_keys'
  | 'mails'

interface Definition<Row> {
  readonly name: SealedName
  readonly damage: string
  /** The columns that are read, by the names in a row. The identity is first. */
  readonly columns: Readonly<Record<keyof Row & string, string>>
  /** The column that changes with every change of what is sealed; its key's has the suffix `_key`. */
  readonly sealed?: 'secret' | 'payload'
  /** True: in the separate place of the event keys. */
  readonly isSeparate?: boolean
  readonly nameRow?: (row: Row) => string
  /** The columns sealed again. @throws SealError when they do not open. */
  reseal(sealer: Sealer, row: Row): Readonly<Record<string, unknown>>
}

function sealedTable<Row>(definition: Definition<Row>): SealedTable {
  const { name, damage, columns, isSeparate = false, nameRow, reseal } = definition
  const sealed = definition.sealed ?? 'secret'
  const names = Object.entries<string>(columns)
  const idName = names[0]?.[1] ?? 'id'
  const [id, keyOf] = [sql.ref(idName), sql.ref(`${sealed}_key`)]
  const selected = names.map(([as, column]) => sql`${sql.ref(column)}`.as(as))
  // What was saved meanwhile is newer, and stays.
  const own = [id.as('rowId'), sql.ref<unknown>(sealed).as('rowSealed')]
  const placeOf = ({ db, keysOf }: SealedStore) => (isSeparate ? keysOf(db) : db)
  return {
    name,
    damage,
    async list(places, sealer, { key, after, limit }) {
      const place = placeOf(places)
      const query = place
        .selectFrom(name)
        .select([...own, ...selected])
        .where(sql<boolean>`${keyOf} = ${key}`)
        .orderBy(id)
        .limit(limit)
      const behind = query.where(sql<boolean>`${id} > ${after}`)
      const rows = await (after === null ? query : behind).execute()
      return rows.map((found) => {
        // `columns` names every field of a row.
        const row = found as Row & typeof found
        return {
          id: row.rowId,
          name: nameRow?.(row) ?? String(row.rowId),
          key: row.rowSealed instanceof Uint8Array ? keyNamedBy(sealer, row.rowSealed) : null,
          async reseal() {
            await place
              .updateTable(name)
              .set(reseal(sealer, row))
              .where(sql<boolean>`${id} = ${row.rowId}`)
              .where(sql<boolean>`${sql.ref(sealed)} = ${row.rowSealed}`)
              .execute()
          },
        }
      })
    },
    async nextKey(places, after) {
      const row = await placeOf(places)
        .selectFrom(name)
        .select(sql<string>`${keyOf}`.as('fingerprint'))
        .where(sql<boolean>`${keyOf} > ${after}`)
        .orderBy(keyOf)
        .limit(1)
        .executeTakeFirst()
      return row?.fingerprint
    },
  }
}

const keyNamedBy = (sealer: Sealer, value: Uint8Array): string | null =>
  openOrNull(() => sealer.keyOf(value))

interface LoginSecret extends LoginName, SealedSecret {
  readonly id: LoginId
}

const secret = { secret: 'secret', secretKey: 'secret_key' }
const payload = { payload: 'payload', payloadKey: 'payload_key' }

const logins = sealedTable<LoginSecret>({
  name: 'logins',
  damage: 'the secret of a login does not open',
  columns: {
    id: 'id',
    userId: 'user_id',
    provider: 'provider',
    upstreamUserId: 'upstream_user_id',
    ...secret,
  },
  reseal: (sealer, row) => sealedColumns(sealer, row, openSecret(sealer, row)),
})

const oauthTable = (name: OAuthTable) =>
  sealedTable<SealedPayload & { readonly id: Uint8Array }>({
    name,
    damage: 'the payload of an OAuth row does not open',
    columns: { id: 'id', ...payload },
    sealed: 'payload',
    nameRow: ({ id }) => Buffer.from(id).toString('hex'),
    reseal: (sealer, row) =>
      sealOAuthPayload(sealer, name, row.id, openOAuthPayload(sealer, name, row.id, row)),
  })

interface Secret<Id> extends SealedSecret {
  readonly id: Id
}

const ledgerKeys = sealedTable<Secret<UserId>>({
  name: 'ledger_keys',
  damage: 'the key of a ledger does not open',
  columns: { id: 'user_id', ...secret },
  reseal: (sealer, row) => sealLedgerKey(sealer, row.id, openLedgerKey(sealer, row.id, row)),
})

const secondFactors = sealedTable<Secret<UserId>>({
  name: 'second_factors',
  damage: 'the secret of a second factor does not open',
  columns: { id: 'user_id', ...secret },
  reseal: (sealer, row) => sealFactor(sealer, row.id, openFactor(sealer, row.id, row)),
})

const endpoints = sealedTable<SealedSecrets & SealedUrl & { readonly id: EndpointId }>({
  name: 'webhook_endpoints',
  damage: 'the secrets of a webhook endpoint do not open',
  columns: {
    id: 'id',
    sealedUrl: 'sealed_url',
    ...secret,
    previousSecret: 'previous_secret',
    previousUntil: 'previous_until',
  },
  reseal: (sealer, row) => ({
    ...sealSecrets(sealer, row.id, openSecrets(sealer, row.id, row)),
    ...sealUrl(sealer, row.id, openUrl(sealer, row.id, row)),
  }),
})

const eventKeys = sealedTable<Secret<EventId>>({
  name: 'event_keys',
  damage: 'the key of an event does not open',
  columns: { id: 'event_id', ...secret },
  isSeparate: true,
  reseal: (sealer, row) => wrapKey(sealer, row.id, unwrapKey(sealer, row.id, row)),
})

const mails = sealedTable<SealedPayload & { readonly id: string }>({
  name: 'mails',
  damage: 'the payload of a mail does not open',
  columns: { id: 'id', ...payload },
  sealed: 'payload',
  reseal: (sealer, row) => sealMatter(sealer, row.id, openMatter(sealer, row.id, row)),
})

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
export async function listKeys(
  places: SealedStore,
  table: SealedTable,
): Promise<readonly string[]> {
  const keys: string[] = []
  // No fingerprint is empty, and each step returns a greater one.
  let key = await table.nextKey(places, '')
  while (key !== undefined) {
    keys.push(key)
    key = await table.nextKey(places, key)
  }
  return keys
}

/** A key that rows are sealed with and that is not listed; null: there is none. */
export async function findLacked(places: SealedStore, sealer: Sealer): Promise<string | null> {
  for (const table of sealedTables) {
    for (const key of await listKeys(places, table)) {
      if (await isLacked(places, table, key, sealer)) return key
    }
  }
  return null
}

/** Ten rows damaged to the same key are not expected. */
const rowsAsked = 10

/** Whether a key of the column is not listed, and seals a value: one that none names is a damaged column. */
export async function isLacked(
  places: SealedStore,
  table: SealedTable,
  key: string,
  sealer: Sealer,
): Promise<boolean> {
  if (sealer.knows(key)) return false
  const rows = await table.list(places, sealer, { key, after: null, limit: rowsAsked })
  return rows.some((row) => row.key === key)
}

/** Lists what `listKeys` lists, without the current key. */
export async function listAgedKeys(
  places: SealedStore,
  table: SealedTable,
  sealer: Sealer,
): Promise<readonly string[]> {
  return (await listKeys(places, table)).filter((key) => key !== sealer.current)
}
