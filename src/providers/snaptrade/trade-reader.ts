/**
 * Pages of activities as the port wants them: numbered pages, so a cursor is the offset as text
 * and further offsets are known from the total. A page is parsed once; rows are mapped only when
 * they are asked for.
 */
import type { Trade } from '#contract/resources.ts'
import { addDays, microsPerMs, toIso } from '#kernel/time.ts'
import type {
  AccountRef,
  PageCursor,
  RowReader,
  RowsQuery,
  TimeWindow,
  TradePage,
} from '../port.ts'
import { malformed } from './failures.ts'
import {
  type ParseTime,
  parseTradeTime,
  readActivity,
  readTradeTime,
  toTrade,
  toTradeKey,
} from './map-trade.ts'
import { type Row, readCount, readLazyRows, readPart, readText } from './numbers.ts'

/** Default and maximum of SnapTrade. */
export const pageSize = 1_000
/**
 * Cursors told in advance: more than anybody keeps in flight, less than a lying total could cost.
 */
const maxAhead = 16
const maxOffset = 2 ** 31 - 1

/** Fetches the body of one page. */
export type FetchPage = (
  query: RowsQuery,
  parameters: readonly (readonly [string, string])[],
  call: Parameters<RowReader<TradePage>['read']>[2],
) => Promise<Uint8Array>

/**
 * @param checkEmpty called when an account has no row at all on its first page; throws when that
 * is no news.
 */
export function makeTradeReader(parts: {
  readonly fetchPage: FetchPage
  readonly checkEmpty: (query: RowsQuery, call: Parameters<FetchPage>[2]) => Promise<void>
  readonly onOddity: (what: string) => void
}): RowReader<TradePage> {
  const open = (query: RowsQuery, cursor: PageCursor | null, body: Uint8Array) =>
    openPage(query, parseCursor(cursor), body, parts.onOddity)
  return {
    pageSize,
    async read(query, cursor, call) {
      const offset = parseCursor(cursor)
      const body = await parts.fetchPage(query, toParameters(query.window, offset), call)
      const page = open(query, cursor, body)
      if (offset === 0 && page.length === 0) await parts.checkEmpty(query, call)
      return page
    },
    open,
  }
}

function parseCursor(cursor: PageCursor | null): number {
  if (cursor === null) return 0
  const offset = /^\d{1,10}$/.test(cursor) ? Number(cursor) : Number.NaN
  if (!(offset <= maxOffset)) throw malformed('a cursor is no offset')
  return offset
}

/**
 * SnapTrade knows days only: the window is widened by one on each side and cut exactly on our
 * side (reading R16a). Absent bounds are not sent ("provider default": everything known).
 */
export function toParameters(window: TimeWindow, offset: number): [string, string][] {
  const parameters: [string, string][] = []
  if (window.from !== null) parameters.push(['startDate', shiftDay(window.from, -1)])
  if (window.to !== null) parameters.push(['endDate', shiftDay(window.to, 1)])
  parameters.push(['offset', String(offset)], ['limit', String(pageSize)])
  return parameters
}

const firstDay = '0001-01-02'
const lastDay = '9999-12-30'

function shiftDay(micros: number, days: number): string {
  const text = toIso(Math.floor(micros / microsPerMs)).slice(0, 10)
  // Beyond the years of four digits the ISO form grows a sign, which nobody there reads.
  const day = /^\d/.test(text) ? text : text.startsWith('-') ? firstDay : lastDay
  return addDays(day < firstDay ? firstDay : day > lastDay ? lastDay : day, days)
}

function openPage(
  query: RowsQuery,
  offset: number,
  body: Uint8Array,
  onOddity: (what: string) => void,
): TradePage {
  const account = theAccount(query)
  const parseTime: ParseTime = (text) => parseTradeTime(text, query.zone)
  const { rows, envelope, exactRow } = readLazyRows(body, 'data')
  const { next, ahead } = readPaging(envelope, offset, rows.length)
  return {
    length: rows.length,
    next,
    ahead,
    ownRows: rows.length,
    body,
    head(index) {
      const row = readActivity(rows[index])
      return { id: readId(row), account, time: readTradeTime(row, parseTime).time }
    },
    map(index): Trade {
      const row = readActivity(exactRow(index))
      readId(row)
      return toTrade(row, { account, parseTime, onOddity })
    },
    tradeKey: (index) => toTradeKey(readActivity(exactRow(index)), parseTime),
  }
}

function readId(row: Row): string {
  const id = readText(row, 'id')
  if (id === null) throw malformed('an activity has no id')
  return id
}

/** The provider knows activities per account only. */
export function theAccount(query: RowsQuery): AccountRef {
  const [account, ...others] = query.accounts
  if (account === undefined || others.length > 0) {
    throw new TypeError('activities are read for exactly one account')
  }
  return account
}

/**
 * Where the next page starts: behind the rows that came, as long as the total says that there are
 * more. Without any word on paging a page that is not full is the last one.
 */
function readPaging(
  envelope: Row,
  offset: number,
  length: number,
): { readonly next: PageCursor | null; readonly ahead: readonly PageCursor[] } {
  const pagination = readPart(envelope, 'pagination')
  const next = offset + length
  if (next > maxOffset) throw malformed('there are more rows than offsets')
  if (pagination === null) {
    return { next: length < pageSize ? null : String(next), ahead: [] }
  }
  const total = readCount(pagination, 'total')
  if (total === null) throw malformed('a page does not tell its total')
  // A provider that ignores the offset would send the same page for ever.
  const told = readCount(pagination, 'offset')
  if (told !== null && told !== offset)
    throw malformed('a page starts at another offset than asked')
  if (next >= total) return { next: null, ahead: [] }
  if (length === 0) throw malformed(`a page is empty though ${total - offset} rows remain`)
  const ahead: PageCursor[] = []
  if (length === pageSize) {
    for (let at = next + pageSize; at < total && ahead.length < maxAhead; at += pageSize) {
      ahead.push(String(at))
    }
  }
  return { next: String(next), ahead }
}
