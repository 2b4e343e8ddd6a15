/**
 * The files of an embedded store that is migrated and has nothing else in it. They are made once in a
 * process, by the migrations themselves, and written where a test begins with a new store.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '#store/engine/migrate.ts'
import { openSqlite } from '#store/engine/sqlite-engine.ts'

const names = ['tributary.db', 'event-keys.db'] as const

let made: Promise<readonly Buffer[]> | undefined

/** Puts them into a folder that has no store; it is made when it is missing. */
export async function placeMigratedStore(folder: string): Promise<void> {
  made ??= makeFiles()
  const contents = await made
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const [index, name] of names.entries()) {
    const bytes = contents[index] ?? Buffer.alloc(0)
    writeFileSync(join(folder, name), bytes, { mode: 0o600, flag: 'wx' })
  }
}

async function makeFiles(): Promise<readonly Buffer[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-migrated-'))
  try {
    const engine = openSqlite(folder, () => {})
    try {
      await engine.db.transaction().execute(async (tx) => {
        await migrate(tx, 'migrations')
        await engine.prepareKeys(tx, (db) => migrate(db, 'key-migrations'))
      })
    } finally {
      await engine.close()
    }
    return names.map((name) => readFileSync(join(folder, name)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
