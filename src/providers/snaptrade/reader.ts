/**
 * Pages of activities: numbered pages, so a cursor is the offset as text, and further offsets follow from the
 * total. A page begins with the last row of the page before it. Rows are mapped only when requested.
 */
import type { Trade } from '#contract/resources.ts'
import { addDays, type Micros, toIso, toMillis } from '#kernel/time.ts'
import type {
  AccountRef,
  PageCursor,
  RowReader,
  RowsQuery,
  TimeWindow,
  TradePage,
} from '../port.ts'
import { noteRepeatedIds } from '../repeated-ids.ts'
import { malformed } from './failures.ts'
import {
  type ParseTime,
  parseTradeTime,
  readActivity,
  readTradeTime,
  toTrade,
  toTradeKey,
} from './map-trade.ts'
import { type Row, readCount, readPart, readRows, readText } from './numbers.ts'

/** SnapTrade's default and maximum. */
export const pageSize = 1_000
/** Cursors returned in advance: more than a caller reads at once; with a wrong total few do no harm. */
const maxAhead = 16
/** Each page repeats one row of the page before it, so that rows which move between two pages show. */
const overlap = 1
const maxOffset = 2 ** 31 - 1

/** Fetches the body of one page. */
export type RequestPage = (
  query: RowsQuery,
  parameters: readonly (readonly [string, string])[],
  call: Parameters<RowReader<TradePage>['read']>[2],
) => Promise<Uint8Array>

export function makeTradeReader(options: {
  readonly fetchPage: RequestPage
  readonly onOddity: (what: string) => void
  /** A page with rows came. */
  readonly onRows: (query: RowsQuery) => void
}): RowReader<TradePage> {
  const open = (query: RowsQuery, cursor: PageCursor | null, body: Uint8Array) =>
    openPage(query, parseCursor(cursor), body, options.onOddity)
  return {
    pageSize,
    overlap,
    async read(query, cursor, call) {
      const offset = parseCursor(cursor)
      const body = await options.fetchPage(query, toParameters(query.window, offset), call)
      const page = open(query, cursor, body)
      if (page.length > 0) options.onRows(query)
      return page
    },
    open,
  }
}

function parseCursor(cursor: PageCursor | null): number {
  if (cursor === null) return 0
  const offset = /^\d{1,10}$/.test(cursor) ? Number(cursor) : Number.NaN
  if (!(offset <= maxOffset)) throw malformed('a cursor is not an offset')
  return offset
}

/**
 * SnapTrade knows days only: the window is widened by one day on each side and filtered exactly by us
 * (reading R16a). Absent bounds are not sent ("provider default": everything known).
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

function shiftDay(instant: Micros, days: number): string {
  const text = toIso(toMillis(instant)).slice(0, 10)
  // Outside four-digit years the ISO form has a sign, which SnapTrade does not accept.
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
  const { rows, envelope } = readRows(body, 'data')
  const { length } = rows
  const { next, ahead, total } = readPaging(envelope, offset, length)
  const row = (index: number) => readActivity(rows[index])
  return {
    length,
    next,
    ahead,
    total,
    ownRows: length,
    body,
    head(index) {
      const parsed = row(index)
      return { id: readId(parsed), account, time: readTradeTime(parsed, parseTime).time }
    },
    map(index): Trade {
      const parsed = row(index)
      readId(parsed)
      return toTrade(parsed, { account, parseTime, onOddity })
    },
    noteRepeated: () => noteRepeatedIds(rows, 'id', onOddity),
    tradeKey: (index) => toTradeKey(row(index), parseTime),
  }
}

function readId(row: Row): string {
  const id = readText(row, 'id')
  if (id === null) throw malformed('an activity has no id')
  return id
}

/** The provider lists activities per account only. */
export function theAccount(query: RowsQuery): AccountRef {
  const [account, ...others] = query.accounts
  if (account === undefined || others.length > 0) {
    throw new TypeError('activities are read for exactly one account')
  }
  return account
}

/** The next page starts at the last row received. Without paging information a short page is the last. */
function readPaging(
  envelope: Row,
  offset: number,
  length: number,
): Pick<TradePage, 'next' | 'ahead' | 'total'> {
  const pagination = readPart(envelope, 'pagination')
  const end = offset + length
  if (end > maxOffset) throw malformed('there are more rows than offsets')
  if (pagination === null) {
    const next = length < pageSize ? null : String(end - overlap)
    return { next, ahead: [], total: null }
  }
  const total = readCount(pagination, 'total')
  if (total === null) throw malformed('a page has no total')
  // A provider that ignores the offset would send the same page forever.
  const given = readCount(pagination, 'offset')
  if (given !== null && given !== offset)
    throw malformed('a page starts at another offset than asked')
  // A page without a new row before the total: rows were removed, or the login ended. The count shows it.
  // After a full page the next one is asked for whatever the total says: a total that is too small would
  // leave out rows in silence.
  const isLast = end >= total && length < pageSize
  if (isLast || length <= (offset === 0 ? 0 : overlap)) return { next: null, ahead: [], total }
  const ahead: PageCursor[] = []
  if (length === pageSize) {
    const step = pageSize - overlap
    for (
      let at = end - overlap + step;
      at + overlap < total && ahead.length < maxAhead;
      at += step
    ) {
      ahead.push(String(at))
    }
  }
  return { next: String(end - overlap), ahead, total }
}
