/** Opening a file of the embedded store, and what an operator should do when it cannot be opened. */
import { StoreOpenError, StoreUnavailableError, toAdvice } from '../failure.ts'
import { onDisk, sqliteCode } from './sqlite-statements.ts'

export const ifStoreDamaged = 'Move it away with its -wal and -shm, and restore a backup'
export const ifKeysDamaged =
  'Move it away with its -wal and -shm, and start: a new one is made, and events that wait are not delivered'

interface FileOf {
  readonly path: string
  /** What to do when the file is damaged. */
  readonly ifDamaged: string
}

/** @throws StoreOpenError with the file's name. */
export function openFile<Result>(file: FileOf, open: () => Result): Result {
  try {
    return onDisk(open)
  } catch (cause) {
    throw toOpenError(file, cause)
  }
}

/** 11, 26: the file is not a valid database. Other disk errors can be repaired without a backup. */
function toOpenError({ path, ifDamaged }: FileOf, cause: unknown): unknown {
  if (!(cause instanceof StoreUnavailableError)) return cause
  const code = sqliteCode(cause.cause)
  return code === 11 || code === 26
    ? new StoreOpenError('damaged', `${path}: ${cause.message}. ${ifDamaged}`, { cause })
    : new StoreOpenError('not_writable', `${path}: ${toAdvice(cause)}`, { cause })
}
