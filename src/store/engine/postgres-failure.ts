/**
 * Distinguishes an outage of PostgreSQL from a bug of ours. An outage may be over by the next call: no
 * connection, refused credentials, a server that is starting, stopping, full or a standby, a statement that
 * took too long.
 */
import { parseServerUrl } from '#kernel/server-url.ts'
import { isCertificateRefusal, StoreUnavailableError } from '../failure.ts'

/**
 * PostgreSQL, Appendix A, by class: connection exception, invalid authorization (a refused login),
 * insufficient resources, operator intervention (shutdown, not ready, statement timeout), system error.
 */
const awayClasses: ReadonlySet<string> = new Set(['08', '28', '53', '57', '58'])

/**
 * invalid_catalog_name (the database does not exist), read_only_sql_transaction (a standby after a failover),
 * idle_in_transaction_session_timeout, insufficient_privilege (a right was revoked),
 * object_not_in_prerequisite_state (the database accepts no connections), lock_not_available.
 */
const awayCodes: ReadonlySet<string> = new Set([
  '3D000',
  '25006',
  '25P03',
  '42501',
  '55000',
  '55P03',
])

/** The user, database and host of a connection, for operators; without the password. */
export interface PostgresTarget {
  /** Null: the driver's own default. */
  readonly role: string | null
  readonly database: string | null
  readonly host: string
}

/** The target that `DATABASE_URL` names, as the driver reads it: the last of a parameter, then the rest. */
export function toTarget(databaseUrl: string): PostgresTarget {
  const read = parseServerUrl(databaseUrl)
  if (read === null) return { role: null, database: null, host: 'the host of DATABASE_URL' }
  const { url, host } = read
  const last = (name: string) => url.searchParams.getAll(name).at(-1)
  const name = last('host') || (host === '' ? '' : url.hostname)
  const port = last('port') || url.port
  return {
    role: last('user') || decode(url.username) || null,
    database: decode(url.pathname.slice(1)) || null,
    host: `${name || 'the local socket'}${port && `:${port}`}`,
  }
}

/** Text with an invalid percent escape is used as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return text
    throw error
  }
}

/** Converts an outage reported by `pg` to StoreUnavailableError; other errors are returned unchanged. */
export function toStoreError(error: unknown, target: PostgresTarget): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnavailableError) return error
  return isOutage(error) ? unavailable(error, target) : error
}

/** As `toStoreError`, for connecting: every failure to connect is an outage. */
export function toConnectError(error: unknown, target: PostgresTarget): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnavailableError) return error
  return unavailable(error, target)
}

/** The SQLSTATE of an error, or null when the server sent none. */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || !('severity' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

function isOutage(error: Error): boolean {
  const state = sqlState(error)
  if (state !== null) return awayClasses.has(state.slice(0, 2)) || awayCodes.has(state)
  // Socket errors have system error codes (ECONNREFUSED, EPIPE …); a failed name look-up has one too.
  if ('syscall' in error || error instanceof AggregateError) return true
  // Errors of the driver itself have neither code nor class, so they are recognised by their message.
  return /^(connection terminated|timeout e|query read timeout|client (was closed|has encountered))/i.test(
    error.message,
  )
}

function unavailable(error: Error, target: PostgresTarget): StoreUnavailableError {
  const { sentence, remedy } = explain(error, target)
  return new StoreUnavailableError(`${sentence}: ${wordsOf(error)}`, {
    cause: error,
    ...(remedy === null ? {} : { remedy }),
  })
}

/** When several addresses of one name fail, the combined error has no message. */
function wordsOf(error: Error): string {
  if (!(error instanceof AggregateError) || error.message !== '') return error.message
  return error.errors.map((one) => (one instanceof Error ? one.message : String(one))).join('; ')
}

interface Explained {
  readonly sentence: string
  readonly remedy: string | null
}

/** A failure before the server said anything: the certificates of both sides. Null for any other. */
function explainTls(error: Error, where: string): Explained | null {
  if (isCertificateRefusal(error))
    return {
      sentence: `the certificate of PostgreSQL is not accepted (${where})`,
      remedy:
        'Let the host of DATABASE_URL be a name in the certificate, and `?sslmode=verify-full&sslrootcert=/path/ca.pem` in it name the file of the authority that signed it',
    }
  if (/server does not support SSL/i.test(error.message))
    return {
      sentence: `PostgreSQL offers no TLS (${where})`,
      remedy: 'Switch it on there (`ssl = on`), or leave sslmode out of DATABASE_URL',
    }
  if ('syscall' in error && error.syscall === 'open')
    return {
      sentence: `a file that DATABASE_URL names cannot be read (${where})`,
      remedy:
        'Correct sslrootcert, sslcert or sslkey there, or let the user of this process read it',
    }
  return null
}

const unanswered =
  'See that PostgreSQL runs there, that DATABASE_URL has its host and port, and that no firewall is between'

function explain(error: Error, { role, database, host }: PostgresTarget): Explained {
  const state = sqlState(error)
  const who = role === null ? 'our role' : `the role "${role}"`
  const where = `database ${database === null ? 'of DATABASE_URL' : `"${database}"`} at ${host}`
  const tls = state === null ? explainTls(error, where) : null
  if (tls !== null) return tls
  // The driver's words where all connections that it may open are in use, or are being opened.
  if (state === null && error.message === 'timeout exceeded when trying to connect') {
    return {
      sentence: `PostgreSQL gave no connection in time (${where})`,
      remedy:
        'See that it is not slow, and that a pooler in front of it has 11 connections for each process (PgBouncer: default_pool_size)',
    }
  }
  if (state?.startsWith('28')) {
    return {
      sentence: `PostgreSQL refuses ${who} (${where})`,
      // The server says only that no rule admits a connection without encryption.
      remedy: error.message.endsWith('no encryption')
        ? `Add \`?sslmode=verify-full\` to DATABASE_URL if it demands TLS; else see that pg_hba.conf lets ${who} in`
        : `See that ${who} may log in there (pg_hba.conf, LOGIN, VALID UNTIL) with the password of DATABASE_URL`,
    }
  }
  switch (state) {
    case '42501':
      return {
        sentence: `PostgreSQL denies ${who} a right (${where})`,
        remedy: `Grant ${who} CONNECT on the database, and USAGE and CREATE on its schema and the tables in it`,
      }
    case '3D000':
    case '57P04':
      return {
        sentence: `PostgreSQL has no such database (${where})`,
        remedy:
          'Set DATABASE_URL to the right one, create it (`createdb --encoding=UTF8`), or restore it (docs/operations/install.md, Backup and restore)',
      }
    case '55000':
      return {
        sentence: `PostgreSQL takes no connections (${where}, ${who})`,
        remedy: 'ALTER DATABASE … ALLOW_CONNECTIONS true lets them in again',
      }
    case '25006':
      return {
        sentence: `PostgreSQL takes no writes (${where})`,
        remedy:
          'It is a standby, or set to read only: promote it, or let DATABASE_URL name the one that takes writes',
      }
    case '53100':
      return {
        sentence: `PostgreSQL has no room left (${where})`,
        remedy: 'Make room on the disk of its server',
      }
    case '53300':
      return {
        sentence: `PostgreSQL has no connection left (${where}, ${who})`,
        remedy:
          'Raise max_connections or the limit of the role or database, or end what holds them: each process needs 11',
      }
    case '57014':
      return {
        sentence: `PostgreSQL answers, and a statement exceeded its time limit (${where})`,
        remedy:
          'See what its server is busy with (pg_stat_activity, locks, disk). If it is idle and the line comes again, report it as a fault of Tributary',
      }
    case '57P03':
      return {
        sentence: `PostgreSQL is not ready (${where})`,
        remedy: 'Wait until it has started or recovered; its own log says how far it is',
      }
    default:
      return {
        sentence: `PostgreSQL does not answer (${where})`,
        // What the server itself said needs no advice about the way to it.
        remedy: state === null ? unanswered : null,
      }
  }
}
