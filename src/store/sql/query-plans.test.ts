/**
 * The background work and the start read whole tables' worth of rows over the years. Each of their queries is asked of
 * SQLite with `explain query plan`: a search of an index grows with what it finds, a scan with what there is.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CompiledQuery, type KyselyPlugin, type QueryId, type RootOperationNode } from 'kysely'
import { type ConnectionId, newId } from '#kernel/ids.ts'
import { makeSqlitePlace } from '#tests/contract/store/place.ts'
import { makeSealer } from '../seal.ts'
import { makeChangeFeed } from './change-feed.ts'
import { makeConnectionStore } from './connections.ts'
import { type Engine, makeWrite } from './engine.ts'
import { makeOAuthStore } from './oauth.ts'
import { listKeys, sealedTables } from './sealed-tables.ts'
import { makeSessionStore } from './sessions.ts'
import { openSqlite } from './sqlite-engine.ts'

const place = makeSqlitePlace()
const sealer = makeSealer([new Uint8Array(32)])
let plain: Engine
let engine: Engine
let asked: { readonly node: RootOperationNode; readonly queryId: QueryId }[] = []

const built = new WeakMap<QueryId, RootOperationNode>()
/** Notes what was really asked: a query within another is built as well, but only the whole has a result. */
const recorder: KyselyPlugin = {
  transformQuery({ node, queryId }) {
    built.set(queryId, node)
    return node
  },
  async transformResult({ result, queryId }) {
    const node = built.get(queryId)
    if (node !== undefined) asked.push({ node, queryId })
    return result
  },
}

before(async () => {
  await (await place.open()).close()
  plain = openSqlite(place.dataDir, () => {})
  engine = { ...plain, db: plain.db.withPlugin(recorder) }
})
after(async () => {
  await plain?.close()
  await place.remove()
})

/** What SQLite says that it does for each query of `work`, in their order. */
async function plansOf(work: () => Promise<unknown>): Promise<string[]> {
  asked = []
  await work()
  const plans: string[] = []
  for (const { node, queryId } of asked) {
    const { sql, parameters } = plain.db.getExecutor().compileQuery(node, queryId)
    const explain = CompiledQuery.raw(`explain query plan ${sql}`, [...parameters])
    const { rows } = await plain.db.executeQuery<{ detail: string }>(
      explain as CompiledQuery<{ detail: string }>,
    )
    plans.push(rows.map(({ detail }) => detail).join('; '))
  }
  return plans
}

function assertSearches(plans: readonly string[], indices: readonly string[]): void {
  for (const [position, index] of indices.entries())
    assert.match(plans[position] ?? '', new RegExp(`USING (COVERING )?INDEX ${index}\\b`))
  assert.equal(plans.length, indices.length, plans.join('\n'))
  for (const plan of plans) assert.doesNotMatch(plan, /\bSCAN \w+(;|$)|TEMP B-TREE/, plan)
}

test('the sweep of sessions reads those that have ended, not all', async () => {
  const sessions = makeSessionStore(engine.db)
  const plans = await plansOf(() => sessions.sweep({ seenBefore: 2, createdBefore: 1 }))
  assertSearches(plans, ['sessions_by_last_seen', 'sessions_by_age'])
  for (const plan of plans) assert.match(plan, /\((last_seen_at|created_at)<\?\)/)
})

test('the sweep of grants and tokens reads those that have expired, not all', async () => {
  const write = makeWrite(
    engine,
    makeChangeFeed(() => {}),
  )
  const oauth = makeOAuthStore({ engine, write, sealer })
  const plans = await plansOf(() => oauth.sweep(1, 10))
  assertSearches(plans, ['oauth_grants_by_expiry', 'oauth_rows_by_expiry'])
  for (const plan of plans) assert.match(plan, /\(expires_at<\?\)/)
})

test('the sweep of deletions reads the connections that wait, not all', async () => {
  const write = makeWrite(
    engine,
    makeChangeFeed(() => {}),
  )
  const connections = makeConnectionStore({ db: engine.db, write })
  const plans = await plansOf(async () => {
    await connections.listDeleting({ after: null, limit: 10 })
    await connections.listDeleting({ after: newId<ConnectionId>(), limit: 10 })
  })
  // A partial index holds nothing else, so that reading it from the front is reading what waits.
  for (const plan of plans) assert.match(plan, /USING INDEX connections_deleting\b/)
  for (const plan of plans) assert.doesNotMatch(plan, /TEMP B-TREE/)
  assert.match(plans[1] ?? '', /SEARCH connections USING INDEX connections_deleting \(id>\?\)/)
})

test('the change of keys reads the rows under older keys, and the keys in use in one step each', async () => {
  const plans = await plansOf(async () => {
    for (const table of sealedTables) {
      await listKeys(engine.db, table)
      await table.list(engine.db, sealer, { key: 'aa', after: null, limit: 10 })
      await table.list(engine.db, sealer, { key: 'aa', after: newId(), limit: 10 })
    }
  })
  assertSearches(plans, [
    ...Array(3).fill('logins_by_secret_key'),
    ...Array(3).fill('oauth_grants_by_payload_key'),
    ...Array(3).fill('oauth_rows_by_payload_key'),
  ])
})
