/** The second part of migration 0013, which needs the key: seals the webhook URLs that lie in the clear. */
import { sql } from 'kysely'
import type { EndpointId } from '#kernel/ids.ts'
import type { Engine } from '../engine/engine.ts'
import type { Db } from '../engine/tables.ts'
import type { Sealer } from '../seal.ts'
import { sealUrl } from './endpoint-rows.ts'

type Places = Pick<Engine, 'db' | 'kind'>

const batchRows = 500

/**
 * In the transaction of the migrations. True: there were such URLs, and the column that held them is dropped.
 */
export async function sealUrls({ db: tx, kind }: Places, sealer: Sealer): Promise<boolean> {
  if (!(await hasPlainUrls(tx, kind))) return false
  let after: EndpointId | null = null
  // Ids grow from batch to batch.
  for (;;) {
    const rows: readonly Plain[] = await listPlain(tx, after)
    for (const { id, url } of rows)
      await tx
        .updateTable('webhook_endpoints')
        .set(sealUrl(sealer, id, url))
        .where('id', '=', id)
        .execute()
    const last = rows.at(-1)
    if (last === undefined) break
    after = last.id
  }
  await sql`alter table webhook_endpoints drop column url`.execute(tx)
  return true
}

async function hasPlainUrls(tx: Db, kind: Engine['kind']): Promise<boolean> {
  const column =
    kind === 'sqlite'
      ? sql`select 1 from pragma_table_info('webhook_endpoints') where name = 'url'`
      : sql`select 1 from information_schema.columns where table_schema = current_schema()
          and table_name = 'webhook_endpoints' and column_name = 'url'`
  return (await column.execute(tx)).rows.length > 0
}

/**
 * After that transaction: SQLite's log and file hold the old rows until the log is written back, and
 * `secure_delete` overwrites them. PostgreSQL overwrites them after its next vacuum.
 */
export async function forgetPlainUrls({ db, kind }: Places): Promise<void> {
  if (kind === 'sqlite') await sql`pragma wal_checkpoint(truncate)`.execute(db)
}

interface Plain {
  readonly id: EndpointId
  readonly url: string
}

async function listPlain(tx: Db, after: EndpointId | null): Promise<readonly Plain[]> {
  const start = after === null ? sql`` : sql`where id > ${after}`
  const query = sql<Plain>`
    select id, url from webhook_endpoints ${start} order by id limit ${batchRows}
  `
  return (await query.execute(tx)).rows
}
