/**
 * The data directory of the embedded store: its permissions, and the lock that admits one process. The lock
 * is an exclusive SQLite lock on a separate file: the operating system releases it when the process ends, so
 * it is never stale.
 */
import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { errorCode } from '#kernel/error-code.ts'
import { StoreOpenError } from '../failure.ts'
import type { StoreLog } from '../log.ts'
import { describeOnlookers, makeFolder } from '../make-folder.ts'
import { SymlinkError, setMode, statPlain } from '../plain-file.ts'
import { sqliteCode } from './sqlite-statements.ts'

export interface SqliteDirectory {
  readonly databasePath: string
  /** The keys of events, in a file of their own. */
  readonly keysPath: string
  /** Releases the lock. */
  release(): void
}

/**
 * Creates the directory (0700) and the files (0600) where they are missing, and locks the directory.
 * @throws StoreOpenError `in_use` or `not_writable`.
 */
export function enterDirectory(dataDir: string, log: StoreLog): SqliteDirectory {
  const databasePath = join(dataDir, 'tributary.db')
  const keysPath = join(dataDir, 'event-keys.db')
  const lockPath = join(dataDir, 'tributary.lock')
  try {
    makeFolder(dataDir)
    makePrivate(lockPath)
    makePrivate(databasePath)
    makePrivate(keysPath)
    refuseLinkedSides(lockPath, databasePath, keysPath)
  } catch (cause) {
    throw notWritable(dataDir, cause)
  }
  const onlookers = describeOnlookers(dataDir)
  if (onlookers !== null) log({ level: 'warn', message: onlookers })
  const lock = takeLock(lockPath, dataDir)
  return { databasePath, keysPath, release: () => lock.close() }
}

/**
 * Locks the directory of an existing store and creates no other file; null when there is no store.
 * @throws StoreOpenError `in_use` or `not_writable`.
 */
export function enterExisting(dataDir: string): SqliteDirectory | null {
  const databasePath = join(dataDir, 'tributary.db')
  const keysPath = join(dataDir, 'event-keys.db')
  const lockPath = join(dataDir, 'tributary.lock')
  try {
    // An empty file was never written to.
    if ((statPlain(databasePath)?.size ?? 0) === 0) return null
    statPlain(keysPath)
    makePrivate(lockPath)
    refuseLinkedSides(lockPath, databasePath, keysPath)
  } catch (cause) {
    throw notWritable(dataDir, cause)
  }
  const lock = takeLock(lockPath, dataDir)
  return { databasePath, keysPath, release: () => lock.close() }
}

function notWritable(dataDir: string, cause: unknown, known?: string): StoreOpenError {
  if (cause instanceof SymlinkError)
    return new StoreOpenError('not_writable', cause.message, { cause })
  const code = known ?? (errorCode(cause) || 'unknown')
  return new StoreOpenError(
    'not_writable',
    `the data directory ${dataDir} cannot be written (${code}); see that the user of this process may write there and that its disk has space, or set another DATA_DIR`,
    { cause },
  )
}

/** SQLite follows no link in the place of its side files: the error would name the disk. */
function refuseLinkedSides(...paths: readonly string[]): void {
  for (const path of paths)
    for (const side of ['-wal', '-shm', '-journal']) statPlain(`${path}${side}`)
}

/**
 * SQLite creates its side files (-wal, -shm) with the mode of the main file. It would follow a link in the
 * place of a main file, which is therefore refused here. An existing file is opened here only to change its
 * mode, and the mode of one that this process uses was changed before: closing any handle of a file drops all
 * POSIX locks that this process has on it (sqlite.org/howtocorrupt.html §2.2).
 */
function makePrivate(path: string): void {
  const found = statPlain(path)
  if (found === undefined) closeSync(openSync(path, 'wx', 0o600))
  // Windows has no such permission bits.
  if (found === undefined || process.platform === 'win32') return
  if ((found.mode & 0o777) !== 0o600) setMode(path, 0o600)
  accessSync(path, constants.R_OK | constants.W_OK)
}

/** Who may read the file beside its owner; null: nobody. Windows has no such permission bits. */
export function describeExposure(path: string): string | null {
  const mode = statSync(path).mode & 0o777
  if (process.platform === 'win32' || (mode & 0o077) === 0) return null
  return `other users of this machine may read it (mode 0${mode.toString(8)})`
}

function takeLock(path: string, dataDir: string): DatabaseSync {
  let lock: DatabaseSync | null = null
  try {
    lock = new DatabaseSync(path)
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
    return lock
  } catch (cause) {
    lock?.close()
    // 5: SQLITE_BUSY.
    if (sqliteCode(cause) === 5)
      throw new StoreOpenError(
        'in_use',
        `another process has the store in ${dataDir} open: stop it, or set another DATA_DIR`,
        { cause },
      )
    // 8: SQLITE_READONLY. The file is ours and may be written: the directory may not.
    if (sqliteCode(cause) === 8) throw notWritable(dataDir, cause, 'no right to write')
    const reason = cause instanceof Error ? cause.message : 'unknown'
    throw new StoreOpenError(
      'not_writable',
      `the lock file ${path} cannot be locked (${reason}); see that its disk has space and is no network share, and where no process runs remove the file`,
      { cause },
    )
  }
}
