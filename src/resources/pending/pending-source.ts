/**
 * Rows with pending ones among them (reading R39): the pending rows of the accounts are a list of their own
 * in the snapshot, merged with the posted ones by time, or stand among these where the provider lists both.
 * Each row says when it was posted, and a posted one which pending row it replaced, where that is known.
 */
import assert from 'node:assert/strict'
import type { Transaction } from '#contract/resources.ts'
import { withoutTrailingZeros } from '#kernel/decimal.ts'
import type { AccountId } from '#kernel/ids.ts'
import { addDays, type Clock, type Micros, toMicros } from '#kernel/time.ts'
import type { RowSource } from '#paging/take-page.ts'
import { toQueries } from '#providers/by-account.ts'
import { UpstreamError } from '#providers/failure.ts'
import type {
  BankingAdapter,
  CallContext,
  DataAge,
  PageCursor,
  RowReader,
  RowsQuery,
  TransactionPage,
} from '#providers/port.ts'
import type { PendingReading, PendingRow } from '#providers/row-details.ts'
import {
  findReplaced,
  type ListedPending,
  type PendingMemory,
  type PostedLikeness,
  type RowLikeness,
  reachDays,
  settlePending,
} from './match-pending.ts'
import type { PendingMemories } from './pending-memory.ts'

/** Reads the pending rows, and posted ones to compare them with; remembers both by fingerprints. */
interface PendingReader {
  readonly memories: PendingMemories
  readonly clock: Clock
  readonly adapter: BankingAdapter
  readonly asked: RowsQuery
}

/** What is known of each account. */
type Known = Map<AccountId, PendingMemory>

/** @param asked what is read, its window included. */
export async function openPendingSource(
  options: PendingReader,
): Promise<RowSource<TransactionPage>> {
  const { adapter, asked, memories } = options
  const { provider, transactions: reader, pending } = adapter
  const { userId } = asked
  const queries = toQueries(adapter, asked)
  const known: Known = new Map()
  const tell = (page: TransactionPage) => tellPage(page, options, known)
  if (typeof pending !== 'function') {
    const wanted = pending === undefined ? {} : { pending }
    return {
      provider,
      reader: tellEach(reader, tell),
      queries: queries.map((query) => ({ ...query, ...wanted })),
    }
  }
  await Promise.all(
    asked.accounts.map(async ({ id }) => {
      known.set(id, await memories.load({ userId, accountId: id }))
    }),
  )
  const posted = shareReads(tellEach(reader, tell))
  let coming: Promise<TransactionPage> | null = null
  return {
    provider,
    queries: [{ ...asked, pending: 'alone' }, ...queries],
    reader: {
      ...reader,
      async read(query, cursor, call) {
        if (query.pending === 'alone') {
          coming = readPendingPage({ ...options, query, call, known, posted, read: pending })
          return coming
        }
        // A row that is posted meanwhile shows twice rather than never.
        await coming?.catch(() => undefined)
        const { person: _, ...later } = call
        return posted.read(query, cursor, later)
      },
      open: (query, cursor, body) =>
        query.pending === 'alone' ? openHeld(query, body) : posted.open(query, cursor, body),
    },
  }
}

/** The same reader with each page changed. */
function tellEach(
  reader: RowReader<TransactionPage>,
  tell: (page: TransactionPage) => TransactionPage,
): RowReader<TransactionPage> {
  return {
    ...reader,
    read: async (query, cursor, call) => tell(await reader.read(query, cursor, call)),
    open: (query, cursor, body) => tell(reader.open(query, cursor, body)),
  }
}

/** A posted row with what the switch adds; the id of a pending one is of a kind of its own. */
function tellPage(
  page: TransactionPage,
  { memories, asked: { userId } }: PendingReader,
  known: Known,
): TransactionPage {
  function replacedBy({ id, accountId }: Transaction): string | null {
    const memory = known.get(accountId)
    if (memory === undefined || memory.settled.length === 0) return null
    return findReplaced(memory, memories.print({ userId, accountId }, 'id', id))
  }
  return {
    ...page,
    map(index) {
      const row = page.map(index)
      const { dates, replaces = null } = page.settling(index)
      const toId = (key: string) => memories.idOf({ userId, accountId: row.accountId }, key)
      if (row.status === 'pending') return { ...row, id: toId(row.id), ...dates }
      const supersedes = replaces === null ? replacedBy(row) : toId(replaces)
      return { ...row, ...dates, ...(supersedes === null ? {} : { supersedes }) }
    },
  }
}

/** A page that was read to compare it is used once more, where the same one is asked for. */
function shareReads(reader: RowReader<TransactionPage>) {
  const pages = new Map<string, TransactionPage>()
  const nameOf = ({ accounts, window }: RowsQuery, cursor: PageCursor | null) =>
    JSON.stringify([accounts.map(({ id }) => id), window.from, window.to, cursor])
  return {
    ...reader,
    async readAhead(query: RowsQuery, cursor: PageCursor | null, call: CallContext) {
      const page = await reader.read(query, cursor, call)
      pages.set(nameOf(query, cursor), page)
      return page
    },
    async read(query: RowsQuery, cursor: PageCursor | null, call: CallContext) {
      const name = nameOf(query, cursor)
      const page = pages.get(name)
      // Who asks again wants a new one.
      pages.delete(name)
      return page ?? reader.read(query, cursor, call)
    },
  }
}

interface PendingQuestion extends PendingReader {
  readonly query: RowsQuery
  readonly call: CallContext
  readonly known: Known
  readonly posted: ReturnType<typeof shareReads>
  readonly read: (query: RowsQuery, call: CallContext) => Promise<PendingReading>
}

/** A page of pending rows as it is held. */
interface HeldPending {
  readonly rows: readonly { readonly time: Micros; readonly row: Transaction }[]
  readonly age: DataAge | null
}

async function readPendingPage(question: PendingQuestion): Promise<TransactionPage> {
  const { query, call, known, memories, clock } = question
  const { userId, zone, accounts, window } = query
  const { rows, age = null } = await question.read(query, call)
  const isKnown = [...known.values()].some(({ seen }) => seen.length > 0)
  const posted = rows.length > 0 || isKnown ? await readPosted(question) : new Map()
  const now = clock.now()
  const today = zone.dayOf(toMicros(now))
  const shown: { time: Micros; row: Transaction }[] = []
  for (const { id: accountId } of accounts) {
    const owner = { userId, accountId }
    const own = rows
      .filter(({ row }) => row.accountId === accountId)
      .map((row) => ({ ...row, id: memories.idOf(owner, row.key) }))
    const listed = own.map((one) =>
      toListed(one, one.id, (kind, text) => memories.print(owner, kind, text)),
    )
    const sight = {
      listed,
      posted: posted === null ? null : (posted.get(accountId) ?? []),
      now,
      today,
    }
    const memory = await memories.update(owner, (before) => settlePending(before, sight))
    known.set(accountId, memory)
    const seen = new Map(memory.seen.map((one) => [one.id, one]))
    for (const { id, row, dates, time } of own) {
      const first = toMicros(seen.get(id)?.firstAt ?? now)
      const date = time === null ? (seen.get(id)?.day ?? today) : row.date
      const isLater = window.isOpen === true && window.to !== null && first > window.to
      const at = time ?? (isLater ? window.to : first)
      shown.push({ time: at ?? first, row: { ...row, id, date, ...dates } })
    }
  }
  shown.sort((one, other) => other.time - one.time || (one.row.id < other.row.id ? -1 : 1))
  const held: HeldPending = { rows: shown, age }
  return openHeld(query, Buffer.from(JSON.stringify(held)))
}

function openHeld(query: RowsQuery, body: Uint8Array): TransactionPage {
  const { rows, age }: HeldPending = JSON.parse(Buffer.from(body).toString())
  function rowAt(index: number) {
    const found = rows[index]
    const account = query.accounts.find(({ id }) => id === found?.row.accountId)
    assert(found !== undefined && account !== undefined, 'the index is on the page')
    return { ...found, account }
  }
  return {
    length: rows.length,
    next: null,
    ahead: [],
    total: null,
    ownRows: rows.length,
    ...(age === null ? {} : { age }),
    body,
    head(index) {
      const { row, account, time } = rowAt(index)
      return { id: row.id, account, time }
    },
    map: (index) => rowAt(index).row,
    details: () => assert.fail('details of pending rows are not kept'),
    settling: () => assert.fail('pending rows have what is told of them'),
  }
}

/** A reading of a month has fewer pages; of one with more not all rows are compared. */
const mostPages = 12

/**
 * The posted rows of the last days by account; null: not all of them can be had. The window is that of a
 * request without `from` and `to`, whose pages are then not read twice.
 */
async function readPosted({
  adapter,
  query,
  posted,
  call,
  clock,
  memories,
}: PendingQuestion): Promise<ReadonlyMap<AccountId, readonly PostedLikeness[]> | null> {
  const { userId, zone, window } = query
  const to = window.isOpen === true && window.to !== null ? window.to : toMicros(clock.now())
  const from = zone.startOfDay(addDays(zone.dayOf(to), -reachDays))
  const found = new Map<AccountId, PostedLikeness[]>()
  const { person: _, ...later } = call
  const { pending: __, ...plain } = query
  for (const one of toQueries(adapter, { ...plain, window: { from, to, isOpen: true } })) {
    let cursor: PageCursor | null = null
    for (let pages = 0; ; pages += 1) {
      if (pages === mostPages) return null
      const page: TransactionPage = await posted.readAhead(one, cursor, later)
      let [older, own] = [0, 0]
      for (let index = 0; index < page.length; index += 1) {
        const head = page.head(index)
        if (head === null) continue
        own += 1
        if (head.time < from) older += 1
        if (head.time < from || head.time > to) continue
        const owner = { userId, accountId: head.account.id }
        const likeness = tryRead(() =>
          toPosted(page, index, (kind, text) => memories.print(owner, kind, text)),
        )
        if (likeness === null) return null
        const ofAccount = found.get(head.account.id)
        if (ofAccount === undefined) found.set(head.account.id, [likeness])
        else ofAccount.push(likeness)
      }
      cursor = page.next
      if (cursor === null || (own > 0 && older === own)) break
    }
  }
  return found
}

/** A row that cannot be read fails who asks for it (reading R23); here it leaves the others in doubt. */
function tryRead<Read>(read: () => Read): Read | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof UpstreamError && error.failure.kind === 'malformed') return null
    throw error
  }
}

type Print = (kind: string, text: string) => string

function toPosted(page: TransactionPage, index: number, print: Print): PostedLikeness {
  const row = page.map(index)
  const { isForeign = false } = page.settling(index)
  return { ...toLikeness(row, isForeign, print), print: print('id', row.id) }
}

function toListed({ row, time, isForeign }: PendingRow, id: string, print: Print): ListedPending {
  return { ...toLikeness(row, isForeign, print), id, day: time === null ? null : row.date }
}

/** Automated pumps and stations (ISO 18245): the hold is an estimate. */
const fuelCodes: ReadonlySet<string | null> = new Set(['5541', '5542', '5552'])

function toLikeness(row: Transaction, isForeign: boolean, print: Print): RowLikeness {
  const texts = [row.description, row.merchantName ?? '']
    .map((text) => text.toUpperCase().replace(/\s+/g, ' ').trim())
    .filter((text) => text !== '')
  return {
    day: row.date,
    isOut: row.direction === 'debit',
    texts: [...new Set(texts)].map((text) => print('text', text)),
    amount: print('amount', withoutTrailingZeros(row.amount)),
    mayChange: isForeign || fuelCodes.has(row.merchantCategoryCode),
  }
}
