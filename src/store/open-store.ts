/**
 * Opens the durable store: chooses the engine, migrates the schema, checks mode and keys, and assembles the
 * repositories. The caller that opens it closes it.
 */
import { type Clock, systemClock } from '#kernel/time.ts'
import { checkIdentity, type Keys, type StoreMode } from './care/identity.ts'
import { makeInspector } from './care/inspector.ts'
import { reseal } from './care/reseal.ts'
import { reportOnce, watchKeys } from './care/unlisted-keys.ts'
import { makeAccountStore } from './connections/accounts.ts'
import { makeConnectionEventStore } from './connections/connection-events.ts'
import { makeConnectionStore } from './connections/connections.ts'
import { makeLinkingStore } from './connections/linkings.ts'
import { makeLoginStore } from './connections/logins.ts'
import { makeProviderCallStore } from './connections/provider-calls.ts'
import { makeFeed } from './engine/change-feed.ts'
import { type Engine, type Feeds, joinTransaction, makeWrite, type Write } from './engine/engine.ts'
import { makeMark } from './engine/mark.ts'
import { migrate } from './engine/migrate.ts'
import { sqlState } from './engine/postgres-failure.ts'
import { openSqlite } from './engine/sqlite-engine.ts'
import { refuseUnfinished } from './engine/unfinished-copy.ts'
import { makeConsumerStore } from './events/consumers.ts'
import { makeDeliveryStore } from './events/deliveries.ts'
import { makeEndpointStore } from './events/endpoints.ts'
import { makeEventRows, makeEventStore } from './events/events.ts'
import { makeOpenedEndpoints, type OpenedEndpoints } from './events/opened-endpoints.ts'
import { forgetPlainUrls, sealUrls } from './events/seal-urls.ts'
import { StoreOpenError, StoreUnavailableError, toAdvice } from './failure.ts'
import type { StoreLog } from './log.ts'
import type { MailQueue } from './mails/mail-queue.ts'
import { makeMailStore } from './mails/mails.ts'
import { makeAuditLog, writeAudit, writeEntry } from './people/audit.ts'
import { makeKeyStore } from './people/keys.ts'
import { makeOAuthStore } from './people/oauth.ts'
import { makePasskeyStore } from './people/passkeys.ts'
import { makeProgramStore } from './people/programs.ts'
import { makeSecondFactorStore } from './people/second-factors.ts'
import { makeSessionStore } from './people/sessions.ts'
import { makeSingleUseStore } from './people/single-use.ts'
import { makeUsageStore } from './people/usage.ts'
import { makeUserStore } from './people/users.ts'
import type { ReconnectDueAt } from './ports/mails.ts'
import type { Store, StoreRows } from './ports/store.ts'
import { makeSealer } from './seal.ts'
import { makeForStranger } from './strangers.ts'
import { makeLedgerStore } from './syncs/ledgers.ts'
import { spreadSyncs } from './syncs/spread-syncs.ts'
import { makeSyncStore } from './syncs/syncs.ts'

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
  /** Called once when other processes seal with a key that is not listed here: this one has to end. */
  readonly onLackingKey?: (error: StoreOpenError) => void
  /** For due times that no caller gives (syncs, mails about connections); the system's when absent. */
  readonly clock?: Clock
  /** Absent: there is no mail server, and no mail is queued. */
  readonly reconnectDueAt?: ReconnectDueAt
}

/**
 * Opens and migrates the store.
 * @throws StoreOpenError with a `reason` and a one-line message. Nothing stays open then.
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { encryptionKeysIn: keysIn = 'ENCRYPTION_KEY', onLackingKey = () => {} } = options
  const toLackError = reportOnce(keysIn, onLackingKey)
  const sealer = makeSealer(options.encryptionKeys, toLackError)
  const log = options.log ?? (() => {})
  const clock = options.clock ?? systemClock
  const feeds: Feeds = {
    changes: makeFeed(log, 'a listener of store changes failed'),
    work: makeFeed(log, 'a listener of due work failed'),
    arrivals: makeFeed(log, 'a listener of new events failed'),
  }
  const engine =
    options.databaseUrl === null
      ? openSqlite(options.dataDir, log)
      : await connect(options.databaseUrl, log)
  try {
    await prepareSchema(engine, options.mode, { sealer, keysIn }, { log, clock })
    await engine.listen({
      change: feeds.changes.emit,
      work: feeds.work.emit,
      arrival: feeds.arrivals.emit,
    })
    const stopWatch = watchKeys({ places: engine, sealer, toLackError, log })
    const { reconnectDueAt = null } = options
    const mails = { reconnectDueAt, sealer, now: () => clock.now() }
    return makeStore(engine, feeds, mails, { log, stopWatch })
  } catch (error) {
    await engine.close()
    throw toOpenError(error, options)
  }
}

/** The client of PostgreSQL is loaded where one is used. */
async function connect(databaseUrl: string, log: StoreLog): Promise<Engine> {
  const { openPostgres } = await import('./engine/postgres-engine.ts')
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

/** One transaction: of several processes that start at once, one prepares the schema. */
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

interface Care {
  readonly log: StoreLog
  readonly stopWatch: () => void
}

function makeStore(
  engine: Engine,
  feeds: Feeds,
  mails: MailQueue,
  { log, stopWatch }: Care,
): Store {
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
    stopWatch()
    await resealed
    await engine.close()
  }
  return {
    ...makeRows({ engine, write, mails, opened }),
    events: makeEventStore({ engine, write, sealer }),
    transact: (work, options) =>
      write(
        (tx, touched, woke, fed) =>
          work(makeRows({ ...joinTransaction(engine, tx, { touched, woke, fed }), mails, opened })),
        options,
      ),
    inspector: makeInspector(engine, sealer),
    mark: makeMark(engine.db),
    auditLog: makeAuditLog({ db, write }),
    forStranger: makeForStranger(),
    onChange: (listener) => feeds.changes.subscribe(listener),
    beginChangesWith(begin) {
      feeds.beginChange = begin
    },
    onWork: (listener) => feeds.work.subscribe(listener),
    onFeed: (listener) => feeds.arrivals.subscribe(listener),
    ping: () => engine.ping(),
    close() {
      closed ??= closeAll()
      return closed
    },
  }
}

interface RowOptions {
  readonly engine: Engine
  readonly write: Write
  readonly mails: MailQueue
  readonly opened: OpenedEndpoints
}

/** The repositories over an engine, or over one transaction of it. */
function makeRows({ engine, write, mails, opened }: RowOptions): StoreRows {
  const { sealer } = mails
  return {
    users: makeUserStore({ engine, write }),
    keys: makeKeyStore({ engine, write }),
    programs: makeProgramStore({ engine, write }),
    logins: makeLoginStore({ engine, write, sealer }),
    connections: makeConnectionStore({ engine, write, mails }),
    accounts: makeAccountStore({ engine, write }),
    oauth: makeOAuthStore({ engine, write, sealer }),
    sessions: makeSessionStore({ engine, write }),
    secondFactors: makeSecondFactorStore({ engine, write, sealer }),
    passkeys: makePasskeyStore({ engine, write }),
    linkings: makeLinkingStore({ engine, write }),
    syncs: makeSyncStore({ engine, write }),
    ledgers: makeLedgerStore({ engine, write, sealer }),
    connectionEvents: makeConnectionEventStore({ engine, write }),
    endpoints: makeEndpointStore({ engine, write, sealer }),
    events: makeEventRows({ engine, write }),
    deliveries: makeDeliveryStore({ engine, write, sealer, opened }),
    consumers: makeConsumerStore({ engine, write }),
    usage: makeUsageStore({ engine, write }),
    providerCalls: makeProviderCallStore({ engine, write }),
    mails: makeMailStore({ engine, write, mails }),
    singleUse: makeSingleUseStore({ engine, write }),
    audit: (entry) => writeAudit(engine.db, entry),
    auditExtension: (entry) => writeEntry(engine.db, entry),
  }
}
