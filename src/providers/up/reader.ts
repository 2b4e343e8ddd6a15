/**
 * Reads Up's transactions page by page, newest first: 100 rows each and an opaque cursor. Those that are held
 * stand among the settled ones, where they are wanted (reading R39). Rows are parsed once and mapped only
 * when requested. A cashback is an attribute of its payment and becomes a row of
 * its own after it.
 */
import assert from 'node:assert/strict'
import { makeNumberQuoter } from '#kernel/json.ts'
import { toIso, toMillis } from '#kernel/time.ts'
import type {
  AccountRef,
  CallContext,
  PageCursor,
  RowHead,
  RowReader,
  RowsQuery,
  TransactionPage,
} from '../port.ts'
import { noteRepeatedIds } from '../repeated-ids.ts'
import type { UpClient } from './client.ts'
import { tokenOf } from './consent.ts'
import { toCashbackDetails, toDetails } from './details.ts'
import { malformed } from './failures.ts'
import { pageSize, readListPage, toTarget, type WireRow } from './lists.ts'
import {
  accountOf,
  hasCashback,
  idOf,
  type Note,
  statusOf,
  timeOf,
  toCashback,
  toCashbackId,
  toSettling,
  toTransaction,
} from './map.ts'

/** Whether Up's bounds are inclusive is not documented, and its times are whole seconds. */
const marginMs = 1000
/** Beyond these years a time has no four-digit year, and Up has no rows. */
const earliestMs = 0
const latestMs = 7_258_118_400_000

/** The filters of a query, which every page repeats, and the cursor of one page. */
interface Place {
  readonly since: string | null
  readonly until: string | null
  /** Up's cursor; null on the first page. */
  readonly after: string | null
}

const parseRows = makeNumberQuoter(['valueInBaseUnits'])

/** Reads the transactions of all accounts of a token, or of one account. */
export function makeTransactionReader(client: UpClient, note: Note): RowReader<TransactionPage> {
  function open(query: RowsQuery, cursor: PageCursor | null, body: Uint8Array) {
    return openPage(query, toPlace(query, cursor), body, note)
  }

  async function read(query: RowsQuery, cursor: PageCursor | null, call: CallContext) {
    const token = tokenOf(query.login)
    const { since, until, after } = toPlace(query, cursor)
    const filters = {
      ...(query.pending === undefined ? { 'filter[status]': 'SETTLED' } : {}),
      ...(since === null ? {} : { 'filter[since]': since }),
      ...(until === null ? {} : { 'filter[until]': until }),
    }
    if (!query.scoped) {
      const route = '/transactions'
      const target = toTarget(route, filters, after)
      return open(query, cursor, await client.get(token, { route, target }, call))
    }
    const [only] = query.accounts
    assert(only !== undefined && query.accounts.length === 1, 'a scoped read names one account')
    const path = `/accounts/${encodeURIComponent(only.upstreamId)}/transactions`
    const request = {
      route: '/accounts/{id}/transactions',
      target: toTarget(path, filters, after),
      isOnAccount: true,
    } as const
    return open(query, cursor, await client.get(token, request, call))
  }

  return { pageSize, overlap: 0, read, open }
}

function toPlace({ window }: RowsQuery, cursor: PageCursor | null): Place {
  if (cursor !== null) return JSON.parse(cursor)
  const { from, to } = window
  return {
    since: from === null ? null : toBound(toMillis(from) - marginMs),
    until: to === null ? null : toBound(Math.ceil(to / 1000) + marginMs),
    after: null,
  }
}

/** UTC with `Z`: in another form the `+` of an offset would arrive as a blank. */
function toBound(ms: number): string {
  return toIso(Math.min(Math.max(ms, earliestMs), latestMs))
}

/** A row that is served, or the cashback of one. */
interface Entry {
  readonly row: WireRow
  /** Null: it is not wanted, or its account was not requested (a closed saver's, too). */
  readonly account: AccountRef | null
  readonly isCashback: boolean
}

function openPage(query: RowsQuery, place: Place, body: Uint8Array, note: Note): TransactionPage {
  const page = readListPage(body, parseRows)
  if (page.next !== null && page.next === place.after) {
    throw malformed('the next page of transactions is this page')
  }
  const accounts = new Map<string, AccountRef>(
    query.accounts.map((account) => [account.upstreamId, account]),
  )
  const entries = page.rows.flatMap((row): readonly Entry[] => {
    const status = readStatus(row, note)
    const isWanted = status === 'SETTLED' || (status === 'HELD' && query.pending !== undefined)
    const account = isWanted ? (accounts.get(accountOf(row)) ?? null) : null
    const entry = { row, account, isCashback: false }
    // A cashback is paid when its payment settles.
    const isPaid = account !== null && status === 'SETTLED' && hasCashback(row)
    return isPaid ? [entry, { ...entry, isCashback: true }] : [entry]
  })

  function entryAt(index: number): Entry {
    const entry = entries[index]
    assert(entry !== undefined, 'the index is on the page')
    return entry
  }

  function wanted(index: number) {
    const { row, account, isCashback } = entryAt(index)
    assert(account !== null, 'only rows of the accounts asked for are mapped')
    return { row, isCashback, shown: { account, zone: query.zone } }
  }

  function head(index: number): RowHead | null {
    const { row, account, isCashback } = entryAt(index)
    const id = idOf(row)
    if (account === null) return null
    return { id: isCashback ? toCashbackId(id) : id, account, time: timeOf(row).time }
  }

  return {
    length: entries.length,
    next: page.next === null ? null : JSON.stringify({ ...place, after: page.next }),
    ahead: [],
    total: null,
    ownRows: entries.filter(({ account }) => account !== null).length,
    body,
    head,
    map(index) {
      const { row, isCashback, shown } = wanted(index)
      return isCashback ? toCashback(row, shown) : toTransaction(row, shown, note)
    },
    details(index) {
      const { row, isCashback } = wanted(index)
      return isCashback ? toCashbackDetails(row) : toDetails(row)
    },
    noteRepeated: () => noteRepeatedIds(page.rows, 'id', note),
    settling(index) {
      const { row, isCashback } = wanted(index)
      return toSettling(row, query.zone, isCashback)
    },
  }
}

function readStatus(row: WireRow, note: Note): string {
  const status = statusOf(row)
  if (status !== 'SETTLED' && status !== 'HELD') note('unknown transaction status')
  return status
}
