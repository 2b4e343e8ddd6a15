/**
 * Tells an outage of PostgreSQL from a mistake of ours. An outage is what may be over by the next call: no connection,
 * a server that is starting, stopping, full or standing by, a statement that took too long.
 */
import { StoreUnavailableError } from '../failure.ts'

/** PostgreSQL, Appendix A, by class: connection exception, insufficient resources, system error. */
const awayClasses: ReadonlySet<string> = new Set(['08', '53', '58'])

/**
 * read_only_sql_transaction (a standby after a failover), lock_not_available, query_canceled (statement timeout),
 * admin_shutdown, crash_shutdown, cannot_connect_now, idle_in_transaction_session_timeout.
 */
const awayCodes: ReadonlySet<string> = new Set([
  '25006',
  '55P03',
  '57014',
  '57P01',
  '57P02',
  '57P03',
  '25P03',
])

/** An error of `pg` as the house sees it. Those that are no outage come back as they are. */
export function toStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnavailableError) return error
  if (!isOutage(error)) return error
  return new StoreUnavailableError(`PostgreSQL does not answer: ${error.message}`, {
    cause: error,
  })
}

/** The SQLSTATE of an error, or null when the server did not speak. */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || !('severity' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

function isOutage(error: Error): boolean {
  const state = sqlState(error)
  if (state !== null) return awayClasses.has(state.slice(0, 2)) || awayCodes.has(state)
  // Sockets speak in system error codes (ECONNREFUSED, EPIPE …); a name look-up failure is one too.
  if ('syscall' in error || error instanceof AggregateError) return true
  // The driver's own errors have neither code nor class: only their words.
  return /^(connection terminated|timeout e|query read timeout|client (was closed|has encountered))/i.test(
    error.message,
  )
}
