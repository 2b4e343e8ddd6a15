/** PostgreSQL for the killed service: two processes share it. */
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { type Ground, makeFolder } from '#tests/faults/kills/ground.ts'
import { makePostgresGround } from './postgres-place.ts'

/** In a database of its own, which `remove` drops. */
export async function makeSharedGround(): Promise<Ground> {
  const server = await makePostgresGround()
  const place = await server.makePlace()
  const folder = await makeFolder()
  return {
    environment: {
      DATA_DIR: folder,
      DATABASE_URL: place.databaseUrl,
      SANDBOX: 'true',
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      ADMIN_TOKEN: randomBytes(24).toString('base64url'),
    },
    processes: 2,
    ask: (sql) => place.ask(sql),
    async countKeys() {
      const [schema] = await place.ask('select current_schema() as name')
      return (await place.ask(`select event_id from ${schema?.name}_event_keys.event_keys`)).length
    },
    async remove() {
      await server.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
