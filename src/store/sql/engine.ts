/**
 * What SQLite and PostgreSQL have to offer alike, and the one way to write: a transaction that names the users whose
 * rows it changed. Repositories know nothing else of an engine.
 */
import type { CompiledQuery } from 'kysely'
import type { UserId } from '#kernel/ids.ts'
import { StoreUnavailableError } from '../failure.ts'
import type { StoreChange } from '../port.ts'
import type { ChangeFeed } from './change-feed.ts'
import type { Db } from './tables.ts'

/** One line for the log of whoever opened the store. */
export interface StoreLogEvent {
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
  readonly [detail: string]: unknown
}
export type StoreLog = (event: StoreLogEvent) => void

export interface Engine {
  readonly kind: 'sqlite' | 'postgres'
  readonly db: Db
  /** A statement that is prepared once and reads only what is committed; gives the first row. */
  prepare<Row>(
    name: string,
    query: CompiledQuery<Row>,
  ): (parameters: readonly unknown[]) => Promise<Row | undefined>
  /** Keeps other processes from setting up the schema until this transaction ends. */
  lockSchema(tx: Db): Promise<void>
  /** Tells other processes of changed users, when this transaction commits. */
  announce(tx: Db, userIds: readonly UserId[]): Promise<void>
  /** Starts to hear of changes by other processes. */
  listen(hear: (change: StoreChange) => void): Promise<void>
  ping(): Promise<void>
  close(): Promise<void>
}

/** Runs one transaction; whoever it `touched` is told of to all listeners, once, after the commit. */
export type Write = <Result>(
  work: (tx: Db, touched: (userId: UserId) => void) => Promise<Result>,
) => Promise<Result>

const maxAttempts = 3

/** The way to write to `engine`. A deadlock or serialisation failure is tried again, at most twice. */
export function makeWrite(engine: Engine, feed: ChangeFeed): Write {
  return async (work) => {
    for (let attempt = 1; ; attempt += 1) {
      const users = new Set<UserId>()
      try {
        const result = await engine.db.transaction().execute(async (tx) => {
          const worked = await work(tx, (userId) => users.add(userId))
          if (users.size > 0) await engine.announce(tx, [...users])
          return worked
        })
        tell(feed, users)
        return result
      } catch (error) {
        // The connection may have broken after the commit: forgetting once too often does no harm.
        if (error instanceof StoreUnavailableError) tell(feed, users)
        if (attempt >= maxAttempts || !isTransient(error)) throw error
      }
    }
  }
}

function tell(feed: ChangeFeed, users: ReadonlySet<UserId>): void {
  for (const userId of users) feed.emit({ userId })
}

/** PostgreSQL, Appendix A: 40001 serialization_failure, 40P01 deadlock_detected. */
function isTransient(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && (error.code === '40001' || error.code === '40P01')
  )
}
