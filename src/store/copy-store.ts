/**
 * Copies the embedded store into a PostgreSQL: first the database is marked, so that no service opens it,
 * then one transaction makes the tables, fills and verifies them, and removes the mark. Whatever ends the
 * copy before leaves the mark alone there, and the next copy begins anew.
 */

import { checkIdentity, type Keys, type StoreMode } from './care/identity.ts'
import { openSource, type SourceTable } from './copy/copy-source.ts'
import { type CopiedTable, copyTable } from './copy/copy-table.ts'
import {
  type CopyTarget,
  claimTarget,
  listTargetColumns,
  lockTarget,
  openTarget,
  prepareTarget,
  recordCopy,
  type TargetColumn,
  toCopyFailure,
} from './copy/copy-target.ts'
import { setAside } from './copy/set-aside.ts'
import { StoreCopyError } from './failure.ts'
import { makeSealer } from './seal.ts'

export type { CopiedTable }

export interface CopyStoreOptions {
  /** The data directory of the embedded store. */
  readonly dataDir: string
  readonly databaseUrl: string
  readonly mode: StoreMode
  /** Called once the store is found: 32 bytes each, and where the operator keeps them, for messages. */
  readonly loadKeys: () => Promise<{
    readonly encryptionKeys: readonly Uint8Array[]
    readonly encryptionKeysIn: string
  }>
  readonly onProgress?: (progress: CopyProgress) => void
}

export type CopyProgress =
  /** The database is marked: services refuse it until the copy has finished. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'sent'; readonly table: string; readonly rows: number }
  | { readonly kind: 'verified'; readonly table: CopiedTable }

/**
 * @returns every table with the number and the digest of its rows, which are the same on both sides.
 * @throws StoreOpenError, StoreCopyError, StoreUnavailableError. The target is then no store yet, and the
 *   source unchanged.
 */
export async function copyStore(options: CopyStoreOptions): Promise<readonly CopiedTable[]> {
  const { dataDir, databaseUrl, mode } = options
  const report = options.onProgress ?? (() => {})
  const loadKeys = async (): Promise<Keys> => {
    const { encryptionKeys, encryptionKeysIn } = await options.loadKeys()
    return { sealer: makeSealer(encryptionKeys), keysIn: encryptionKeysIn }
  }
  const source = await openSource({ dataDir, mode, loadKeys })
  const { keys } = source
  try {
    const target = await openTarget(databaseUrl)
    try {
      await inTransaction(target, (tx) => claimTarget(tx, source.fingerprint))
      report({ kind: 'begun' })
      return await inTransaction(target, async (tx) => {
        // Another copy may have come in between.
        await claimTarget(tx, source.fingerprint)
        await prepareTarget(target, tx, keys.sealer)
        const schemas = matchTables(source.tables, await listTargetColumns(tx))
        const putBack = await setAside(tx, [...new Set(schemas.values())])
        const copied: CopiedTable[] = []
        for (const table of source.tables) {
          const schema = schemas.get(table) ?? ''
          const onRows = (rows: number) => report({ kind: 'sent', table: table.name, rows })
          const done = await copyTable({ client: target.client, schema }, table, onRows)
          copied.push(done)
          report({ kind: 'verified', table: done })
        }
        await putBack()
        // The target opens under the same keys.
        await checkIdentity({ db: tx, keysOf: target.engine.keysOf }, mode, keys)
        await recordCopy(tx, new Date())
        return copied
      })
    } finally {
      await target.engine.close()
    }
  } catch (error) {
    throw toCopyFailure(error, databaseUrl)
  } finally {
    source.close()
  }
}

function inTransaction<Result>(
  target: CopyTarget,
  work: (tx: Parameters<typeof lockTarget>[1]) => Promise<Result>,
): Promise<Result> {
  return target.engine.db.transaction().execute(async (tx) => {
    await lockTarget(target, tx)
    return work(tx)
  })
}

/** The types of the portable subset as PostgreSQL names them, where it has another name. */
const longNames: Readonly<Record<string, string>> = { timestamptz: 'timestamp with time zone' }

/**
 * The schema of each table.
 * @throws StoreCopyError when a table or column is on one side alone, or has another type.
 */
function matchTables(
  tables: readonly SourceTable[],
  targets: readonly TargetColumn[],
): ReadonlyMap<SourceTable, string> {
  const there = new Map(targets.map((one) => [`${one.place} ${one.table}.${one.name}`, one]))
  const schemas = new Map<SourceTable, string>()
  for (const table of tables)
    for (const { name, type } of table.columns) {
      const key = `${table.place} ${table.name}.${name}`
      const found = there.get(key)
      if (found?.type !== (longNames[type] ?? type))
        throw new StoreCopyError(
          `this version does not know the column ${name} (${type}) of the table ${table.name}, which the embedded store has: remove what was added to the store by hand`,
        )
      there.delete(key)
      schemas.set(table, found.schema)
    }
  const [missing] = there.values()
  if (missing === undefined) return schemas
  throw new StoreCopyError(
    `the embedded store lacks the column ${missing.name} of the table ${missing.table}: it is not as this version makes it`,
  )
}
