/**
 * A store of its own for one measurement, on either engine: a temporary directory, or a database made on the
 * server of TEST_DATABASE_URL. Both are removed afterwards. Sizes and rows are read beside the store, while
 * it is closed.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { Client } from 'pg'
import type { Engine } from '#store/engine/engine.ts'
import { openPostgres } from '#store/engine/postgres-engine.ts'
import { openSqlite } from '#store/engine/sqlite-engine.ts'
import { openStore } from '#store/open-store.ts'
import type { Store } from '#store/ports/store.ts'

export const storeKey = new Uint8Array(32).fill(0x5e)

/** Where a store is, for another process too. */
export interface Place {
  /** Null: SQLite. */
  readonly databaseUrl: string | null
  readonly dataDir: string
}

export interface Ground {
  readonly place: Place
  /** `SQLite` or `PostgreSQL`. */
  readonly title: string
  remove(): Promise<void>
}

export function openPlace(place: Place): Promise<Store> {
  return openStore({ ...place, mode: 'live', encryptionKeys: [storeKey] })
}

/** Runs `work` on the bare engine; no store may be open there. */
export async function withEngine<Result>(
  { databaseUrl, dataDir }: Place,
  work: (engine: Engine) => Promise<Result>,
): Promise<Result> {
  const engine =
    databaseUrl === null ? openSqlite(dataDir, () => {}) : await openPostgres(databaseUrl, () => {})
  try {
    return await work(engine)
  } finally {
    await engine.close()
  }
}

/**
 * Measures on SQLite always, on PostgreSQL where TEST_DATABASE_URL names a server whose user may create
 * databases.
 */
export async function onGrounds<Result>(
  work: (ground: Ground) => Promise<readonly Result[]>,
): Promise<Result[]> {
  const server = process.env.TEST_DATABASE_URL ?? ''
  if (server === '') console.log('not measured on PostgreSQL: TEST_DATABASE_URL is not set')
  const makers = [makeSqliteGround, ...(server === '' ? [] : [() => makePostgresGround(server)])]
  const results: Result[] = []
  for (const make of makers) {
    const ground = await make()
    try {
      await (await openPlace(ground.place)).close()
      results.push(...(await work(ground)))
    } finally {
      await ground.remove()
    }
  }
  return results
}

export async function makeSqliteGround(): Promise<Ground> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tributary-bench-'))
  return {
    place: { databaseUrl: null, dataDir },
    title: 'SQLite',
    async remove() {
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** A database of its own on the server of this URL. */
export async function makePostgresGround(server: string): Promise<Ground> {
  const { url, remove } = await makeBareDatabase(server)
  return { place: { databaseUrl: url, dataDir: '/unused' }, title: 'PostgreSQL', remove }
}

/** An empty database on this server; the caller removes it. */
export async function makeBareDatabase(server: string) {
  const name = `tributary_bench_${randomUUID().replaceAll('-', '')}`
  await ask(server, `create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, remove: () => ask(server, `drop database ${name} with (force)`) }
}

async function ask(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

/** Bytes of a table on the disk, its indexes and everything stored outside its rows included. */
export async function measureTable({ kind, db }: Engine, table: string): Promise<number> {
  if (kind === 'postgres') {
    const { rows } = await sql<{ bytes: string }>`
      select pg_total_relation_size(${table}::regclass) as bytes
    `.execute(db)
    return Number(rows[0]?.bytes)
  }
  const { rows } = await sql<{ bytes: number }>`
    select sum(pgsize) as bytes from dbstat where name in (
      select name from sqlite_schema where tbl_name = ${table}
    )
  `.execute(db)
  return Number(rows[0]?.bytes)
}

/** Column values as both engines read them from JSON; bytes are hexadecimal after `\x`. */
export type PlainRow = Readonly<Record<string, string | number | boolean | null>>

const rowsAtOnce = 5000

/** Inserts rows that have the same columns, a few thousand in one statement. */
export async function insertRows(
  { kind, db }: Engine,
  table: string,
  rows: readonly PlainRow[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  const names = sql.join(columns.map((name) => sql.ref(name)))
  for (let from = 0; from < rows.length; from += rowsAtOnce) {
    const text = JSON.stringify(rows.slice(from, from + rowsAtOnce))
    if (kind === 'postgres') {
      await sql`insert into ${sql.table(table)} (${names})
        select ${names} from json_populate_recordset(null::${sql.table(table)}, ${text}::json)
      `.execute(db)
    } else {
      const values = sql.join(columns.map(toSqliteValue))
      await sql`insert into ${sql.table(table)} (${names}) select ${values} from json_each(${text})
      `.execute(db)
    }
  }
}

function toSqliteValue(column: string) {
  const value = sql`json_extract(value, ${sql.lit(`$.${column}`)})`
  return sql`iif(${value} like '\\x%', unhex(substr(${value}, 3)), ${value})`
}

export const toHex = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`
export const toTime = (at: number): string => new Date(at).toISOString()
