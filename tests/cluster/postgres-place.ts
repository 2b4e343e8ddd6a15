/**
 * Places for stores on the PostgreSQL of TEST_DATABASE_URL: a database of this run's own, in it a schema for
 * each place, or a copy of a database that was migrated once. All are dropped at the end.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import { openStore } from '#store/open-store.ts'
import type { Place } from '#tests/contract/store/place.ts'
import { keyA } from '#tests/contract/store/place.ts'

export interface PostgresPlace extends Place {
  readonly databaseUrl: string
  readonly schema: string
  /** Rows of one statement, behind the store's back. */
  ask(sql: string): Promise<readonly Record<string, unknown>[]>
}

export interface PostgresGround {
  /** A schema in which nothing has been made. */
  makePlace(): Promise<PostgresPlace>
  /** A database in which the migrations have run. */
  makeMigratedPlace(): Promise<PostgresPlace>
  remove(): Promise<void>
}

/** The server that the cluster suite runs on. @throws Error with what to do when none is named. */
export function testDatabaseUrl(): string {
  const url = process.env.TEST_DATABASE_URL
  if (url === undefined || url === '')
    throw new Error(
      'TEST_DATABASE_URL is not set: name a PostgreSQL whose user may create databases, ' +
        'e.g. postgresql://postgres@127.0.0.1:5432/postgres',
    )
  return url
}

/** Creates the database of this run. */
export async function makePostgresGround(): Promise<PostgresGround> {
  const server = testDatabaseUrl()
  const name = `tributary_${randomUUID().replaceAll('-', '')}`
  await run(server, `create database ${name}`)
  const template = `${name}_migrated`
  let migrated: Promise<string> | null = null
  let copies = 0
  return {
    makePlace: () => makePostgresPlace(inDatabase(server, name)),
    async makeMigratedPlace() {
      migrated ??= makeTemplate(server, template)
      const schema = await migrated
      copies += 1
      const copy = `${name}_${copies}`
      await run(server, `create database ${copy} template ${template}`)
      const remove = () => drop(server, copy)
      return { ...openPlace(inDatabase(server, copy), schema), remove }
    },
    async remove() {
      await drop(server, name)
      await drop(server, template)
      // A test that failed early may have left its place.
      for (let copy = 1; copy <= copies; copy += 1) await drop(server, `${name}_${copy}`)
    },
  }
}

/** Only a superuser may end PostgreSQL's own vacuum of the database (42501): it ends by itself. */
async function drop(server: string, database: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      await run(server, `drop database if exists ${database} with (force)`)
      return
    } catch (error) {
      const isVacuumed = error instanceof DatabaseError && error.code === '42501'
      if (!isVacuumed || tries === 50) throw error
      await sleep(100)
    }
  }
}

function inDatabase(server: string, database: string): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

/** Migrates a place in a database of its own. Returns the place's schema. */
async function makeTemplate(server: string, database: string): Promise<string> {
  await run(server, `create database ${database}`)
  const place = await makePostgresPlace(inDatabase(server, database))
  const store = await place.open()
  await store.close()
  return place.schema
}

async function makePostgresPlace(server: string): Promise<PostgresPlace> {
  const schema = `place_${randomUUID().replaceAll('-', '')}`
  await run(server, `create schema ${schema}`)
  return openPlace(server, schema)
}

function openPlace(server: string, schema: string): PostgresPlace {
  const url = new URL(server)
  url.searchParams.set('options', `-c search_path=${schema}`)
  // The driver reads a plus as a plus.
  const databaseUrl = url.href.replaceAll('+', '%20')
  const ask = (sql: string) => run(databaseUrl, sql)
  const keys = `${schema}_event_keys`
  return {
    databaseUrl,
    schema,
    ask,
    open: (as) =>
      openStore({ databaseUrl, dataDir: '/unused', mode: 'live', encryptionKeys: [keyA], ...as }),
    tamper: async (sql) => {
      await ask(sql)
    },
    tamperKeys: async (sql) => {
      await ask(`set search_path to ${keys}; ${sql}`)
    },
    async listKeys() {
      const rows = await ask(`select secret from ${keys}.event_keys`)
      return rows.map(({ secret }) => secret as Uint8Array)
    },
    async removeKeys() {
      await ask(`drop schema ${keys} cascade`)
    },
    async breakWrites(of) {
      const [table, event] =
        of === 'payload'
          ? ['events', 'before update of payload on events for each row when (new.payload is null)']
          : [`${keys}.event_keys`, `before delete on ${keys}.event_keys for each row`]
      await ask(`create function break_off() returns trigger language plpgsql
        as $$ begin raise exception 'broken by the test'; end $$`)
      await ask(`create trigger broken ${event} execute function break_off()`)
      return async () => {
        await ask(`drop trigger broken on ${table}; drop function break_off()`)
      }
    },
    readAll: () => dump(ask),
    remove: async () => {
      await run(server, `drop schema ${schema} cascade`)
      await run(server, `drop schema if exists ${keys} cascade`)
    },
  }
}

/**
 * Every row of every table, the keys of events too, as the server writes it, bytes as hex and once more as
 * they are.
 */
async function dump(ask: PostgresPlace['ask']): Promise<Buffer> {
  const tables = await ask(
    `select table_schema || '.' || table_name as name from information_schema.tables
      where table_schema in (current_schema(), current_schema() || '_event_keys')`,
  )
  const parts: Buffer[] = []
  for (const { name } of tables) {
    for (const row of await ask(`select * from ${name}`))
      for (const value of Object.values(row))
        parts.push(Buffer.isBuffer(value) ? value : Buffer.from(String(value)))
    for (const row of await ask(`select t::text as text from ${name} t`))
      parts.push(Buffer.from(String(row.text)))
  }
  return Buffer.concat(parts)
}

async function run(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  await client.connect()
  try {
    // Notices of what a drop takes along are of no interest.
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
