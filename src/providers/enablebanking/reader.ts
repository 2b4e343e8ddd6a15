/**
 * Serves the rows of one account from the reading that is kept of it, newest day first. A page ends with a
 * day, so that equal rows of a day are numbered together, and its cursor is a day, which a newer reading does
 * not move (readings R36, R37).
 */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { addDays, getZone } from '#kernel/time.ts'
import { keepsReadings } from '../login.ts'
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
import { keptAccountOf, readingLifeMs, readRows } from './account-readings.ts'
import type { Reach } from './consent.ts'
import { malformed } from './failures.ts'
import { parseRows, readKeptPending, rowsPerBlock, sliceKeptRows } from './kept-rows.ts'
import { keyOf, timeOf, toDetails, toPendingRows, toSettling, toTransaction } from './map-row.ts'
import { type AnyRow, isReadable } from './rows.ts'

const utc = getZone('UTC')
const lineEnd = 0x0a

/** The rows before this day. */
const Place = z.object({ until: z.iso.date() })

/** The first line of a held page. Behind it are its rows, as they are kept. */
interface PageFacts {
  readonly next: PageCursor | null
  readonly ownRows: number
  readonly age: DataAge
}

export function makeTransactionReader(reach: Reach): RowReader<TransactionPage> {
  async function read(query: RowsQuery, cursor: PageCursor | null, call: CallContext) {
    const account = onlyAccount(query)
    const isFirst = cursor === null
    const until = isFirst ? firstDay(query) : Place.parse(JSON.parse(cursor)).until
    const kept = keptAccountOf(query.login, account.upstreamId)
    // With its person present a list is read from the bank where it begins, not again for each page.
    const own = isFirst ? call : keepsReadings(call)
    const { login, connection } = query
    const asked = { reach, login, account: kept, call: own, status: connection.status }
    const { value, readAt } = await readRows(asked)
    const { rows, count, until: next } = await sliceKeptRows(value, { until, isFirst })
    const facts: PageFacts = {
      next: next === null || isBeforeQuery(query, next) ? null : JSON.stringify({ until: next }),
      ownRows: count,
      age: { asOf: readAt, goodUntil: readAt + readingLifeMs },
    }
    return openPage(query, Buffer.concat([Buffer.from(`${JSON.stringify(facts)}\n`), rows]))
  }

  return {
    pageSize: rowsPerBlock,
    overlap: 0,
    isByAccount: true,
    read,
    open: (query, _cursor, body) => openPage(query, body),
  }
}

function onlyAccount({ accounts }: RowsQuery): AccountRef {
  const [account] = accounts
  assert(account !== undefined && accounts.length === 1, 'rows are read by account')
  return account
}

/** The first day that is after the query, whatever the user's zone; null: today's rows may be in it. */
function firstDay({ window: { to, isOpen } }: RowsQuery): string | null {
  return to === null || isOpen === true ? null : addDays(utc.dayOf(to), 2)
}

/** The rows before this day are all before the query, whatever the user's zone. */
function isBeforeQuery({ window: { from } }: RowsQuery, until: string): boolean {
  return from !== null && until <= addDays(utc.dayOf(from), -1)
}

/** A row that cannot be read, of a day that is not in the query, whatever the user's zone (reading R23). */
function isUnreadElsewhere({ window: { from, to } }: RowsQuery, row: AnyRow | undefined): boolean {
  if (row === undefined || isReadable(row) || row.day === null) return false
  const isBefore = from !== null && row.day < addDays(utc.dayOf(from), -1)
  return isBefore || (to !== null && row.day > addDays(utc.dayOf(to), 1))
}

function openPage(query: RowsQuery, body: Uint8Array): TransactionPage {
  const account = onlyAccount(query)
  const start = body.indexOf(lineEnd) + 1
  const facts: PageFacts = JSON.parse(Buffer.from(body.subarray(0, start)).toString())
  const rows = parseRows(body.subarray(start))
  function rowAt(index: number) {
    const row = rows[index]
    assert(row !== undefined, 'the index is on the page')
    if ('problem' in row) throw malformed(row.problem)
    return row
  }
  return {
    length: rows.length,
    ...facts,
    ahead: [],
    total: null,
    body,
    head(index): RowHead | null {
      if (isUnreadElsewhere(query, rows[index])) return null
      const row = rowAt(index)
      return { id: keyOf(row, account), account, time: timeOf(row, query) }
    },
    map: (index) => toTransaction(rowAt(index), account, query.userId),
    details: (index) => toDetails(rowAt(index)),
    settling: (index) => toSettling(rowAt(index), account),
  }
}

/** They come with the rows of each account. */
export async function readPendingRows(
  reach: Reach,
  query: RowsQuery,
  call: CallContext,
): Promise<PendingReading> {
  const { login, accounts, connection } = query
  const readings = await Promise.all(
    accounts.map(async (account) => {
      const kept = keptAccountOf(login, account.upstreamId)
      const asked = { reach, login, account: kept, call, status: connection.status }
      const { value, readAt } = await readRows(asked)
      return { rows: toPendingRows(await readKeptPending(value), account, query), readAt }
    }),
  )
  const asOf = Math.min(reach.clock.now(), ...readings.map(({ readAt }) => readAt))
  return {
    rows: readings.flatMap(({ rows }) => rows),
    age: { asOf, goodUntil: asOf + readingLifeMs },
  }
}
