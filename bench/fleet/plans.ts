/**
 * The plans of the statements that look for due work, over a filled fleet: each table is read by a range of
 * an index. The statements are those that the store builds; they are recorded as they run and then explained.
 */
import { CompiledQuery, type KyselyPlugin, type QueryId, type RootOperationNode, sql } from 'kysely'
import type { EndpointId, SyncRunId } from '#kernel/ids.ts'
import { makeFeed } from '#store/engine/change-feed.ts'
import { type Engine, makeWrite } from '#store/engine/engine.ts'
import type { Db } from '#store/engine/tables.ts'
import { makeDeliveryStore } from '#store/events/deliveries.ts'
import { makeEventStore } from '#store/events/events.ts'
import { makeOpenedEndpoints } from '#store/events/opened-endpoints.ts'
import { makeSealer } from '#store/seal.ts'
import { makeSyncStore } from '#store/syncs/syncs.ts'
import { type Place, storeKey, withEngine } from '../ground.ts'

export interface PlanReport {
  readonly statements: number
  /** `step: table` of every table that was read as a whole. */
  readonly scans: readonly string[]
}

interface Asked {
  readonly step: string
  readonly of: Db
  readonly node: RootOperationNode
  readonly queryId: QueryId
}

/** Runs one round of background work and explains each of its statements. */
export function checkPlans(place: Place, now: number): Promise<PlanReport> {
  return withEngine(place, async (plain) => {
    const asked = await record(plain, now)
    const scans = new Set<string>()
    for (const { step, of, node, queryId } of asked) {
      const compiled = of.getExecutor().compileQuery(node, queryId)
      for (const table of await findScans(plain, of, compiled)) scans.add(`${step}: ${table}`)
    }
    return { statements: asked.length, scans: [...scans] }
  })
}

/** Subqueries are built too, but only the outer query has a result. */
async function record(plain: Engine, now: number): Promise<readonly Asked[]> {
  const built = new WeakMap<QueryId, RootOperationNode>()
  const asked: Asked[] = []
  let step = ''
  const makeRecorder = (of: Db): KyselyPlugin => ({
    transformQuery({ node, queryId }) {
      built.set(queryId, node)
      return node
    },
    async transformResult({ result, queryId }) {
      const node = built.get(queryId)
      if (node !== undefined) asked.push({ step, of, node, queryId })
      return result
    },
  })
  const db = plain.db.withPlugin(makeRecorder(plain.db))
  const engine: Engine = {
    ...plain,
    // Built each time, with their values: a plan is asked for with these.
    queries: { compile: (build, db, values) => build(db, values).compile() },
    db,
    transaction: (work) => db.transaction().execute(work),
    keysOf: (db) => plain.keysOf(db).withPlugin(makeRecorder(plain.keysOf(db))),
  }
  for (const [name, work] of listSteps(engine, now)) {
    step = name
    await work()
  }
  return asked
}

type Step = readonly [name: string, work: () => Promise<unknown>]

function listSteps(engine: Engine, now: number): readonly Step[] {
  const feed = <Told>() => makeFeed<Told>(() => {}, 'a listener failed')
  const write = makeWrite(engine, { changes: feed(), work: feed(), arrivals: feed() })
  const sealer = makeSealer([storeKey])
  const syncs = makeSyncStore({ engine, write })
  const deliveries = makeDeliveryStore({
    engine,
    write,
    sealer,
    opened: makeOpenedEndpoints(sealer),
  })
  const events = makeEventStore({ engine, write, sealer })
  const claim = { now, leaseMs: 60_000, limit: 4 }
  let runId: SyncRunId
  let endpoint: EndpointId
  let lease = ''
  const outcome = { kind: 'failed', code: 'upstream_unavailable', message: 'no answer' } as const
  return [
    [
      'claim syncs',
      async () => {
        const [sync] = await syncs.claimDue(claim)
        if (sync === undefined) throw new Error('no sync is due')
        runId = sync.runId
      },
    ],
    ['claim syncs of others', () => syncs.claimDue({ ...claim, limit: 1, except: ['fiskil'] })],
    ['renew a sync', () => syncs.renew(runId, now + 120_000)],
    [
      'finish a sync',
      () => syncs.finish(runId, { outcome, endedAt: now, nextDueAt: now + 120_000 }),
    ],
    ['measure syncs', () => syncs.readBacklog(now)],
    ['sweep runs', () => syncs.sweepRuns({ before: now - 86_400_000, limit: 500 })],
    ['claim unhealthy endpoints', () => deliveries.claimEndpoints({ ...claim, unhealthy: true })],
    [
      'claim endpoints',
      async () => {
        const [claimed] = await deliveries.claimEndpoints({ ...claim, unhealthy: false })
        if (claimed === undefined) throw new Error('no endpoint is due')
        lease = claimed.lease
        endpoint = claimed.endpoint.id
      },
    ],
    ['renew an endpoint', () => deliveries.renew(lease, now + 120_000)],
    ['list due deliveries', () => deliveries.listDue(endpoint, { now, limit: 4 })],
    ['find the oldest delivery', () => deliveries.findOldest(endpoint)],
    ['release an endpoint', () => deliveries.release(lease, { now, notBefore: 0 })],
    ['shred events', () => events.shred({ acceptedBefore: now - 86_400_000, now, limit: 500 })],
    ['sweep keys', () => events.sweepKeys({ before: now - 86_400_000, limit: 500 })],
    ['sweep receipts', () => events.sweepReceipts({ before: now - 86_400_000, limit: 500 })],
  ]
}

async function findScans({ kind }: Engine, of: Db, { sql: text, parameters }: CompiledQuery) {
  if (kind === 'postgres') {
    const explained = CompiledQuery.raw(`explain (format json) ${text}`, [...parameters])
    const { rows } = await of.executeQuery(explained)
    const tables = listSeqScans(Object.values(rows[0] ?? {})[0])
    const large = await Promise.all(tables.map((table) => isLarge(of, table)))
    return tables.filter((_table, index) => large[index])
  }
  const explained = CompiledQuery.raw(`explain query plan ${text}`, [...parameters])
  const { rows } = await of.executeQuery(explained as CompiledQuery<{ detail: string }>)
  const scanned = rows.flatMap(({ detail }) => /^SCAN (\w+)$/.exec(detail)?.[1] ?? [])
  // The rows of a subquery are scanned too; only tables count.
  const tables = await sql<{
    name: string
  }>`select name from sqlite_schema where type = 'table'`.execute(of)
  return scanned.filter((name) => tables.rows.some((table) => table.name === name))
}

/** A table of a few pages is rightly read as a whole. */
async function isLarge(of: Db, table: string): Promise<boolean> {
  const { rows } = await sql<{ pages: number }>`
    select relpages as pages from pg_class where relname = ${table}
  `.execute(of)
  return rows.some(({ pages }) => pages > 10)
}

/** Walks a plan as PostgreSQL writes it in JSON. */
function listSeqScans(plan: unknown): string[] {
  if (plan === null || typeof plan !== 'object') return []
  const nested = Object.values(plan).flatMap(listSeqScans)
  const isScan = 'Node Type' in plan && plan['Node Type'] === 'Seq Scan'
  return isScan && 'Relation Name' in plan ? [String(plan['Relation Name']), ...nested] : nested
}
