/**
 * Migrates a schema with the numbered files of a folder, all in the caller's transaction, so that a failed start leaves
 * the store unchanged. Files are append-only; one that changed after it ran is refused.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { StoreOpenError } from '../failure.ts'
import { isUnfinishedCopy, unfinishedCopy } from './copy/unfinished-copy.ts'
import type { Db } from './tables.ts'

/** The store and the place of the event keys; each has its own list of applied migrations. */
export type MigrationFolder = 'migrations' | 'key-migrations'

/** A row of `schema_migrations`. */
export interface AppliedMigration {
  readonly number: number
  readonly name: string
  readonly checksum: string
}

interface Migration extends AppliedMigration {
  readonly statements: readonly string[]
}

/**
 * Applies missing migrations and returns their names.
 * @throws StoreOpenError `newer_schema` when the store has migrations that this code does not know, `changed_migration`
 *   when the checksum of an applied one differs, `unfinished_copy` when a copy into this store has not ended.
 */
export async function migrate(tx: Db, folder: MigrationFolder): Promise<readonly string[]> {
  await createMigrationList(tx)
  const done = await tx.selectFrom('schema_migrations').selectAll().orderBy('number').execute()
  const pending = listPending(folder, done)
  for (const migration of pending) await apply(tx, migration)
  return pending.map((migration) => migration.name)
}

/** The list of applied migrations. */
export async function createMigrationList(tx: Db): Promise<void> {
  await sql`create table if not exists schema_migrations (
    number integer not null primary key,
    name text not null,
    checksum text not null
  )`.execute(tx)
}

/**
 * The migrations that a store with these lacks, in order.
 * @throws StoreOpenError as `migrate` does.
 */
export function listPending(
  folder: MigrationFolder,
  done: readonly AppliedMigration[],
): readonly Migration[] {
  const migrations = readMigrations(folder)
  const known = new Map(migrations.map((migration) => [migration.number, migration]))
  for (const row of done) {
    if (isUnfinishedCopy(row)) throw unfinishedCopy()
    const migration = known.get(row.number)
    if (migration === undefined)
      throw new StoreOpenError(
        'newer_schema',
        `the store was made by a newer version (migration ${row.name}): start that version, or restore a backup`,
      )
    if (migration.checksum !== row.checksum)
      throw new StoreOpenError(
        'changed_migration',
        `migration ${row.name} is not the one that ran on this store: restore the file`,
      )
  }
  return migrations.slice(done.length)
}

async function apply(tx: Db, { number, name, checksum, statements }: Migration): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(tx)
  await tx.insertInto('schema_migrations').values({ number, name, checksum }).execute()
}

/** How many migrations of the store this code knows. */
export function countMigrations(): number {
  return readMigrations('migrations').length
}

/** The files in order, numbered from 1 without a gap, so that a count identifies the applied ones. */
function readMigrations(name: MigrationFolder): readonly Migration[] {
  const folder = join(import.meta.dirname, name)
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'))
  return files.sort().map((file, index) => {
    const number = index + 1
    if (!file.startsWith(`${String(number).padStart(4, '0')}_`))
      throw new Error(`migration ${file} is out of order: ${number} was expected`)
    // Git may have converted the line endings.
    const text = readFileSync(join(folder, file), 'utf8').replaceAll('\r\n', '\n')
    return {
      number,
      name: file.slice(0, -'.sql'.length),
      checksum: createHash('sha256').update(text).digest('hex'),
      statements: splitStatements(text),
    }
  })
}

/** SQLite runs one statement per call. A statement ends with a semicolon at the end of a line. */
function splitStatements(text: string): readonly string[] {
  return text
    .replaceAll(/^--.*$/gm, '')
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}
