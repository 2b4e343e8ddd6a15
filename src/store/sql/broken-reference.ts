/**
 * Tells a reference to a row that is gone from every other failure, on both engines: for writers that lose a race
 * against a deletion and have an answer to that.
 */
import { sqlState } from './postgres-failure.ts'

/** sqlite.org/rescode.html: SQLITE_CONSTRAINT_FOREIGNKEY. */
const sqliteForeignKey = 787

/** True when a statement failed because the row that it refers to does not exist. */
export function isBrokenReference(error: unknown): boolean {
  // PostgreSQL, Appendix A: foreign_key_violation.
  if (sqlState(error) === '23503') return true
  return error instanceof Error && 'errcode' in error && error.errcode === sqliteForeignKey
}
