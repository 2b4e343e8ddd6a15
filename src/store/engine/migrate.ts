/**
 * Migrates a schema with the numbered files of a folder, all in the caller's transaction, so that a failed
 * start leaves the store unchanged. Files are append-only; one that changed after it ran is refused. Each
 * file says how old the code may be that runs on the schema beside it
 * (docs/decisions/0018-expand-and-contract.md), and its row in the store says so too, for code that does not
 * have the file.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { StoreOpenError } from '../failure.ts'
import { sqlState } from './postgres-failure.ts'
import type { Db } from './tables.ts'
import { isUnfinishedCopy, unfinishedCopy } from './unfinished-copy.ts'

/** The store and the place of the event keys; each has its own list of applied migrations. */
export type MigrationFolder = 'migrations' | 'key-migrations'

/** The first migrations of each folder whose rows say what code they need; older code reads no such row. */
const firstWithNeeds: Readonly<Record<MigrationFolder, number>> = {
  migrations: 17,
  'key-migrations': 2,
}

/** A row of `schema_migrations`. */
export interface AppliedMigration {
  readonly number: number
  readonly name: string
  /**
   * SHA-256 of the file; then ` needs N` where code that knows N migrations or more may run on the schema.
   */
  readonly checksum: string
}

interface Migration extends AppliedMigration {
  readonly statements: readonly string[]
}

export interface Migrated {
  /** The names of those that were missing. */
  readonly applied: readonly string[]
  /** The names of those of a newer version, beside which this code may run. */
  readonly newer: readonly string[]
}

/**
 * Applies missing migrations.
 * @throws StoreOpenError `newer_schema` when the store has migrations that this code does not know and may
 *   not run on, `changed_migration` when the checksum of an applied one differs, `mixed_schema` when
 *   what a missing one makes is there, `unfinished_copy` when a copy into this store has not ended.
 */
export async function migrate(tx: Db, folder: MigrationFolder): Promise<Migrated> {
  await createMigrationList(tx)
  const done = await tx.selectFrom('schema_migrations').selectAll().orderBy('number').execute()
  const { pending, newer } = compareMigrations(folder, done)
  for (const migration of pending) await apply(tx, migration)
  return { applied: pending.map(({ name }) => name), newer: newer.map(({ name }) => name) }
}

export async function createMigrationList(tx: Db): Promise<void> {
  await sql`create table if not exists schema_migrations (
    number integer not null primary key,
    name text not null,
    checksum text not null
  )`.execute(tx)
}

/**
 * The migrations that a store with these lacks, and those that this code does not have, in order.
 * @throws StoreOpenError as `migrate` does.
 */
export function compareMigrations(folder: MigrationFolder, done: readonly AppliedMigration[]) {
  const migrations = readMigrations(folder)
  const known = new Map(migrations.map((migration) => [migration.number, migration]))
  const newer: AppliedMigration[] = []
  for (const row of done) {
    if (isUnfinishedCopy(row)) throw unfinishedCopy()
    const migration = known.get(row.number)
    if (migration === undefined) {
      if (!admits(row, migrations.length)) throw newerSchema(row)
      newer.push(row)
      continue
    }
    if (migration.checksum !== row.checksum)
      throw new StoreOpenError(
        'changed_migration',
        `migration ${row.name} is not the one that ran on this store: restore the file`,
      )
  }
  return { pending: migrations.slice(done.length), newer }
}

/** Whether code that knows this many migrations may run on the schema of this one. */
function admits({ checksum }: AppliedMigration, known: number): boolean {
  const needs = / needs (\d+)$/.exec(checksum)?.[1]
  return needs !== undefined && Number(needs) <= known
}

export function newerSchema({ name }: Pick<AppliedMigration, 'name'>): StoreOpenError {
  return new StoreOpenError(
    'newer_schema',
    `the store was made by a newer version (migration ${name}): start that version, or restore a backup`,
  )
}

async function apply(tx: Db, { number, name, checksum, statements }: Migration): Promise<void> {
  for (const statement of statements)
    await sql
      .raw(statement)
      .execute(tx)
      .catch((error: unknown) => {
        throw isThere(error) ? mixedSchema(name, error) : error
      })
  await tx.insertInto('schema_migrations').values({ number, name, checksum }).execute()
}

/** duplicate_column, duplicate_object and duplicate_table of PostgreSQL. */
const thereCodes: ReadonlySet<string | null> = new Set(['42701', '42710', '42P07'])

/** What a migration makes is there already; SQLite tells it in words alone. */
function isThere(error: unknown): boolean {
  if (thereCodes.has(sqlState(error))) return true
  return (
    error instanceof Error &&
    /^(table|index) \S+ already exists|^duplicate column/.test(error.message)
  )
}

function mixedSchema(name: string, cause: unknown): StoreOpenError {
  return new StoreOpenError(
    'mixed_schema',
    `the store has what migration ${name} makes, and its list of migrations ends before it: a backup was restored over the tables of a newer version. Restore it again into an empty schema (docs/operations/install.md, Backup and restore)`,
    { cause },
  )
}

/** How many migrations of the store this code knows. */
export function countMigrations(): number {
  return readMigrations('migrations').length
}

/** The files in order, numbered from 1 without a gap, so that a count identifies the applied ones. */
function readMigrations(folder: MigrationFolder): readonly Migration[] {
  const path = join(import.meta.dirname, '..', folder)
  const files = readdirSync(path).filter((file) => file.endsWith('.sql'))
  return files.sort().map((file, index) => {
    const number = index + 1
    if (!file.startsWith(`${String(number).padStart(4, '0')}_`))
      throw new Error(`migration ${file} is out of order: ${number} was expected`)
    // Git may have converted the line endings.
    const text = readFileSync(join(path, file), 'utf8').replaceAll('\r\n', '\n')
    const sha256 = createHash('sha256').update(text).digest('hex')
    const hasNeeds = number >= firstWithNeeds[folder]
    return {
      number,
      name: file.slice(0, -'.sql'.length),
      checksum: hasNeeds ? `${sha256} needs ${readNeeds(text)}` : sha256,
      statements: splitStatements(text),
    }
  })
}

/** What its line `-- Needs: 0017` says; any code that knows of such lines may run beside one without it. */
function readNeeds(text: string): number {
  return Number(/^-- Needs: (\d{4})$/m.exec(text)?.[1] ?? 0)
}

/** SQLite runs one statement per call. A statement ends with a semicolon at the end of a line. */
function splitStatements(text: string): readonly string[] {
  return text
    .replaceAll(/^--.*$/gm, '')
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}
