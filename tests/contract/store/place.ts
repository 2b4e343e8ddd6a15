/**
 * A place where one store can live during a test, on either engine: opened as often as wanted, looked into and
 * tampered with behind the store's back, removed at the end.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { OpenStoreOptions } from '#store/open-store.ts'
import { openStore } from '#store/open-store.ts'
import type { Store } from '#store/port.ts'

export const keyA = new Uint8Array(32).fill(0xa1)
export const keyB = new Uint8Array(32).fill(0xb2)

export type OpenAs = Partial<Pick<OpenStoreOptions, 'mode' | 'encryptionKeys' | 'log'>>

export interface Place {
  open(as?: OpenAs): Promise<Store>
  /** Statements behind the store's back; on SQLite only while it is closed. */
  tamper(sql: string): Promise<void>
  /** Everything that lies on the disk for this store, or all that the server would dump of it. */
  readAll(): Promise<Buffer>
  remove(): Promise<void>
}

/** A directory of its own. */
export function makeSqlitePlace(): Place & { readonly dataDir: string } {
  const dataDir = mkdtempSync(join(tmpdir(), 'tributary-store-'))
  return {
    dataDir,
    open: (as) =>
      openStore({ databaseUrl: null, dataDir, mode: 'live', encryptionKeys: [keyA], ...as }),
    async tamper(sql) {
      const db = new DatabaseSync(join(dataDir, 'tributary.db'))
      try {
        db.exec(sql)
      } finally {
        db.close()
      }
    },
    async readAll() {
      return Buffer.concat(readdirSync(dataDir).map((file) => readFileSync(join(dataDir, file))))
    },
    async remove() {
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
