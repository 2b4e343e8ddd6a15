/** Recognises a foreign key violation on both engines, for writers that may lose a race with a deletion. */
import { sqlState } from './postgres-failure.ts'

/** sqlite.org/rescode.html: SQLITE_CONSTRAINT_FOREIGNKEY. */
const sqliteForeignKey = 787

/** True when a statement failed because the referenced row does not exist. */
export function isBrokenReference(error: unknown): boolean {
  // PostgreSQL, Appendix A: foreign_key_violation.
  if (sqlState(error) === '23503') return true
  return error instanceof Error && 'errcode' in error && error.errcode === sqliteForeignKey
}
