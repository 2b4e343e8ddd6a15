/**
 * Places for stores on the PostgreSQL of TEST_DATABASE_URL: a database of this run's own, in it a schema for each
 * place, all dropped at the end.
 */
import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { openStore } from '#store/open-store.ts'
import type { Place } from '#tests/contract/store/place.ts'
import { keyA } from '#tests/contract/store/place.ts'

export interface PostgresPlace extends Place {
  readonly databaseUrl: string
  /** Rows of one statement, behind the store's back. */
  ask(sql: string): Promise<readonly Record<string, unknown>[]>
}

export interface PostgresGround {
  makePlace(): Promise<PostgresPlace>
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
  const url = new URL(server)
  url.pathname = `/${name}`
  return {
    makePlace: () => makePostgresPlace(url.href),
    remove: async () => {
      await run(server, `drop database ${name} with (force)`)
    },
  }
}

async function makePostgresPlace(server: string): Promise<PostgresPlace> {
  const schema = `place_${randomUUID().replaceAll('-', '')}`
  await run(server, `create schema ${schema}`)
  const url = new URL(server)
  url.searchParams.set('options', `-c search_path=${schema}`)
  // The driver reads a plus as a plus.
  const databaseUrl = url.href.replaceAll('+', '%20')
  const ask = (sql: string) => run(databaseUrl, sql)
  return {
    databaseUrl,
    ask,
    open: (as) =>
      openStore({ databaseUrl, dataDir: '/unused', mode: 'live', encryptionKeys: [keyA], ...as }),
    tamper: async (sql) => {
      await ask(sql)
    },
    readAll: () => dump(ask),
    remove: async () => {
      await run(server, `drop schema ${schema} cascade`)
    },
  }
}

/** Every row of every table as the server writes it, bytes as hex and once more as they are. */
async function dump(ask: PostgresPlace['ask']): Promise<Buffer> {
  const tables = await ask(
    'select table_name as name from information_schema.tables where table_schema = current_schema()',
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
