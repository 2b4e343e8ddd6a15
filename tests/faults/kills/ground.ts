/** Where the killed service keeps its data, and questions to it in SQL once no process has it open. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface Ground {
  /** What makes the service use it. */
  readonly environment: Readonly<Record<string, string>>
  /** How many processes may use it at once. */
  readonly processes: number
  /** The rows of one statement, which is the same on both engines. */
  ask(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** The number of keys of events. */
  countKeys(): Promise<number>
  remove(): Promise<void>
}

export async function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'tributary-kills-'))
}

export async function makeSqliteGround(): Promise<Ground> {
  const folder = await makeFolder()
  const askFile = (file: string, sql: string) => {
    const db = new DatabaseSync(join(folder, 'sandbox', file), { readOnly: true })
    try {
      return db.prepare(sql).all()
    } finally {
      db.close()
    }
  }
  return {
    environment: { DATA_DIR: folder, SANDBOX: 'true' },
    processes: 1,
    ask: async (sql) => askFile('tributary.db', sql),
    countKeys: async () => askFile('event-keys.db', 'select event_id from event_keys').length,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
