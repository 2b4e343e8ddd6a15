/** SQLite's plans for the queries of the store's repositories: an engine that records what runs on it. */
import assert from 'node:assert/strict'
import { CompiledQuery, type KyselyPlugin, type QueryId, type RootOperationNode } from 'kysely'
import { makeFeed } from '#store/engine/change-feed.ts'
import { type Engine, makeWrite, type Write } from '#store/engine/engine.ts'
import type { KeptQueries } from '#store/engine/kept-queries.ts'
import { openSqlite } from '#store/engine/sqlite-engine.ts'
import type { Db } from '#store/engine/tables.ts'
import { makeSqlitePlace } from '#tests/contract/store/place.ts'

export interface PlanStage {
  readonly engine: Engine
  readonly write: Write
  /** SQLite's plan for each query of `work`, in order. */
  plansOf(work: () => Promise<unknown>): Promise<string[]>
  close(): Promise<void>
}

interface Asked {
  readonly of: Db
  readonly node: RootOperationNode
  readonly queryId: QueryId
}

/** A new store in a directory of its own. */
export async function openPlanStage(): Promise<PlanStage> {
  const place = makeSqlitePlace()
  await (await place.open()).close()
  const plain = openSqlite(place.dataDir, () => {})
  const asked: Asked[] = []
  const built = new WeakMap<QueryId, RootOperationNode>()
  /** Records the queries that ran: subqueries are built too, but only the outer query has a result. */
  const record = (of: Db): Db =>
    of.withPlugin({
      transformQuery({ node, queryId }) {
        built.set(queryId, node)
        return node
      },
      async transformResult({ result, queryId }) {
        const node = built.get(queryId)
        if (node !== undefined) asked.push({ of, node, queryId })
        return result
      },
    } satisfies KyselyPlugin)
  // Built each time, with their values: a plan is asked for with these.
  const queries: KeptQueries = { compile: (build, db, values) => build(db, values).compile() }
  const keysOf = (db: Db) => record(plain.keysOf(db))
  const db = record(plain.db)
  const engine: Engine = {
    ...plain,
    queries,
    db,
    keysOf,
    transaction: (work) => db.transaction().execute(work),
  }
  const feed = <News>() => makeFeed<News>(() => {}, 'a listener failed')
  return {
    engine,
    write: makeWrite(engine, { changes: feed(), work: feed(), arrivals: feed() }),
    async plansOf(work) {
      asked.length = 0
      await work()
      const plans: string[] = []
      for (const one of asked) plans.push(await explain(one))
      return plans
    },
    async close() {
      await plain.close()
      await place.remove()
    },
  }
}

async function explain({ of, node, queryId }: Asked): Promise<string> {
  const { sql, parameters } = of.getExecutor().compileQuery(node, queryId)
  const question = CompiledQuery.raw(`explain query plan ${sql}`, [...parameters])
  const { rows } = await of.executeQuery<{ detail: string }>(
    question as CompiledQuery<{ detail: string }>,
  )
  return rows.map(({ detail }) => detail).join('; ')
}

/** Each plan searches the index of its place, and none reads a whole table or sorts. */
export function assertSearches(plans: readonly string[], indices: readonly string[]): void {
  for (const [position, index] of indices.entries())
    assert.match(plans[position] ?? '', new RegExp(`USING (COVERING )?INDEX ${index}\\b`))
  assert.equal(plans.length, indices.length, plans.join('\n'))
  for (const plan of plans) assert.doesNotMatch(plan, /\bSCAN \w+(;|$)|TEMP B-TREE/, plan)
}
