/**
 * The embedded store as the source of a copy: locked against services, read and never written, its tables in
 * an order in which every row comes after those that it refers to.
 */
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { checkIdentity, type Keys, type StoreMode } from '../care/identity.ts'
import { compareMigrations, type MigrationFolder, newerSchema } from '../engine/migrate.ts'
import { enterExisting, type SqliteDirectory } from '../engine/sqlite-directory.ts'
import { toKysely } from '../engine/sqlite-engine.ts'
import { ifKeysDamaged, ifStoreDamaged, openFile } from '../engine/sqlite-file.ts'
import { StoreCopyError } from '../failure.ts'
import { type CopyColumn, isColumnType, needsBigInts } from './text-rows.ts'

/** Beside the store itself, the event keys have a place of their own. */
export type CopyPlace = 'store' | 'keys'

export interface SourceTable {
  readonly name: string
  readonly place: CopyPlace
  readonly columns: readonly CopyColumn[]
  /** The columns of the primary key, in its order. */
  readonly keyColumns: readonly string[]
  /** All rows by the primary key, read as they are asked for. */
  rows(): Iterable<readonly SQLOutputValue[]>
}

export interface CopySource {
  /** They open every sealed row. */
  readonly keys: Keys
  /** The same for the same store under the same key, and for no other. */
  readonly fingerprint: string
  /** The list of applied migrations is not among them: the target has its own. */
  readonly tables: readonly SourceTable[]
  close(): void
}

export interface SourceOptions {
  readonly dataDir: string
  readonly mode: StoreMode
  /** Called once the store is found and locked. */
  readonly loadKeys: () => Promise<Keys>
}

/**
 * Opens the embedded store until it is closed; no service can open it meanwhile.
 * @throws StoreOpenError as a service would; StoreCopyError when there is no store, or one of another
 *   version.
 */
export async function openSource(options: SourceOptions): Promise<CopySource> {
  const directory = enterExisting(options.dataDir)
  if (directory === null)
    throw new StoreCopyError(
      `there is no embedded store in ${options.dataDir}: set DATA_DIR to the data directory of the service`,
    )
  const opened: DatabaseSync[] = []
  const close = () => {
    for (const db of opened) db.close()
    directory.release()
  }
  try {
    const store = openForReading(directory, 'store', opened)
    const eventKeys = openForReading(directory, 'keys', opened)
    demandMigrated(store, 'migrations')
    demandMigrated(eventKeys, 'key-migrations')
    const keys = await options.loadKeys()
    const fingerprint = await identify({ store, eventKeys }, options.mode, keys)
    const tables = [...listTables(store, 'store'), ...listTables(eventKeys, 'keys')]
    return { keys, fingerprint, tables, close }
  } catch (error) {
    close()
    throw error
  }
}

const ifDamaged: Readonly<Record<CopyPlace, string>> = {
  store: ifStoreDamaged,
  keys: ifKeysDamaged,
}

/** A file that does not exist is not made: without its keys the store was restored and not started since. */
function openForReading(
  { databasePath, keysPath }: SqliteDirectory,
  place: CopyPlace,
  opened: DatabaseSync[],
): DatabaseSync {
  const path = place === 'store' ? databasePath : keysPath
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) throw notStarted(path)
  return openFile({ path, ifDamaged: ifDamaged[place] }, () => {
    // Not read-only: what a killed service left in the log must be readable.
    const db = new DatabaseSync(path)
    opened.push(db)
    db.exec('pragma query_only = on; pragma trusted_schema = off; begin')
    db.prepare('select count(*) from sqlite_schema').get()
    return db
  })
}

function notStarted(path: string): StoreCopyError {
  return new StoreCopyError(
    `${path} is missing or empty: start the service of this version on it once, stop it, and copy again`,
  )
}

function unmigrated(what: string): StoreCopyError {
  return new StoreCopyError(
    `${what} is not as this version makes it: start the service of this version on it once, stop it, and copy again`,
  )
}

/** @throws StoreOpenError `newer_schema` or `changed_migration`; StoreCopyError for an older schema. */
function demandMigrated(db: DatabaseSync, folder: MigrationFolder): void {
  const path = db.location() ?? folder
  const isListed = db
    .prepare("select 1 from sqlite_schema where type = 'table' and name = 'schema_migrations'")
    .get()
  if (isListed === undefined) throw unmigrated(path)
  const rows = db.prepare('select number, name, checksum from schema_migrations').all()
  const done = rows.map(({ number, name, checksum }) => ({
    number: Number(number),
    name: String(name),
    checksum: String(checksum),
  }))
  const { pending, newer } = compareMigrations(folder, done)
  const [first] = newer
  if (first !== undefined) throw newerSchema(first)
  if (pending.length > 0) throw unmigrated(path)
}

/** Proves that the keys open every sealed row. @throws StoreOpenError `wrong_mode` or `wrong_key`. */
async function identify(
  files: { readonly store: DatabaseSync; readonly eventKeys: DatabaseSync },
  mode: StoreMode,
  keys: Keys,
): Promise<string> {
  const db = toKysely(files.store)
  const keysDb = toKysely(files.eventKeys)
  await checkIdentity({ db, keysOf: () => keysDb }, mode, keys)
  const row = files.store.prepare("select value from meta where name = 'key_check'").get()
  return createHash('sha256').update(`${mode} ${row?.value}`).digest('hex')
}

function listTables(db: DatabaseSync, place: CopyPlace): SourceTable[] {
  const names = db
    .prepare(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'",
    )
    .all()
    .map(({ name }) => String(name))
    .filter((name) => name !== 'schema_migrations')
  const references = new Map(names.sort().map((name) => [name, listReferences(db, name)]))
  return sortByReference(references).map((name) => toTable(db, place, name))
}

/** The tables that rows of this one refer to. */
function listReferences(db: DatabaseSync, table: string): string[] {
  const rows = db.prepare('select "table" as name from pragma_foreign_key_list(?)').all(table)
  return rows.map(({ name }) => String(name))
}

/** A table comes after those that it refers to. @throws StoreCopyError when they refer to each other. */
export function sortByReference(references: ReadonlyMap<string, readonly string[]>): string[] {
  const sorted = new Set<string>()
  while (sorted.size < references.size) {
    const next = [...references].find(
      ([name, to]) => !sorted.has(name) && to.every((other) => other === name || sorted.has(other)),
    )
    if (next === undefined)
      throw new StoreCopyError('tables of the store refer to each other in a circle')
    sorted.add(next[0])
  }
  return [...sorted]
}

function toTable(db: DatabaseSync, place: CopyPlace, name: string): SourceTable {
  const described = db.prepare('select name, type, pk from pragma_table_info(?)').all(name)
  const columns = described.map((column): CopyColumn => {
    const type = String(column.type).toLowerCase()
    if (isColumnType(type)) return { name: String(column.name), type }
    throw new StoreCopyError(
      `the column ${column.name} of the table ${name} has the type "${type}", which this version does not know`,
    )
  })
  const keyColumns = described
    .filter(({ pk }) => Number(pk) > 0)
    .sort((left, right) => Number(left.pk) - Number(right.pk))
    .map((column) => String(column.name))
  if (keyColumns.length === 0)
    throw new StoreCopyError(
      `the table ${name} has no primary key, so this version does not know it`,
    )
  return {
    name,
    place,
    columns,
    keyColumns,
    rows: () => readRows(db, { name, place, columns, keyColumns }),
  }
}

/**
 * @throws StoreOpenError when the file is damaged or cannot be read: what is read last may be where the
 *   damage is.
 */
function* readRows(
  db: DatabaseSync,
  { name, place, columns, keyColumns }: Omit<SourceTable, 'rows'>,
): Generator<readonly SQLOutputValue[]> {
  const [listed, order] = [columns.map((column) => column.name), keyColumns].map((names) =>
    names.map(quoteName).join(', '),
  )
  const file = { path: db.location() ?? name, ifDamaged: ifDamaged[place] }
  const statement = openFile(file, () =>
    db.prepare(`select ${listed} from ${quoteName(name)} order by ${order}`),
  )
  statement.setReturnArrays(true)
  statement.setReadBigInts(needsBigInts(columns))
  // Rows are arrays since `setReturnArrays`.
  const rows = statement.iterate() as unknown as Iterator<readonly SQLOutputValue[]>
  for (;;) {
    const { done, value } = openFile(file, () => rows.next())
    if (done === true) return
    yield value
  }
}

/** A name as both engines quote it. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
