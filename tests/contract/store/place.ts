/**
 * A place where one store can live during a test, on either engine: opened as often as wanted, looked into
 * and tampered with behind the store's back, removed at the end.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { OpenStoreOptions } from '#store/open-store.ts'
import { openStore } from '#store/open-store.ts'
import type { Store } from '#store/ports/store.ts'
import { placeMigratedStore } from '#tests/support/migrated-store.ts'

export const keyA = new Uint8Array(32).fill(0xa1)
export const keyB = new Uint8Array(32).fill(0xb2)

/** The store of the suite that runs: there is none yet when the tests are declared. */
export type StoreOf = () => Store

export type OpenAs = Partial<
  Pick<
    OpenStoreOptions,
    | 'mode'
    | 'encryptionKeys'
    | 'encryptionKeysIn'
    | 'log'
    | 'clock'
    | 'reconnectDueAt'
    | 'onLackingKey'
  >
>

export interface Place {
  open(as?: OpenAs): Promise<Store>
  /** Statements behind the store's back; on SQLite only while it is closed. */
  tamper(sql: string): Promise<void>
  /** The same where the keys of events are. */
  tamperKeys(sql: string): Promise<void>
  /** The wrapped keys of events. */
  listKeys(): Promise<readonly Uint8Array[]>
  /** As after a restore: the store is there, the place of the keys is not. Only while it is closed. */
  removeKeys(): Promise<void>
  /** Until the returned function is called, no payload can be removed, or no key. Only while it is closed. */
  breakWrites(of: 'payload' | 'keys'): Promise<() => Promise<void>>
  /** Everything that lies on the disk for this store, or all that the server would dump of it. */
  readAll(): Promise<Buffer>
  remove(): Promise<void>
}

/** Makes tests that each have a place of their own, removed at the end. */
export const makeInPlace =
  <Made extends Place>(makePlace: () => Made | Promise<Made>) =>
  (work: (place: Made) => Promise<void>) =>
  async () => {
    const place = await makePlace()
    try {
      await work(place)
    } finally {
      await place.remove()
    }
  }

/** A SQLite store that is closed, and its directory removed, at the end of the test. */
export async function openSqliteStore(t: TestContext, place = makeMigratedPlace()): Promise<Store> {
  const store = await place.open()
  t.after(async () => {
    await store.close()
    await place.remove()
  })
  return store
}

interface SqlitePlace extends Place {
  readonly dataDir: string
}

/** The same where the migrations are not what is tested: a copy of a migrated store is opened. */
export function makeMigratedPlace(): SqlitePlace {
  const place = makeSqlitePlace()
  return {
    ...place,
    async open(as) {
      if (!existsSync(join(place.dataDir, 'tributary.db'))) {
        await placeMigratedStore(place.dataDir)
      }
      return place.open(as)
    },
  }
}

/** A directory of its own. */
export function makeSqlitePlace(): SqlitePlace {
  const dataDir = mkdtempSync(join(tmpdir(), 'tributary-store-'))
  const run = async (file: string, sql: string) => {
    const db = new DatabaseSync(join(dataDir, file))
    try {
      db.exec(sql)
    } finally {
      db.close()
    }
  }
  const tamper = (sql: string) => run('tributary.db', sql)
  const tamperKeys = (sql: string) => run('event-keys.db', sql)
  return {
    dataDir,
    open: (as) =>
      openStore({ databaseUrl: null, dataDir, mode: 'live', encryptionKeys: [keyA], ...as }),
    tamper,
    tamperKeys,
    async listKeys() {
      const db = new DatabaseSync(join(dataDir, 'event-keys.db'), { readOnly: true })
      try {
        const rows = db.prepare('select secret from event_keys').all()
        return rows.map(({ secret }) => secret as Uint8Array)
      } finally {
        db.close()
      }
    },
    async removeKeys() {
      for (const file of readdirSync(dataDir).filter((name) => name.startsWith('event-keys.db')))
        rmSync(join(dataDir, file))
    },
    async breakWrites(of) {
      const [where, event] =
        of === 'payload'
          ? [tamper, 'before update of payload on events when new.payload is null']
          : [tamperKeys, 'before delete on event_keys']
      await where(
        `create trigger broken ${event} begin select raise(abort, 'broken by the test'); end`,
      )
      return () => where('drop trigger broken')
    },
    async readAll() {
      return Buffer.concat(readdirSync(dataDir).map((file) => readFileSync(join(dataDir, file))))
    },
    async remove() {
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
