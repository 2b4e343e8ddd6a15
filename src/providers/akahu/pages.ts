/**
 * Reads Akahu's transactions page by page: 100 rows each, an opaque cursor, an empty page that is not the end. Rows are
 * parsed once and mapped only when they are wanted; no row is ever dropped in silence.
 */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import type { Transaction } from '#contract/resources.ts'
import { makeNumberQuoter, parseExactJson } from '#kernel/json.ts'
import { type Micros, toIso } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type {
  AccountRef,
  CallContext,
  PageCursor,
  RowHead,
  RowPage,
  RowReader,
  RowsQuery,
  TimeWindow,
} from '../port.ts'
import type { AkahuClient } from './client.ts'
import { tokenOf } from './consent.ts'
import { makeDateReader } from './dates.ts'
import { type Note, toTransaction, type WireRow } from './map.ts'
import { malformed } from './refusals.ts'

/** Akahu's page size; there is no parameter for it. */
const pageSize = 100
const maxCursorLength = 2_048

/** No zone is further than this from any stamp: what is fetched too much is filtered by R16a. */
const margin: Micros = 26 * 3_600_000_000
/** "No bound" still sends one: what Akahu does without is told differently by its sources. */
const earliest: Micros = 0
const latest: Micros = 7_258_118_400_000_000

/**
 * Where a walk stands. Akahu wants the same `start` and `end` with every cursor, so they travel with it: a walk that is
 * resumed later must not send the bounds of that later moment.
 */
interface Place {
  readonly start: string
  readonly end: string
  /** Akahu's cursor; null on the first page. */
  readonly next: string | null
  /** Pages read so far. */
  readonly count: number
  /** Digest of the cursor at the last page whose number was a power of two; null before the first. */
  readonly mark: string | null
}

const parseRows = makeNumberQuoter(['amount'])

/** The reader of all transactions of a token, or of one account. */
export function makeTransactionReader(
  client: AkahuClient,
  note: Note,
): RowReader<RowPage<Transaction>> {
  function open(query: RowsQuery, cursor: PageCursor | null, body: Uint8Array) {
    return openPage(query, toPlace(query.window, cursor), body, note)
  }

  async function read(query: RowsQuery, cursor: PageCursor | null, call: CallContext) {
    const secret = tokenOf(query.login)
    const { start, end, next } = toPlace(query.window, cursor)
    const parameters = new URLSearchParams({
      start,
      end,
      ...(next === null ? {} : { cursor: next }),
    })
    const [only] = query.accounts
    if (!query.scoped) {
      const route = '/transactions'
      const request = { method: 'GET', route, target: `${route}?${parameters}` } as const
      return open(query, cursor, await client.asUser(secret, request, call))
    }
    assert(only !== undefined && query.accounts.length === 1, 'a scoped read names one account')
    const request = {
      method: 'GET',
      route: '/accounts/{id}/transactions',
      target: `/accounts/${encodeURIComponent(only.upstreamId)}/transactions?${parameters}`,
    } as const
    return open(query, cursor, await client.asUser(secret, request, call, 'account'))
  }

  return { pageSize, read, open }
}

function toPlace(window: TimeWindow, cursor: PageCursor | null): Place {
  if (cursor !== null) return JSON.parse(cursor)
  return {
    start: toBound(window.from === null ? earliest : window.from - margin),
    end: toBound(window.to === null ? latest : window.to + margin),
    next: null,
    count: 0,
    mark: null,
  }
}

/** Milliseconds are Akahu's resolution; beyond the years 1970 to 2200 it has no rows. */
function toBound(instant: Micros): string {
  return toIso(Math.floor(Math.min(Math.max(instant, earliest), latest) / 1000))
}

/**
 * The cursor of the next page, or null at the end.
 *
 * A provider that leads a walk in a circle would keep it busy for ever, and one page cannot tell. So the walk remembers
 * one cursor, that of the last page whose number was a power of two (Brent's way of finding a cycle): it meets it again
 * after at most three times the length of the circle and the way to it.
 */
function advance(place: Place, next: string): PageCursor {
  const digest = hash('sha256', next).slice(0, 32)
  if (next === place.next || digest === place.mark) throw malformed('the cursors run in a circle')
  const count = place.count + 1
  const isPowerOfTwo = (count & (count - 1)) === 0
  return JSON.stringify({ ...place, next, count, mark: isPowerOfTwo ? digest : place.mark })
}

function readNext(cursor: unknown): string | null {
  if (cursor === undefined || cursor === null) return null
  const next: unknown = typeof cursor === 'object' ? Reflect.get(cursor, 'next') : undefined
  if (next === null) return null
  if (typeof next !== 'string' || next === '' || next.length > maxCursorLength) {
    throw malformed('the cursor of a page cannot be read')
  }
  return next
}

function openPage(
  query: RowsQuery,
  place: Place,
  body: Uint8Array,
  note: Note,
): RowPage<Transaction> {
  const envelope = readEnvelope(body, parseRows)
  const { rows } = envelope
  const next = readNext(envelope.cursor)
  const accounts = new Map<unknown, AccountRef>(
    query.accounts.map((account) => [account.upstreamId, account]),
  )
  const refs = rows.map((row) => accounts.get(row._account) ?? null)
  rows.forEach((row, index) => {
    if (refs[index] === null) checkStranger(row, accounts)
  })
  const readDate = makeDateReader(query.zone)
  let exact: readonly WireRow[] | null = null

  /** A key spelled with escapes slips past the quoting and is a float by now: then the page is parsed the slow way. */
  function exactRow(index: number): WireRow {
    const row = rowAt(rows, index)
    if (typeof row.amount !== 'number') return row
    exact ??= readEnvelope(body, parseExactJson).rows
    return rowAt(exact, index)
  }

  function head(index: number): RowHead | null {
    const { _id: id, date } = rowAt(rows, index)
    const account = refs[index] ?? null
    if (typeof id !== 'string' || id === '') throw malformed('a transaction has no id')
    if (account === null) return null
    const read = readDate(date)
    if (read === null) throw malformed('a transaction has no date')
    return { id, account, time: read.time }
  }

  return {
    length: rows.length,
    next: next === null ? null : advance(place, next),
    ahead: [],
    ownRows: refs.filter((ref) => ref !== null).length,
    body,
    head,
    map(index) {
      const account = refs[index] ?? null
      assert(account !== null, 'only rows of the accounts asked for are mapped')
      return toTransaction(exactRow(index), account, readDate, note)
    },
  }
}

/**
 * A row of an account that was not asked for. If Akahu moved it from one that was, the list of accounts has to be read
 * again: passing over it would show a bank that has moved as one without transactions.
 */
function checkStranger(row: WireRow, accounts: ReadonlyMap<unknown, AccountRef>): void {
  if (typeof row._account !== 'string') throw malformed('a transaction names no account')
  if (accounts.has(row._migrated_account)) {
    const detail = 'the account was moved to another id'
    throw new UpstreamError('akahu', { kind: 'account_gone', detail })
  }
}

function rowAt(rows: readonly WireRow[], index: number): WireRow {
  const row = rows[index]
  assert(row !== undefined, 'the index is on the page')
  return row
}

function readEnvelope(
  body: Uint8Array,
  parse: (text: string) => unknown,
): { readonly rows: readonly WireRow[]; readonly cursor: unknown } {
  let parsed: unknown
  try {
    parsed = parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'))
  } catch (cause) {
    throw malformed('a page is no JSON', cause)
  }
  if (!isRow(parsed) || parsed.success !== true || !Array.isArray(parsed.items)) {
    throw malformed('a page has no list of transactions')
  }
  const rows: readonly unknown[] = parsed.items
  if (!rows.every(isRow)) throw malformed('a transaction is no object')
  return { rows, cursor: parsed.cursor }
}

function isRow(value: unknown): value is WireRow {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
