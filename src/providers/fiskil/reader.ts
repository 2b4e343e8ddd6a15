/**
 * One page of Fiskil transactions: parsed once, checked row by row, mapped only when requested. It decides
 * which rows belong to the connection, which are wanted and their time; it knows no windows and no ceilings.
 */

import type { CategoryKey } from '#contract/categories.ts'
import type { Transaction } from '#contract/resources.ts'
import { isNegative } from '#kernel/decimal.ts'
import { isRecord } from '#kernel/json.ts'
import { type Micros, parseDay, parseInstant } from '#kernel/time.ts'
import { earliestZone, timeOfDay, timeOfInstant } from '../day-time.ts'
import type { AccountRef, PageCursor, RowsQuery, TransactionPage } from '../port.ts'
import { noteRepeatedIds } from '../repeated-ids.ts'
import { toOtherCurrency } from '../row-currency.ts'
import type { RowDates, RowFrame } from '../row-details.ts'
import { toCategoryKey } from './categories.ts'
import { toDetails } from './details.ts'
import { malformed } from './failures.ts'
import { readExactJson, readJson, readListPage } from './lists.ts'
import { readAmount } from './map.ts'
import { type Row, readText, unreadable } from './row.ts'

export interface PageSource {
  readonly query: RowsQuery
  readonly cursor: PageCursor | null
  readonly body: Uint8Array
  /** Our own base address. */
  readonly base: URL
  /** Receives values outside the known lists. */
  readonly odd: (what: string) => void
}

/** Reads a page; throws UpstreamError `malformed` when the body is not a page of transactions. */
export function openTransactionPage(source: PageSource): TransactionPage {
  const { query, body, base } = source
  const page = readListPage(readJson(body), 'transactions', base)
  const { next } = page
  if (next !== null && next === source.cursor) {
    throw malformed('the next page of transactions is this page')
  }
  const rows = page.rows.map(toRow)
  const arrangement = query.connection.upstreamId
  const own = rows.filter((row) => row.arrangement_id === arrangement)
  const accounts = new Map<unknown, AccountRef>()
  for (const account of query.accounts) accounts.set(account.upstreamId, account)

  // Amounts are documented as text. Numbers are parsed again so that no digit is lost (R24).
  let exactRows: readonly Row[] | null = null
  function exactRow(index: number): Row {
    exactRows ??= readListPage(readExactJson(body), 'transactions', base).rows.map(toRow)
    return rowAt(exactRows, index)
  }

  function wanted(index: number): { readonly row: Row; readonly account: AccountRef } {
    const row = rowAt(rows, index)
    const account = wantedAccount(row, index, arrangement, accounts)
    if (account !== null && isPosted(row, index)) return { row, account }
    throw new RangeError(`row ${index} is not wanted: ask head first`)
  }

  return {
    length: rows.length,
    next,
    ahead: [],
    total: null,
    ownRows: own.length,
    body,
    head(index) {
      const row = rowAt(rows, index)
      const account = wantedAccount(row, index, arrangement, accounts)
      if (account === null || !isPosted(row, index)) return null
      const { time } = readTime(row, index, query)
      return {
        id: readId(row, index),
        account,
        time: timeOfInstant(time, earliestZone, query.window),
      }
    },
    map(index) {
      const { row, account } = wanted(index)
      const exact = typeof row.amount === 'number' ? exactRow(index) : row
      return toTransaction(exact, index, { account, query, odd: source.odd })
    },
    noteRepeated() {
      const posted = own.filter(({ status }) => status === 'POSTED')
      noteRepeatedIds(posted, 'fiskil_id', source.odd)
    },
    details(index) {
      const { row, account } = wanted(index)
      return toDetails(row, index, account)
    },
    settling(index) {
      const { row, account } = wanted(index)
      return { dates: toRowDates(row, index, query), isForeign: isForeign(row, index, account) }
    },
  }
}

export function toRow(row: unknown, index: number): Row {
  if (!isRecord(row)) throw malformed(`transactions[${index}] is not an object`)
  return row
}

function rowAt(rows: readonly Row[], index: number): Row {
  const row = rows[index]
  if (row === undefined) throw new RangeError(`the page has no row ${index}`)
  return row
}

/**
 * The requested account of a row, or null. Unscoped lists contain all banks of an end user, and one account
 * id may occur under two consents, so the consent is checked first and no other field of foreign rows is
 * read.
 */
export function wantedAccount(
  row: Row,
  index: number,
  arrangement: string,
  accounts: ReadonlyMap<unknown, AccountRef>,
): AccountRef | null {
  if (row.arrangement_id !== arrangement) {
    if (typeof row.arrangement_id === 'string') return null
    throw unreadable(index, 'arrangement_id')
  }
  const account = accounts.get(row.account_id)
  if (account === undefined && typeof row.account_id !== 'string') {
    throw unreadable(index, 'account_id')
  }
  return account ?? null
}

/** Only posted rows are requested, and only posted rows are shown even if others are sent. */
function isPosted(row: Row, index: number): boolean {
  if (row.status === 'POSTED') return true
  if (typeof row.status === 'string' && row.status !== '') return false
  throw unreadable(index, 'status')
}

export function readId(row: Row, index: number): string {
  const id = row.fiskil_id
  if (typeof id !== 'string' || id === '') throw unreadable(index, 'fiskil_id')
  return id
}

export interface RowTime {
  /** The text as received. */
  readonly text: string
  readonly time: Micros
  /** Set when the bank gave a day without a time: such a day is never shifted (reading R16a). */
  readonly day: string | null
}

/** The time of a row: posting, otherwise execution, otherwise value time. */
function readTime(row: Row, index: number, query: RowsQuery): RowTime {
  const time = findTime(row, index, query)
  if (time === null) throw unreadable(index, 'posting_date_time')
  return time
}

/** Null: the row has none of the three. */
export function findTime(row: Row, index: number, query: RowsQuery): RowTime | null {
  const text =
    readText(row.posting_date_time, index, 'posting_date_time') ??
    readText(row.execution_date_time, index, 'execution_date_time') ??
    readText(row.value_date_time, index, 'value_date_time')
  if (text === null) return null
  const time = parseInstant(text)
  if (time !== null) return { text, time, day: null }
  const day = parseDay(text)
  if (day === null) throw unreadable(index, 'posting_date_time')
  return { text, time: timeOfDay(day, earliestZone, query), day }
}

/** The times that a row tells of its posting and of its value (reading R39). */
export function toRowDates(row: Row, index: number, query: RowsQuery): RowDates {
  const [posted, valued] = ['posting_date_time', 'value_date_time'].map((name) => {
    const text = readText(row[name], index, name)
    const time = text === null ? null : parseInstant(text)
    if (time !== null) return { date: query.zone.dayOf(time), datetime: text }
    const day = text === null ? null : parseDay(text)
    if (text !== null && day === null) throw unreadable(index, name)
    return { date: day, datetime: null }
  })
  return {
    postDate: posted?.date ?? null,
    postDatetime: posted?.datetime ?? null,
    valueDate: valued?.date ?? null,
    valueDatetime: valued?.datetime ?? null,
  }
}

/** A row in another currency than that of its account. */
export function isForeign(row: Row, index: number, account: AccountRef): boolean {
  const currency = readText(row.currency, index, 'currency')
  return currency !== null && currency.toUpperCase() !== account.currency
}

interface Shown {
  readonly account: AccountRef
  readonly query: RowsQuery
  readonly odd: (what: string) => void
}

function toTransaction(row: Row, index: number, shown: Shown): Transaction {
  const { query } = shown
  const { text: datetime, time, day } = readTime(row, index, query)
  const date = day ?? query.zone.dayOf(time)
  return toFields(row, index, { ...shown, frame: { status: 'posted', date, datetime } })
}

/** What pending and posted rows have alike. @throws UpstreamError `malformed` (reading R23). */
export function toFields(
  row: Row,
  index: number,
  { account, odd, frame }: Omit<Shown, 'query'> & { readonly frame: RowFrame },
): Transaction {
  const text = (name: string) => readText(row[name], index, name)
  const amount = readAmount(row.amount)
  if (amount === undefined || amount === null) throw unreadable(index, 'amount')
  // BPAY rows have a biller instead of a merchant; showing it as the merchant is our own choice.
  const merchantName = text('merchant_name') ?? text('biller_name')
  return {
    id: readId(row, index),
    accountId: account.id,
    accountName: account.name,
    ...frame,
    description: text('description') ?? text('reference') ?? merchantName ?? '',
    amount,
    ...toOtherCurrency(typeof row.currency === 'string' ? text('currency') : null, account),
    direction: isNegative(amount) ? 'debit' : 'credit',
    category: readCategory(row, index, odd),
    merchantName,
    merchantCategoryCode: text('merchant_category_code'),
  }
}

function readCategory(row: Row, index: number, odd: (what: string) => void): CategoryKey | null {
  const { category } = row
  if (category === null || category === undefined) return null
  if (!isRecord(category)) throw unreadable(index, 'category')
  const primary = readText(category.primary_category, index, 'category.primary_category')
  if (primary === null) return null
  const key = toCategoryKey(primary)
  if (key === null) odd('unknown category')
  return key
}
