/**
 * What SQLite and PostgreSQL have in common, and the one way to write: a transaction that records the users
 * whose rows it changed. Repositories use nothing else of an engine.
 */
import type { CompiledQuery } from 'kysely'
import { errorCode } from '#kernel/error-code.ts'
import type { UserId } from '#kernel/ids.ts'
import { StoreUnavailableError } from '../failure.ts'
import type { BeginChange, StoreChange, WorkKind } from '../ports/changes.ts'
import type { KeyPlace } from '../ports/inspector.ts'
import type { TransactOptions } from '../ports/store.ts'
import type { Sealer } from '../seal.ts'
import type { Feed } from './change-feed.ts'
import type { KeptQueries } from './kept-queries.ts'
import type { Db } from './tables.ts'

export interface Engine {
  readonly kind: 'sqlite' | 'postgres'
  readonly db: Db
  /** Statements of this database that were built before. */
  readonly queries: KeptQueries
  /** The first row, of committed data only: SQLite does not wait. In a transaction, what that sees. */
  findRow<Row>(query: CompiledQuery<Row>): Promise<Row | undefined>
  /**
   * Runs a statement of the transaction `tx` whose rows its caller does not wait for: on PostgreSQL it may be
   * sent together with a later one, before the commit. Its failure is then that of the later one, or of the
   * commit.
   */
  later<Row>(tx: Db, query: CompiledQuery<Row>, expected?: Expectation<Row>): Promise<void>
  /** Runs one transaction. `mayBeLost`: see `TransactOptions`. */
  transaction<Result>(work: (tx: Db) => Promise<Result>, mayBeLost: boolean): Promise<Result>
  /** Prevents other processes from setting up the schema until this transaction ends. */
  lockSchema(tx: Db): Promise<void>
  /** Holds the lock of this name until this transaction ends. */
  lock(tx: Db, name: string): Promise<void>
  /** Notifies other processes of changed users and due work when this transaction commits. */
  announce(tx: Db, news: CommittedChanges): Promise<void>
  /** Starts receiving the notifications of other processes. */
  listen(listeners: Listeners): Promise<void>
  /**
   * Where the keys of events are: a handle on `event_keys` alone, inside the transaction `db` on PostgreSQL.
   */
  keysOf(db: Db): Db
  /** Creates the place of the event keys and runs `prepare` on it, in the transaction of the schema. */
  prepareKeys(tx: Db, prepare: (db: Db) => Promise<unknown>): Promise<void>
  /**
   * Removes deleted event keys from the engine's own log, where the engine can. Called outside transactions.
   * @throws StoreUnavailableError
   */
  scrubKeys(): Promise<void>
  describeKeys(): Promise<KeyPlace>
  ping(): Promise<void>
  /** Whether each connection has a session of its own, as LISTEN and the limits of a session need. */
  keepsSession(): Promise<boolean>
  close(): Promise<void>
}

/** What a statement that may run later must have done before its transaction can be committed. */
export interface Expectation<Row> {
  /** Throws when the transaction must not be committed. */
  check?(rows: readonly Row[]): void
  /** What to throw when the statement fails. */
  readonly toError?: (cause: unknown) => unknown
}

/** The notifications of one transaction. */
export interface CommittedChanges {
  readonly users: ReadonlySet<UserId>
  readonly work: ReadonlySet<WorkKind>
  /** Users with new events in their feeds. */
  readonly fed: ReadonlySet<UserId>
}

export interface Listeners {
  readonly change: (change: StoreChange) => void
  readonly work: (kind: WorkKind) => void
  readonly arrival: (change: StoreChange) => void
}

/** The listeners of this process. */
export interface Feeds {
  readonly changes: Feed<StoreChange>
  readonly work: Feed<WorkKind>
  readonly arrivals: Feed<StoreChange>
  beginChange?: BeginChange
}

type Touched = (userId: UserId) => void
type Woke = (kind: WorkKind) => void
type Fed = (userId: UserId) => void

/**
 * Runs one transaction; its commit notifies once of each user `touched`, each kind of work `woke`, and each
 * user `fed`, whose feed has new events.
 */
export type Write = <Result>(
  work: (tx: Db, touched: Touched, woke: Woke, fed: Fed) => Promise<Result>,
  options?: TransactOptions,
) => Promise<Result>

/** What a repository is made of. */
export interface RepositoryOptions {
  readonly engine: Engine
  readonly write: Write
}

/** What a repository with sealed columns needs. */
export interface SealingOptions extends RepositoryOptions {
  readonly sealer: Sealer
}

/** `Engine.later` where nothing is gained by waiting. */
export const runNow: Engine['later'] = async (tx, query, { check, toError } = {}) => {
  const { rows } = await tx.executeQuery(query).catch((error: unknown) => {
    throw toError === undefined ? error : toError(error)
  })
  check?.(rows)
}

const maxAttempts = 3

/** Makes the write function of `engine`. A deadlock or serialisation failure is retried, at most twice. */
export function makeWrite(engine: Engine, feeds: Feeds): Write {
  return async (work, { mayBeLost = false } = {}) => {
    for (let attempt = 1; ; attempt += 1) {
      const news = { users: new Set<UserId>(), work: new Set<WorkKind>(), fed: new Set<UserId>() }
      let endChange = async () => {}
      try {
        const result = await engine.transaction(async (tx) => {
          const worked = await work(
            tx,
            (userId) => news.users.add(userId),
            (kind) => news.work.add(kind),
            (userId) => news.fed.add(userId),
          )
          if (news.users.size + news.work.size + news.fed.size > 0) await engine.announce(tx, news)
          if (news.users.size > 0 && feeds.beginChange !== undefined) {
            endChange = await feeds.beginChange(news.users)
          }
          return worked
        }, mayBeLost)
        tell(feeds, news)
        await endChange()
        return result
      } catch (error) {
        // The connection may have been lost after the commit, and an unnecessary notification does no harm.
        if (error instanceof StoreUnavailableError) tell(feeds, news)
        await endChange()
        if (attempt >= maxAttempts || !isTransient(error)) throw error
      }
    }
  }
}

/** The engine and the write function of one transaction, for repositories that take part in it. */
export function joinTransaction(
  engine: Engine,
  tx: Db,
  { touched, woke, fed }: { readonly touched: Touched; readonly woke: Woke; readonly fed: Fed },
): RepositoryOptions {
  return {
    engine: {
      ...engine,
      db: tx,
      // Another connection does not see this transaction.
      findRow: async (query) => (await tx.executeQuery(query)).rows[0],
    },
    write: (work) => work(tx, touched, woke, fed),
  }
}

function tell(feeds: Feeds, { users, work, fed }: CommittedChanges): void {
  for (const userId of users) feeds.changes.emit({ userId })
  for (const userId of fed) feeds.arrivals.emit({ userId })
  for (const kind of work) feeds.work.emit(kind)
}

/** PostgreSQL, Appendix A: 40001 serialization_failure, 40P01 deadlock_detected. */
function isTransient(error: unknown): boolean {
  return ['40001', '40P01'].includes(errorCode(error))
}
