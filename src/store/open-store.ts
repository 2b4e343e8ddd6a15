/**
 * Opens the durable store: chooses the engine, brings the schema up to date, checks mode and keys, and puts the
 * repositories together. Whoever opens it closes it.
 */
import { StoreOpenError, StoreUnavailableError } from './failure.ts'
import type { Store } from './port.ts'
import { makeSealer, type Sealer } from './seal.ts'
import { makeAccountStore } from './sql/accounts.ts'
import { writeAudit } from './sql/audit.ts'
import { type ChangeFeed, makeChangeFeed } from './sql/change-feed.ts'
import { makeConnectionStore } from './sql/connections.ts'
import { type Engine, makeWrite, type StoreLog } from './sql/engine.ts'
import { checkIdentity, type StoreMode } from './sql/identity.ts'
import { makeInspector } from './sql/inspector.ts'
import { makeKeyStore } from './sql/keys.ts'
import { makeLoginStore } from './sql/logins.ts'
import { migrate } from './sql/migrate.ts'
import { makeOAuthStore } from './sql/oauth.ts'
import { openPostgres } from './sql/postgres-engine.ts'
import { sqlState } from './sql/postgres-failure.ts'
import { reseal } from './sql/reseal.ts'
import { makeSessionStore } from './sql/sessions.ts'
import { openSqlite } from './sql/sqlite-engine.ts'
import { makeUserStore } from './sql/users.ts'

export interface OpenStoreOptions {
  /** PostgreSQL 15 or newer; null: the embedded store in `dataDir`. */
  readonly databaseUrl: string | null
  readonly dataDir: string
  /** A store made in one mode refuses to open in the other. */
  readonly mode: StoreMode
  /** 32 bytes each; the first seals, all open. */
  readonly encryptionKeys: readonly Uint8Array[]
  readonly log?: StoreLog
}

/**
 * Opens the store, made ready for this code.
 * @throws StoreOpenError with a `reason` and one clear line. Nothing stays open then.
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const sealer = makeSealer(options.encryptionKeys)
  const log = options.log ?? (() => {})
  const feed = makeChangeFeed(log)
  const engine =
    options.databaseUrl === null
      ? openSqlite(options.dataDir, log)
      : await openPostgres(options.databaseUrl, log)
  try {
    await prepareSchema(engine, options.mode, sealer, log)
    await engine.listen((change) => feed.emit(change))
    return makeStore(engine, feed, sealer, log)
  } catch (error) {
    await engine.close()
    throw toOpenError(error)
  }
}

/** What kept the schema from being prepared, as a reason not to start. */
function toOpenError(error: unknown): unknown {
  if (error instanceof StoreUnavailableError)
    return new StoreOpenError('unreachable', error.message, { cause: error })
  // 42501: insufficient_privilege.
  if (sqlState(error) === '42501')
    return new StoreOpenError(
      'not_writable',
      'the user of DATABASE_URL may not make or change tables in its schema',
      { cause: error },
    )
  return error
}

/** One transaction: of several processes that start at once, one prepares and the others find it done. */
async function prepareSchema(
  engine: Engine,
  mode: StoreMode,
  sealer: Sealer,
  log: StoreLog,
): Promise<void> {
  const applied = await engine.db.transaction().execute(async (tx) => {
    await engine.lockSchema(tx)
    const names = await migrate(tx)
    await checkIdentity(tx, mode, sealer)
    return names
  })
  if (applied.length > 0)
    log({ level: 'info', message: 'the schema was brought up to date', migrations: applied })
}

function makeStore(engine: Engine, feed: ChangeFeed, sealer: Sealer, log: StoreLog): Store {
  const { db } = engine
  const write = makeWrite(engine, feed)
  const closing = new AbortController()
  const resealed = reseal(db, { sealer, log, signal: closing.signal }).catch((error: unknown) => {
    // The rows stay readable under their older key, and the next start tries again.
    log({ level: 'error', message: 'sealing under the first key stopped', error })
  })
  let closed: Promise<void> | undefined
  async function closeAll(): Promise<void> {
    closing.abort()
    await resealed
    await engine.close()
  }
  return {
    users: makeUserStore({ db, write }),
    keys: makeKeyStore({ engine, write }),
    logins: makeLoginStore({ db, write, sealer }),
    connections: makeConnectionStore({ db, write }),
    accounts: makeAccountStore({ engine, write }),
    oauth: makeOAuthStore({ engine, write, sealer }),
    sessions: makeSessionStore(db),
    inspector: makeInspector(engine, sealer),
    audit: (entry) => writeAudit(db, entry),
    onChange: (listener) => feed.subscribe(listener),
    ping: () => engine.ping(),
    close() {
      closed ??= closeAll()
      return closed
    },
  }
}
