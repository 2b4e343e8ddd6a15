/**
 * Reads Akahu's transactions page by page: 100 rows each, an opaque cursor; an empty page may be followed by
 * others. Rows are parsed once and mapped only when requested; no row is dropped silently.
 */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { isRecord, makeNumberQuoter, parseExactJson } from '#kernel/json.ts'
import { addMicros, type Micros, toIso, toMicros, toMillis } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type {
  AccountRef,
  CallContext,
  PageCursor,
  RowHead,
  RowReader,
  RowsQuery,
  TimeWindow,
  TransactionPage,
} from '../port.ts'
import { noteRepeatedIds } from '../repeated-ids.ts'
import type { AkahuClient } from './client.ts'
import { makeDateReader } from './dates.ts'
import { toDetails } from './details.ts'
import { malformed } from './failures.ts'
import { type Note, toSettling, toTransaction, type WireRow } from './map.ts'
import { tokensOf } from './tokens.ts'

const pageSize = 100
const maxCursorLength = 2_048

/** No zone is further than this from any row's time. Rows read outside the window are filtered by R16a. */
const marginMicros = 26 * 3_600_000_000
/** Sent when there is no lower bound, because Akahu's sources disagree about its default. */
const earliest = toMicros(0)
const latest = toMicros(7_258_118_400_000)

/**
 * The position of a page. Akahu requires the same `start` and `end` with every cursor, so the position
 * contains them: a later request must not send bounds of a later time.
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

/** Reads the transactions of all accounts of a token, or of one account. */
export function makeTransactionReader(client: AkahuClient, note: Note): RowReader<TransactionPage> {
  function open(query: RowsQuery, cursor: PageCursor | null, body: Uint8Array) {
    return openPage(query, toPlace(query.window, cursor), body, note)
  }

  async function read(query: RowsQuery, cursor: PageCursor | null, call: CallContext) {
    const tokens = tokensOf(query.login)
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
      return open(query, cursor, await client.asUser(tokens, request, call))
    }
    assert(only !== undefined && query.accounts.length === 1, 'a scoped read names one account')
    const request = {
      method: 'GET',
      route: '/accounts/{id}/transactions',
      target: `/accounts/${encodeURIComponent(only.upstreamId)}/transactions?${parameters}`,
    } as const
    return open(query, cursor, await client.asUser(tokens, request, call, 'account'))
  }

  return { pageSize, overlap: 0, read, open }
}

function toPlace(window: TimeWindow, cursor: PageCursor | null): Place {
  if (cursor !== null) return JSON.parse(cursor)
  return {
    start: toBound(window.from === null ? earliest : addMicros(window.from, -marginMicros)),
    end: toBound(window.to === null ? latest : addMicros(window.to, marginMicros)),
    next: null,
    count: 0,
    mark: null,
  }
}

/** Akahu's times have milliseconds; it has no rows outside the years 1970 to 2200. */
function toBound(instant: Micros): string {
  return toIso(toMillis(instant < earliest ? earliest : instant > latest ? latest : instant))
}

/**
 * The position of the next page.
 *
 * If the provider's cursors form a cycle, a walk would never end, and a single page cannot show that. The
 * position keeps the cursor of the last page whose number was a power of two (Brent's cycle detection), so a
 * cycle is found after at most three times the number of pages before and in it.
 */
function advance(place: Place, next: string): PageCursor {
  const digest = hash('sha256', next).slice(0, 32)
  if (next === place.next || digest === place.mark) throw malformed('the cursors form a cycle')
  const count = place.count + 1
  const isPowerOfTwo = (count & (count - 1)) === 0
  return JSON.stringify({ ...place, next, count, mark: isPowerOfTwo ? digest : place.mark })
}

export function readNext(cursor: unknown): string | null {
  if (cursor === undefined || cursor === null) return null
  const next: unknown = typeof cursor === 'object' ? Reflect.get(cursor, 'next') : undefined
  if (next === null) return null
  if (typeof next !== 'string' || next === '' || next.length > maxCursorLength) {
    throw malformed('the cursor of a page cannot be read')
  }
  return next
}

function openPage(query: RowsQuery, place: Place, body: Uint8Array, note: Note): TransactionPage {
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
  const readDate = makeDateReader(query)
  let exact: readonly WireRow[] | null = null

  /** The number quoter misses a key spelled with escapes: then the page is parsed exactly. */
  function exactRow(index: number): WireRow {
    const row = rowAt(rows, index)
    if (typeof row.amount !== 'number') return row
    exact ??= readEnvelope(body, parseExactJson).rows
    return rowAt(exact, index)
  }

  function wanted(index: number): AccountRef {
    const account = refs[index] ?? null
    assert(account !== null, 'only rows of the accounts asked for are mapped')
    return account
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
    total: null,
    ownRows: refs.filter((ref) => ref !== null).length,
    body,
    head,
    map: (index) => toTransaction(exactRow(index), wanted(index), readDate, note),
    noteRepeated: () => noteRepeatedIds(rows, '_id', note),
    details: (index) => toDetails(rowAt(rows, index), wanted(index)),
    settling: (index) => toSettling(rowAt(rows, index), readDate),
  }
}

/**
 * Handles a row of an account that was not requested. If Akahu moved it from a requested account, the list of
 * accounts must be read again; skipping the row would show the moved account without transactions.
 */
export function checkStranger(row: WireRow, accounts: ReadonlyMap<unknown, AccountRef>): void {
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

export function readEnvelope(
  body: Uint8Array,
  parse: (text: string) => unknown,
): { readonly rows: readonly WireRow[]; readonly cursor: unknown } {
  let parsed: unknown
  try {
    parsed = parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'))
  } catch (cause) {
    throw malformed('a page is not JSON', cause)
  }
  if (!isRecord(parsed) || parsed.success !== true || !Array.isArray(parsed.items)) {
    throw malformed('a page has no list of transactions')
  }
  const rows: readonly unknown[] = parsed.items
  if (!rows.every(isRecord)) throw malformed('a transaction is not an object')
  return { rows, cursor: parsed.cursor }
}
