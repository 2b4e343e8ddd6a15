/**
 * Measures one ledger in a process of its own: what a sync of some thousand rows costs after its pages were
 * read, beside reading the same pages, and what the ledger takes on the disk. Arguments: the place of the
 * store and the sizes, as JSON.
 */
import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import {
  type AccountId,
  type ConnectionId,
  newId,
  type SyncRunId,
  type UserId,
} from '#kernel/ids.ts'
import type { TransactionPage } from '#providers/port.ts'
import type { LedgerMonth } from '#store/ports/ledgers.ts'
import type { Store } from '#store/ports/store.ts'
import { contentVersions, toTransactionObject } from '#syncs/event-objects.ts'
import { encodeLedger, makeEntries, unmark } from '#syncs/ledger-code.ts'
import { collectNews, type RowChanges } from '#syncs/news.ts'
import { makeEvents } from '#webhooks/envelope.ts'
import { fillFleet } from './fleet/fill.ts'
import { insertRows, measureTable, openPlace, type Place, withEngine } from './ground.ts'
import type { LedgerFacts, LedgerSizes } from './ledger.ts'
import { fetchPages, type LedgerPages } from './ledger-pages.ts'
import { serveChild } from './serve.ts'
import { measureSpan, measureStall, type Span } from './span.ts'
import { takeTurns } from './turns.ts'

interface Owner {
  readonly userId: UserId
  readonly connectionId: ConnectionId
}

const rowsOfPage = 1000
/** The new rows of a usual sync: a few, on the first page. */
const newRows = 5

async function prepare(
  place: Place,
): Promise<{ readonly owner: Owner; readonly pages: LedgerPages }> {
  const now = Date.now()
  const [person] = await withEngine(place, (engine) =>
    fillFleet(engine, { connections: 1, endpoints: 1, now, dueAt: () => now + 86_400_000 }),
  )
  const connectionId = person?.connections[0]
  if (person === undefined || connectionId === undefined) throw new Error('there is no person')
  const pages = await fetchPages(connectionId)
  await withEngine(place, (engine) =>
    insertRows(
      engine,
      'accounts',
      pages.query.accounts.map(({ id, upstreamId, name, currency }) => ({
        id,
        connection_id: connectionId,
        user_id: person.id,
        upstream_id: upstreamId,
        name,
        type: 'transaction',
        currency,
        hidden: false,
      })),
    ),
  )
  return { owner: { userId: person.id, connectionId }, pages }
}

/** Reads every row of a page in full, as a sync does. */
function readRows(page: TransactionPage) {
  return Array.from({ length: page.length }, (_, index) => ({
    row: page.map(index),
    details: page.details(index),
  }))
}

type Rows = ReturnType<typeof readRows>

interface Sync {
  readonly store: Store
  readonly owner: Owner
  readonly pages: LedgerPages
  readonly key: Uint8Array
  readonly rows: Rows
  readonly runId: SyncRunId
}

/** As src/syncs/read-rows.ts has it. */
const rowsPerTurn = 100

/** From the rows to what is new. */
async function diff({ store, pages, key, rows }: Sync): Promise<RowChanges> {
  const collector = collectNews({
    key,
    accountIds: pages.accountIds,
    months: await store.ledgers.read(pages.accountIds),
    contentVersion: contentVersions.transactions,
  })
  for (const [index, { row, details }] of rows.entries()) {
    if (index % rowsPerTurn === 0) await nextTurn()
    const object = toTransactionObject(row, details)
    collector.take({ accountId: row.accountId, id: row.id, formerId: null, object })
  }
  return collector.close(0)
}

/** From what is new to the committed transaction. */
async function commit({ store, owner, runId }: Sync, news: RowChanges): Promise<void> {
  const now = Date.now()
  const { new: added, updated } = news
  const draft = { ...owner, runId, type: 'transactions.synced', createdAt: now } as const
  const sealed = await store.events.seal(makeEvents({ ...draft, new: added, updated }))
  await store.transact(async (tx) => {
    await tx.ledgers.checkKey(owner.userId, () => {})
    await tx.ledgers.write(news.months)
    await tx.events.accept(sealed)
    const ended = await tx.syncs.finish(runId, {
      outcome: {
        kind: 'succeeded',
        newCount: added.length,
        updatedCount: updated.length,
        chunks: sealed.length,
        rowsReadAt: now,
        ledgerFrom: now,
      },
      endedAt: now,
      nextDueAt: now + 86_400_000,
    })
    if (!ended) throw new Error('the lease of the sync is lost')
  })
}

/** Ends and begins the ledger, so that all rows are new again, or leaves it; then one sync. */
async function sync<Measured extends Span>(
  parts: { readonly store: Store; readonly owner: Owner; readonly pages: LedgerPages },
  { rows, isFirst }: { readonly rows: Rows; readonly isFirst: boolean },
  measure: (work: () => Promise<unknown>) => Promise<Measured>,
): Promise<Measured & { readonly diffMs: number }> {
  const { store, owner } = parts
  if (isFirst) await store.ledgers.end(owner.userId)
  await store.ledgers.begin(owner.userId)
  const key = await store.ledgers.readKey(owner.userId)
  const options = { now: Date.now(), leaseMs: 60_000, reason: 'operator' } as const
  const claim = await store.syncs.claim(owner.connectionId, options)
  if (key === null || claim?.kind !== 'claimed') throw new Error('the sync cannot be claimed')
  const own = { ...parts, key, rows, runId: claim.sync.runId }
  let diffMs = 0
  const span = await measure(async () => {
    const started = performance.now()
    const news = await diff(own)
    diffMs = performance.now() - started
    await commit(own, news)
  })
  return { ...span, diffMs }
}

function listRows(pages: LedgerPages, count: number, first = 0): Rows {
  return Array.from({ length: Math.ceil(count / rowsOfPage) }, (_, number) =>
    readRows(pages.open(pages.body(first + number))),
  ).flat()
}

async function measureSyncs(place: Place, { rounds, warmUp, rows: counts }: LedgerSizes) {
  const { owner, pages } = await prepare(place)
  const store = await openPlace(place)
  const parts = { store, owner, pages }
  const body = pages.body(0)
  const known = listRows(pages, rowsOfPage)
  let fresh = 0
  const change = () => {
    fresh += 1
    return [...listRows(pages, rowsOfPage, fresh).slice(0, newRows), ...known.slice(newRows)]
  }
  const turns = await takeTurns(
    {
      parse: async () =>
        toSample(await measureSpan(async () => JSON.parse(Buffer.from(body).toString()))),
      read: async () => toSample(await measureSpan(async () => readRows(pages.open(body)))),
      first: async () => toWhole(await sync(parts, { rows: known, isFirst: true }, measureSpan)),
      usual: async () =>
        toWhole(await sync(parts, { rows: change(), isFirst: false }, measureSpan)),
    },
    rounds,
    warmUp,
  )
  const stalls: Record<number, number> = {}
  for (const count of counts) {
    const rows = listRows(pages, count)
    const { stallMs } = await sync(parts, { rows, isFirst: true }, measureStall)
    stalls[count] = stallMs
  }
  await store.close()
  const ratios = (['first', 'usual'] as const).map((name) => ({
    name,
    ms: turns.median(name, 'ms'),
    cpuMs: turns.median(name, 'cpuMs'),
    diffMs: turns.median(name, 'diffMs'),
    toParse: turns.ratio(name, 'parse', 'cpuMs'),
    toRead: turns.ratio(name, 'read', 'cpuMs'),
  }))
  return {
    parseMs: turns.median('parse', 'cpuMs'),
    readMs: turns.median('read', 'cpuMs'),
    ratios,
    stalls,
  }
}

const toWhole = (span: Span & { readonly diffMs: number }) => ({
  ...toSample(span),
  diffMs: span.diffMs,
})

const toSample = ({ ms, cpuMs }: Span) => ({ ms, cpuMs })

const months = 5
/** Syncs that add to the newest month after it was first written. */
const rewrites = 3

/** Bytes on the disk per row of the ledger, by number of rows of an account in a month. */
async function measureBytes(place: Place, accounts: number, rowsOfMonth: number): Promise<number> {
  const now = Date.now()
  const people = await withEngine(place, (engine) =>
    fillFleet(engine, { connections: accounts, endpoints: 0, now, dueAt: () => now + 86_400_000 }),
  )
  const rows = people.flatMap(({ id, connections }) =>
    connections.map((connectionId) => ({ id: newId<AccountId>(), user_id: id, connectionId })),
  )
  await withEngine(place, (engine) =>
    insertRows(
      engine,
      'accounts',
      rows.map(({ id, user_id, connectionId }) => ({
        id,
        connection_id: connectionId,
        user_id,
        upstream_id: id,
        name: 'Everyday',
        type: 'transaction',
        currency: 'AUD',
        hidden: false,
      })),
    ),
  )
  for (let write = 0; write <= rewrites; write += 1) {
    const store = await openPlace(place)
    for (const { id } of rows) await store.ledgers.write(makeMonths(id, rowsOfMonth, write))
    await store.close()
    // As the server does by itself in the hours between two syncs.
    await withEngine(place, async ({ kind, db }) => {
      if (kind === 'postgres') await sql`vacuum ledger_months`.execute(db)
    })
  }
  const bytes = await withEngine(place, async (engine) => {
    const size = await measureTable(engine, 'ledger_months')
    await sql`delete from ledger_months`.execute(engine.db)
    if (engine.kind === 'postgres') await sql`vacuum full ledger_months`.execute(engine.db)
    return size
  })
  return bytes / (rows.length * months * rowsOfMonth)
}

/** At first every month, the newest one half full; afterwards the newest alone, with more rows each time. */
function makeMonths(accountId: AccountId, rowsOfMonth: number, write: number): LedgerMonth[] {
  const share = 0.5 + (0.5 * write) / rewrites
  const newest = toMonth(accountId, months, Math.ceil(rowsOfMonth * share))
  if (write > 0) return [newest]
  const older = Array.from({ length: months - 1 }, (_, month) =>
    toMonth(accountId, month, rowsOfMonth),
  )
  return [...older, newest]
}

function toMonth(accountId: AccountId, month: number, rows: number): LedgerMonth {
  const entries = makeEntries()
  const numbers = Array.from({ length: rows }, (_, row) => row)
  for (const _ of numbers) {
    entries.ids.push(randomBytes(8).readBigUInt64BE())
    entries.contents.push(unmark(randomBytes(8).readBigUInt64BE()))
    entries.gone.push(false)
  }
  return {
    accountId,
    month: 2026 * 12 + month,
    entries: encodeLedger(entries, numbers, 1),
  }
}

const place = JSON.parse(process.argv[2] ?? '{}') as Place
const sizes = JSON.parse(process.argv[3] ?? '{}') as LedgerSizes
const bytes: Record<number, number> = {}
for (const rows of sizes.rowsOfMonth) bytes[rows] = await measureBytes(place, sizes.accounts, rows)
const facts: LedgerFacts = { ...(await measureSyncs(place, sizes)), bytes }
serveChild(facts)
