/**
 * The pool of PostgreSQL connections: bounded in number and in every wait, its values through the codec, its failures
 * told apart. In the shape that Kysely's PostgreSQL dialect asks for.
 */
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import { Pool, type PoolClient } from 'pg'
import { postgresTypes } from './postgres-codec.ts'
import { toStoreError } from './postgres-failure.ts'

/** One wait for a connection, one statement at the server, one answer on the wire. */
const connectTimeoutMs = 2_000
const statementTimeoutMs = 10_000
const answerTimeoutMs = 12_000
const idleInTransactionMs = 30_000
const maxConnections = 10

/** What every connection of this process asks for, in the pool or beside it. */
export function connectionSettings(databaseUrl: string) {
  return {
    connectionString: databaseUrl,
    application_name: 'tributary',
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: answerTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    types: postgresTypes,
  }
}

export interface StorePool {
  /** For Kysely, which ends it too. */
  readonly forKysely: PostgresPool
  /** Runs one statement, prepared once per connection under its name. */
  named(name: string, text: string, values: readonly unknown[]): Promise<readonly unknown[]>
}

/** Makes the pool; it connects with the first query. */
export function makePool(databaseUrl: string): StorePool {
  const pool = new Pool({ ...connectionSettings(databaseUrl), max: maxConnections })
  // Without a listener the loss of an idle connection would end the process; the pool replaces it by itself.
  pool.on('error', () => {})
  // The same for one that is checked out: its query fails with the same error, which is where it is told.
  pool.on('connect', (client) => {
    client.on('error', () => {})
  })
  return {
    forKysely: {
      connect: async () => wrap(await waitFor(pool.connect())),
      end: () => pool.end(),
      options: pool.options,
    },
    async named(name, text, values) {
      const { rows } = await waitFor(pool.query({ name, text, values: [...values] }))
      return rows
    },
  }
}

async function waitFor<Result>(step: Promise<Result>): Promise<Result> {
  try {
    return await step
  } catch (error) {
    throw toStoreError(error)
  }
}

/** A connection that failed once as a connection is not given back: its next answer might be a late one. */
function wrap(client: PoolClient): PostgresPoolClient {
  let broken = false
  const query = async (text: string, values: readonly unknown[]) => {
    try {
      return await client.query(text, [...values])
    } catch (error) {
      const failure = toStoreError(error)
      if (failure !== error) broken = true
      throw failure
    }
  }
  return {
    // The dialect's cursor form is never used: rows are read in bounded lists.
    query: query as unknown as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy === true || broken),
  }
}
