/**
 * The schema of the event keys, in the same database as the store's own: `pg_dump --exclude-schema` omits it,
 * so that no backup contains both a payload and its key (docs/decisions/0014-event-keys.md).
 */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { StoreOpenError, StoreUnavailableError } from '../failure.ts'
import type { KeyPlace } from '../ports/inspector.ts'
import type { Engine } from './engine.ts'
import { sqlState } from './postgres-failure.ts'
import type { Db } from './tables.ts'

const suffix = '_event_keys'
// PostgreSQL truncates longer names without an error, so that two schemas could get the same name.
const maxNameBytes = 63

export interface KeySchema {
  readonly name: string
  readonly prepare: Engine['prepareKeys']
  describe(db: Db): Promise<KeyPlace>
}

/** The schema with the keys of the store in `schema`. */
export function makeKeySchema(schema: string): KeySchema {
  const name = nameOf(schema)
  return {
    name,
    async prepare(tx, prepare) {
      try {
        const found = await sql`select 1 from pg_namespace where nspname = ${name}`.execute(tx)
        if (found.rows.length === 0) await sql`create schema ${sql.id(name)}`.execute(tx)
        const { rows } = await sql<{ path: string }>`
          select current_setting('search_path') as path
        `.execute(tx)
        // Migrations name no schema; they run in the first one of the search path.
        await setPath(tx, `"${name.replaceAll('"', '""')}"`)
        await prepare(tx)
        await setPath(tx, rows[0]?.path ?? '')
      } catch (error) {
        throw isDenied(error) ? denied(name, error) : error
      }
    },
    async describe(db) {
      const { rows } = await sql<{ open: boolean }>`
        select has_schema_privilege('public', ${name}, 'usage') as open
      `.execute(db)
      const exposure = rows[0]?.open === true ? 'every role of the database may use it' : null
      return { place: `schema ${name}`, exposure }
    },
  }
}

function nameOf(schema: string): string {
  const name = `${schema}${suffix}`
  if (Buffer.byteLength(name) <= maxNameBytes) return name
  return `${createHash('sha256').update(schema).digest('hex').slice(0, 32)}${suffix}`
}

/** Until the transaction ends. */
async function setPath(tx: Parameters<KeySchema['prepare']>[0], path: string): Promise<void> {
  await sql`select set_config('search_path', ${path}, true)`.execute(tx)
}

/** 42501: insufficient_privilege. */
function isDenied(error: unknown): boolean {
  return error instanceof StoreUnavailableError && sqlState(error.cause) === '42501'
}

function denied(name: string, cause: unknown): StoreOpenError {
  return new StoreOpenError(
    'not_writable',
    `the user of DATABASE_URL may not make the schema "${name}", or tables in it: grant it CREATE on the database, or make the schema and give it to that user`,
    { cause },
  )
}
