/**
 * Reads transactions window by window, newest first: the server has no pages, and answers at most 44 days
 * without a warning. The windows lie on midnights of UTC, so that none cuts a day and all readers share them
 * (reading R36). Only the newest has no end; older ones are asked for the accounts that are read, which the
 * server counts apart from the requests of a day.
 */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { addDays, getZone } from '#kernel/time.ts'
import { oldestOf } from '../data-age.ts'
import type {
  AccountRef,
  CallContext,
  DataAge,
  PageCursor,
  RowHead,
  RowReader,
  RowsQuery,
  TransactionPage,
} from '../port.ts'
import type { PendingReading } from '../row-details.ts'
import {
  demandWhole,
  findAccount,
  type Reach,
  readingLifeMs,
  readNewest,
  readSet,
  startOf,
  todayOf,
  windowDays,
} from './consent.ts'
import { balanceTime } from './map.ts'
import {
  type IdentifiedRow,
  identifyRows,
  timeOf,
  toDetails,
  toPendingRows,
  toSettling,
  toTransaction,
} from './map-row.ts'

/** How far back rows are looked for: banks give 60 to 90 days, and the server keeps what it collected. */
const historyDays = 730
/** A quiet account has few rows in a window (reading R17: the cap of pages is counted with it). */
const pageSize = 25

/** Accounts named in one request: their ids stand in its address. */
const mostNamed = 20

/** A window: its first day, and the day that it ends before; null: it has no end. */
const Place = z.object({ from: z.iso.date(), until: z.iso.date().nullable() })
type Place = z.output<typeof Place>

const utc = getZone('UTC')

/** What a page holds: its rows, and how old they are. */
interface Held {
  readonly rows: readonly IdentifiedRow[]
  readonly next: PageCursor | null
  readonly ownRows: number
  readonly age: DataAge
}

export function makeTransactionReader(reach: Reach): RowReader<TransactionPage> {
  async function read(query: RowsQuery, cursor: PageCursor | null, call: CallContext) {
    const today = todayOf(reach.clock)
    const place = cursor === null ? firstPlace(query, today) : Place.parse(JSON.parse(cursor))
    const bounds = {
      start: startOf(place.from),
      end: place.until === null ? null : startOf(place.until),
    }
    const ids = query.accounts.map(({ upstreamId }) => upstreamId).toSorted()
    const isNamed = place.until !== null && ids.length <= mostNamed
    const request = {
      startSeconds: bounds.start,
      endSeconds: bounds.end,
      accountIds: isNamed ? ids : [],
    }
    const { set, readAt } = await readSet(reach, query.login, request, call)
    const accounts = query.accounts.map(
      (account) => [account, findAccount(set, query.connection, account)] as const,
    )
    // Reading R20b: each window tells by account and bank whether its rows are there.
    for (const [ref, { transactions }] of accounts) {
      if ((transactions?.length ?? 0) === 0) demandWhole(set, query.connection, ref)
    }
    const rows = await identifyRows(accounts, bounds)
    const times = accounts.map(([, account]) => balanceTime(account, readAt))
    const held: Held = {
      rows,
      next: nextPlace(query, place, today),
      ownRows: accounts.reduce((sum, [, { transactions }]) => sum + (transactions?.length ?? 0), 0),
      age: { asOf: oldestOf(times), goodUntil: readAt + readingLifeMs },
    }
    return toPage(query, held, Buffer.from(JSON.stringify(held)))
  }

  return {
    pageSize,
    overlap: 0,
    read,
    open: (query, _cursor, body) => toPage(query, JSON.parse(Buffer.from(body).toString()), body),
  }
}

/** They come with the newest window. */
export async function readPendingRows(
  reach: Reach,
  query: RowsQuery,
  call: CallContext,
): Promise<PendingReading> {
  const { set, readAt } = await readNewest(reach, query.login, call)
  const accounts = query.accounts.map(
    (account) => [account, findAccount(set, query.connection, account)] as const,
  )
  const times = accounts.map(([, account]) => balanceTime(account, readAt))
  return {
    rows: toPendingRows(accounts, query),
    age: { asOf: oldestOf(times), goodUntil: readAt + readingLifeMs },
  }
}

/** The newest window that may have rows of the query. */
function firstPlace({ window }: RowsQuery, today: string): Place {
  let place: Place = { from: addDays(today, -windowDays), until: null }
  const { to } = window
  // A day later: the user's zone may be behind that of the stamps.
  const last = to === null || window.isOpen === true ? null : addDays(utc.dayOf(to), 1)
  while (last !== null && last < place.from && place.from > addDays(today, -historyDays)) {
    place = earlier(place)
  }
  return place
}

const earlier = ({ from }: Place): Place => {
  return { from: addDays(from, -windowDays), until: from }
}

/** Null at the beginning of the query and at the end of the history: an account may have a row a year. */
function nextPlace(
  { window: { from } }: RowsQuery,
  place: Place,
  today: string,
): PageCursor | null {
  const isReached = from !== null && place.from < utc.dayOf(from)
  const isOver = place.from <= addDays(today, -historyDays)
  return isReached || isOver ? null : JSON.stringify(earlier(place))
}

function toPage(query: RowsQuery, { rows, ...held }: Held, body: Uint8Array): TransactionPage {
  const accounts = new Map<string, AccountRef>(
    query.accounts.map((account) => [account.upstreamId, account]),
  )
  function rowAt(index: number) {
    const row = rows[index]
    const account = accounts.get(row?.account ?? '')
    assert(row !== undefined && account !== undefined, 'the index is on the page')
    return { row, account }
  }
  return {
    length: rows.length,
    next: held.next,
    ahead: [],
    total: null,
    ownRows: held.ownRows,
    age: held.age,
    body,
    head(index): RowHead {
      const { row, account } = rowAt(index)
      return { id: row.key, account, time: timeOf(row, query) }
    },
    map(index) {
      const { row, account } = rowAt(index)
      return toTransaction(row, account, query)
    },
    details(index) {
      const { row, account } = rowAt(index)
      return toDetails(row, account)
    },
    settling: (index) => toSettling(rowAt(index).row, query),
  }
}
