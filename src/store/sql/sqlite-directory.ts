/**
 * The data directory of the embedded store: who may look into it, and the lock that lets one process in. The lock is an
 * exclusive SQLite lock on a file of its own: the kernel frees it when its holder dies, so it never goes stale.
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StoreOpenError } from '../failure.ts'
import type { StoreLog } from './engine.ts'
import { sqliteCode } from './sqlite-statements.ts'

export interface SqliteDirectory {
  readonly databasePath: string
  /** Lets the next process in. */
  release(): void
}

/**
 * Makes the directory (0700) and the files (0600) where they are missing, and locks it.
 * @throws StoreOpenError `in_use` or `not_writable`.
 */
export function enterDirectory(dataDir: string, log: StoreLog): SqliteDirectory {
  const databasePath = join(dataDir, 'tributary.db')
  const lockPath = join(dataDir, 'tributary.lock')
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    makePrivate(lockPath)
    makePrivate(databasePath)
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    throw new StoreOpenError(
      'not_writable',
      `the data directory ${dataDir} cannot be written (${code})`,
      { cause },
    )
  }
  warnOfOnlookers(dataDir, log)
  const lock = takeLock(lockPath, dataDir)
  return { databasePath, release: () => lock.close() }
}

/**
 * SQLite gives its side files (-wal, -shm) the mode of the main file. A file that is there is never opened here: closing
 * any handle of a file gives up all POSIX locks that this process has on it (sqlite.org/howtocorrupt.html §2.2).
 */
function makePrivate(path: string): void {
  if (existsSync(path)) chmodSync(path, 0o600)
  else closeSync(openSync(path, 'wx', 0o600))
}

/** A directory that was there before is not ours to close: it may be shared on purpose. */
function warnOfOnlookers(dataDir: string, log: StoreLog): void {
  // Windows has no such bits: there the directory's own access list holds.
  if (process.platform === 'win32' || (statSync(dataDir).mode & 0o077) === 0) return
  log({ level: 'warn', message: `others may look into ${dataDir}: its mode should be 0700` })
}

function takeLock(path: string, dataDir: string): DatabaseSync {
  const lock = new DatabaseSync(path)
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
    return lock
  } catch (cause) {
    lock.close()
    // 5: SQLITE_BUSY.
    if (sqliteCode(cause) === 5)
      throw new StoreOpenError(
        'in_use',
        `another process has the store in ${dataDir} open: stop it, or set another DATA_DIR`,
        { cause },
      )
    throw new StoreOpenError('not_writable', `the lock file ${path} cannot be locked`, { cause })
  }
}
