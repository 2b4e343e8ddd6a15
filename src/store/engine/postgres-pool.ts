/**
 * The pool of PostgreSQL connections: the number of connections and every wait are bounded, values pass
 * through the codec, and outages are distinguished from bugs. It has the interface that Kysely's PostgreSQL
 * dialect expects.
 */
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import { type ClientBase, Pool, type PoolClient } from 'pg'
import { postgresTypes } from './postgres-codec.ts'
import { type PostgresTarget, toConnectError, toStoreError, toTarget } from './postgres-failure.ts'
import { makePipeline } from './postgres-pipeline.ts'

/** Limits: connecting, one statement on the server, one answer over the network. */
const connectTimeoutMs = 2_000
const statementTimeoutMs = 10_000
const answerTimeoutMs = 12_000
const idleInTransactionMs = 30_000
const maxConnections = 10

/** What every connection is opened with, in the pool or outside it; then `limitSession` is called. */
export function connectionSettings(databaseUrl: string) {
  return {
    connectionString: toDriverUrl(databaseUrl),
    application_name: 'tributary',
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: answerTimeoutMs,
    types: postgresTypes,
  }
}

/** What the driver does for both modes, by the name that no later version will read as less. */
const toDriverUrl = (databaseUrl: string) =>
  databaseUrl.replace(/([?&]sslmode=)(?:require|verify-ca)(?=&|$)/g, '$1verify-full')

/**
 * The first statement of a connection: the server's own limits. As parameters of the start they would be
 * refused by PgBouncer, which knows no others than it keeps itself.
 */
export async function limitSession(
  client: ClientBase,
  statementMs = statementTimeoutMs,
  idleMs = idleInTransactionMs,
): Promise<void> {
  await client.query(
    `set statement_timeout = ${statementMs}; set idle_in_transaction_session_timeout = ${idleMs}`,
  )
}

/** Makes the pool; it connects on the first query, and Kysely closes it. */
export function makePool(databaseUrl: string): PostgresPool {
  const pool = new Pool({
    ...connectionSettings(databaseUrl),
    max: maxConnections,
    onConnect: (client) => limitSession(client),
  })
  const target = toTarget(databaseUrl)
  // Without a listener the loss of an idle connection would end the process; the pool replaces it.
  pool.on('error', () => {})
  // The same for a connection in use, whose query reports the error.
  pool.on('connect', (client) => {
    client.on('error', () => {})
  })
  async function connect(): Promise<PoolClient> {
    try {
      return await pool.connect()
    } catch (error) {
      throw toConnectError(error, target)
    }
  }
  return {
    connect: async () => wrap(await connect(), target),
    end: () => pool.end(),
    options: pool.options,
  }
}

/** After a connection error the connection is discarded: its next answer might belong to an earlier query. */
function wrap(client: PoolClient, target: PostgresTarget): PostgresPoolClient {
  let broken = false
  const run = makePipeline(client)
  const query = async (text: string, values: readonly unknown[]) => {
    try {
      return await run(text, values)
    } catch (error) {
      const failure = toStoreError(error, target)
      if (failure !== error) broken = true
      throw failure
    }
  }
  return {
    // Kysely's cursor overload is never used, because rows are read in bounded lists.
    query: query as unknown as PostgresPoolClient['query'],
    release: (destroy) => client.release(destroy === true || broken),
  }
}
