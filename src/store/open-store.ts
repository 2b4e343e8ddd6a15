/**
 * Opens the durable store: chooses the engine, migrates the schema, checks mode and keys, and assembles the
 * repositories. The caller that opens it closes it.
 */
import { type Clock, systemClock } from '#kernel/time.ts'
import { StoreOpenError, StoreUnavailableError, toAdvice } from './failure.ts'
import type { StoreLog } from './log.ts'
import type { Store, StoreRows } from './ports/store.ts'
import { makeSealer } from './seal.ts'
import { makeAccountStore } from './sql/accounts.ts'
import { makeAuditLog, writeAudit } from './sql/audit.ts'
import { makeFeed } from './sql/change-feed.ts'
import { makeConnectionStore } from './sql/connections.ts'
import { refuseUnfinished } from './sql/copy/unfinished-copy.ts'
import { makeDeliveryStore } from './sql/deliveries.ts'
import { makeEndpointStore } from './sql/endpoints.ts'
import { type Engine, type Feeds, joinTransaction, makeWrite, type Write } from './sql/engine.ts'
import { makeEventRows, makeEventStore } from './sql/events.ts'
import { checkIdentity, type Keys, type StoreMode } from './sql/identity.ts'
import { makeInspector } from './sql/inspector.ts'
import { makeKeyStore } from './sql/keys.ts'
import { makeLedgerStore } from './sql/ledgers.ts'
import { makeLinkingStore } from './sql/linkings.ts'
import { makeLoginStore } from './sql/logins.ts'
import type { MailQueue } from './sql/mail-queue.ts'
import { makeMailStore } from './sql/mails.ts'
import { makeMark } from './sql/mark.ts'
import { migrate } from './sql/migrate.ts'
import { makeOAuthStore } from './sql/oauth.ts'
import { makeOpenedEndpoints, type OpenedEndpoints } from './sql/opened-endpoints.ts'
import { sqlState } from './sql/postgres-failure.ts'
import { reseal } from './sql/reseal.ts'
import { forgetPlainUrls, sealUrls } from './sql/seal-urls.ts'
import { makeSecondFactorStore } from './sql/second-factors.ts'
import { makeSessionStore } from './sql/sessions.ts'
import { makeSingleUseStore } from './sql/single-use.ts'
import { spreadSyncs } from './sql/spread-syncs.ts'
import { openSqlite } from './sql/sqlite-engine.ts'
import { makeSyncStore } from './sql/syncs.ts'
import { makeUsageStore } from './sql/usage.ts'
import { makeUserStore } from './sql/users.ts'

export interface OpenStoreOptions {
  /** PostgreSQL 15 or newer; null: the embedded store in `dataDir`. */
  readonly databaseUrl: string | null
  readonly dataDir: string
  /** A store made in one mode refuses to open in the other. */
  readonly mode: StoreMode
  /** 32 bytes each; the first one seals, all of them open. */
  readonly encryptionKeys: readonly Uint8Array[]
  /** Where the operator keeps the keys, for messages; `ENCRYPTION_KEY` when absent. */
  readonly encryptionKeysIn?: string
  readonly log?: StoreLog
  /** Only for due times that no caller gives: of syncs, and of mails about connections; the system's when absent. */
  readonly clock?: Clock
  /** There is a mail server: mails are queued. Absent: none is. */
  readonly sendsMail?: boolean
}

/**
 * Opens and migrates the store.
 * @throws StoreOpenError with a `reason` and a one-line message. Nothing stays open then.
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const sealer = makeSealer(options.encryptionKeys)
  const keys = { sealer, keysIn: options.encryptionKeysIn ?? 'ENCRYPTION_KEY' }
  const log = options.log ?? (() => {})
  const clock = options.clock ?? systemClock
  const feeds: Feeds = {
    changes: makeFeed(log, 'a listener of store changes failed'),
    work: makeFeed(log, 'a listener of due work failed'),
  }
  const engine =
    options.databaseUrl === null
      ? openSqlite(options.dataDir, log)
      : await connect(options.databaseUrl, log)
  try {
    await prepareSchema(engine, options.mode, keys, { log, clock })
    await engine.listen({ change: feeds.changes.emit, work: feeds.work.emit })
    const mails = { isOn: options.sendsMail === true, sealer, now: () => clock.now() }
    return makeStore(engine, feeds, mails, log)
  } catch (error) {
    await engine.close()
    throw toOpenError(error, options)
  }
}

/** The client of PostgreSQL is loaded where one is used. */
async function connect(databaseUrl: string, log: StoreLog): Promise<Engine> {
  const { openPostgres } = await import('./sql/postgres-engine.ts')
  return openPostgres(databaseUrl, log)
}

/** Why the schema could not be prepared, as a reason not to start. */
function toOpenError(error: unknown, { databaseUrl, dataDir }: OpenStoreOptions): unknown {
  if (!(error instanceof StoreUnavailableError)) return error
  // 42501: insufficient_privilege.
  if (sqlState(error.cause) === '42501')
    return new StoreOpenError(
      'not_writable',
      'the user of DATABASE_URL may not make or change tables in its schema; grant it CREATE on the schema and the database, or make it their owner',
      { cause: error },
    )
  const place = databaseUrl === null ? `${dataDir}: ` : ''
  return new StoreOpenError('unreachable', `${place}${toAdvice(error)}`, { cause: error })
}

/** One transaction: when several processes start at once, one prepares the schema and the others find it prepared. */
async function prepareSchema(
  engine: Engine,
  mode: StoreMode,
  keys: Keys,
  { log, clock }: { readonly log: StoreLog; readonly clock: Clock },
): Promise<void> {
  if (engine.kind === 'postgres') await refuseUnfinished(engine.db)
  let hadPlainUrls = false
  const { applied, newer } = await engine.db.transaction().execute(async (tx) => {
    await engine.lockSchema(tx)
    const migrated = await migrate(tx, 'migrations')
    await engine.prepareKeys(tx, (db) => migrate(db, 'key-migrations'))
    await checkIdentity({ ...engine, db: tx }, mode, keys)
    hadPlainUrls = await sealUrls({ ...engine, db: tx }, keys.sealer)
    await spreadSyncs(tx, clock.now())
    return migrated
  })
  if (hadPlainUrls) await forgetPlainUrls(engine)
  if (applied.length > 0)
    log({ level: 'info', message: 'the schema was brought up to date', migrations: applied })
  if (newer.length > 0)
    log({
      level: 'warn',
      message:
        'the schema is of a newer version, beside which this one may run: finish the upgrade',
      migrations: newer,
    })
}

function makeStore(engine: Engine, feeds: Feeds, mails: MailQueue, log: StoreLog): Store {
  const { db } = engine
  const { sealer } = mails
  const write = makeWrite(engine, feeds)
  const opened = makeOpenedEndpoints(sealer)
  const closing = new AbortController()
  const resealed = reseal(engine, { sealer, log, signal: closing.signal }).catch(
    (error: unknown) => {
      // The rows stay readable under their older key, and the next start tries again.
      log({ level: 'error', message: 'sealing under the first key stopped', error })
    },
  )
  let closed: Promise<void> | undefined
  async function closeAll(): Promise<void> {
    closing.abort()
    await resealed
    await engine.close()
  }
  return {
    ...makeRows({ engine, write, mails, opened }),
    events: makeEventStore({ engine, write, sealer }),
    transact: (work, options) =>
      write(
        (tx, touched, woke) =>
          work(makeRows({ ...joinTransaction(engine, tx, { touched, woke }), mails, opened })),
        options,
      ),
    inspector: makeInspector(engine, sealer),
    mark: makeMark(engine.db),
    auditLog: makeAuditLog({ db, write }),
    onChange: (listener) => feeds.changes.subscribe(listener),
    beginChangesWith(begin) {
      feeds.beginChange = begin
    },
    onWork: (listener) => feeds.work.subscribe(listener),
    ping: () => engine.ping(),
    close() {
      closed ??= closeAll()
      return closed
    },
  }
}

interface RowParts {
  readonly engine: Engine
  readonly write: Write
  readonly mails: MailQueue
  readonly opened: OpenedEndpoints
}

/** The repositories over an engine, or over one transaction of it. */
function makeRows({ engine, write, mails, opened }: RowParts): StoreRows {
  const { sealer } = mails
  return {
    users: makeUserStore({ engine, write }),
    keys: makeKeyStore({ engine, write }),
    logins: makeLoginStore({ engine, write, sealer }),
    connections: makeConnectionStore({ engine, write, mails }),
    accounts: makeAccountStore({ engine, write }),
    oauth: makeOAuthStore({ engine, write, sealer }),
    sessions: makeSessionStore({ engine, write }),
    secondFactors: makeSecondFactorStore({ engine, write, sealer }),
    linkings: makeLinkingStore({ engine, write }),
    syncs: makeSyncStore({ engine, write }),
    ledgers: makeLedgerStore({ engine, write, sealer }),
    endpoints: makeEndpointStore({ engine, write, sealer }),
    events: makeEventRows({ engine, write }),
    deliveries: makeDeliveryStore({ engine, write, sealer, opened }),
    usage: makeUsageStore({ engine, write }),
    mails: makeMailStore({ engine, write, mails }),
    singleUse: makeSingleUseStore({ engine, write }),
    audit: (entry) => writeAudit(engine.db, entry),
  }
}
