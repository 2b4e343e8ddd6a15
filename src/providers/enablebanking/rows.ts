/**
 * Rows of a bank as they are kept: what the contract needs of each, the newest day first. Numbers of other
 * people's accounts are hashed. A row that cannot be read stays in its place, and fails whoever asks for it
 * (reading R23). Pure.
 */
import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Decimal, isNegative, isZero, negate, parseDecimal, zero } from '#kernel/decimal.ts'
import { parseCurrency } from '#kernel/money.ts'
import { numberEqual } from '../row-identity.ts'
import { cutText, longestRowText } from '../shown-text.ts'
import { nameHolder } from './secret.ts'
import { Row, type WireRow } from './wire.ts'

export interface KeptRow {
  /** Empty for a pending row of which no day is told. */
  readonly day: string
  /** Signed: money out is negative. */
  readonly amount: Decimal
  readonly currency: string
  readonly description: string
  readonly merchant: string | null
  readonly merchantCode: string | null
  /** What it is known by besides its account (reading R37): its day, amount and texts, as JSON. */
  readonly content: string
  /** Its number among the rows with the same content, 1 for the first. */
  readonly ordinal: number
  readonly class: string
  readonly transactionDate: string
  readonly postDate: string
  /** The days as the bank told them; absent in readings that an earlier version kept. */
  readonly booked?: string | null
  readonly valued?: string | null
  readonly reference: string | null
  /** False: it is the bank's id of the row, which may be new at every read. */
  readonly hasOwnReference: boolean
  readonly note: string | null
}

/** A row before those that were sent twice are known. */
interface ReadRow extends Omit<KeptRow, 'ordinal'> {
  /** The balance after it, which tells equal rows apart; null: not told. */
  readonly balance: string | null
  /** What the bank calls it in this answer; null: nothing. */
  readonly name: string | null
}

export interface UnreadableRow {
  /** The day that it belongs to, as far as it can be read; null: it stands before all others. */
  readonly day: string | null
  /** Why it cannot be read; never a part of it. */
  readonly problem: string
}

type SentRow = ReadRow | UnreadableRow
export type AnyRow = KeptRow | UnreadableRow
export const isReadable = (row: AnyRow): row is KeptRow => !('problem' in row)

/** What a reading of rows holds. */
export interface KeptRows {
  /** Booked ones. */
  readonly rows: readonly AnyRow[]
  /** Those that are not booked yet, in the bank's order (reading R39). */
  readonly pending: readonly AnyRow[]
  /** Rows of any status: they prove that the consent is alive. */
  readonly count: number
}

/** Some milliseconds of work. */
const rowsPerTurn = 500

/**
 * An account of many years has tens of thousands of rows: other work has its turns meanwhile.
 * @param holder a hash of the holder's name, who is no merchant; null: not told.
 */
export async function keepRows(
  sent: readonly unknown[],
  holder: string | null,
  note: (what: string) => void,
): Promise<KeptRows> {
  const rows: SentRow[] = []
  const pending: SentRow[] = []
  for (const [index, one] of sent.entries()) {
    if (index % rowsPerTurn === rowsPerTurn - 1) await nextTurn()
    const status = typeof one === 'object' && one !== null && 'status' in one ? one.status : null
    // SCHD, CNCL and RJCT are neither; a status that cannot be read must not hide a row.
    const isPending = status === 'PDNG' || status === 'HOLD'
    if (typeof status === 'string' && status !== 'BOOK' && !isPending) continue
    const parsed = Row.safeParse(one)
    const row = parsed.success
      ? keepRow(parsed.data, { holder, note, isPending })
      : toUnreadable(one)
    if (isPending) pending.push(row)
    else rows.push(row)
  }
  const kept = numberRows(dropRepeated(rows).toSorted(byDay))
  return { rows: kept, pending: numberRows(pending), count: sent.length }
}

/** All rows with the same content must be given at once. */
function numberRows(rows: readonly SentRow[]): readonly AnyRow[] {
  const contents = rows.map((row) => ('problem' in row ? '' : row.content))
  const ordinals = numberEqual(contents, (index) => placeOf(rows[index]))
  return rows.map((row, index) => {
    if ('problem' in row) return row
    const { balance, name, ...kept } = row
    return { ...kept, ordinal: ordinals[index] ?? 1 }
  })
}

/** Where a row stands among equal ones. The bank's id is last: it may be new at every read. */
function placeOf(row: SentRow | undefined) {
  if (row === undefined || 'problem' in row) return []
  const { valued, transactionDate, note, merchantCode, merchant, reference, hasOwnReference } = row
  const own = hasOwnReference ? reference : null
  return [valued, transactionDate, note, merchantCode, merchant, own, reference]
}

/** Newest first; one without a day first of all. The bank's order within a day stays. */
function byDay(one: SentRow, other: SentRow): number {
  const [left, right] = [one.day ?? '9999-12-31', other.day ?? '9999-12-31']
  return left === right ? 0 : left > right ? -1 : 1
}

const dayPattern = /^\d{4}-\d{2}-\d{2}$/

function toUnreadable(row: unknown): UnreadableRow {
  const told: Record<string, unknown> = typeof row === 'object' ? { ...row } : {}
  const day = [told.booking_date, told.value_date, told.transaction_date].find(
    (one) => typeof one === 'string' && dayPattern.test(one),
  )
  return { day: typeof day === 'string' ? day : null, problem: 'a transaction cannot be read' }
}

interface KeepOptions {
  readonly holder: string | null
  readonly note: (what: string) => void
  readonly isPending: boolean
}

function keepRow(row: WireRow, { holder, note, isPending }: KeepOptions): SentRow {
  const { booking_date: booked, value_date: valued, transaction_date: made } = row
  const day = booked ?? valued ?? made ?? (isPending ? '' : null)
  if (day === null) return { day, problem: 'a transaction has no date' }
  const amount = readAmount(row, note)
  if (amount === null) return { day, problem: 'the amount of a transaction is not exact' }
  const currency = parseCurrency(row.transaction_amount.currency) ?? 'XXX'
  const party = row.credit_debit_indicator === 'DBIT' ? row.creditor : row.debtor
  const lines = cut(join(row.remittance_information ?? []))
  const told = row.bank_transaction_code
  const code = { text: cut(told?.description), main: cut(told?.code), sub: cut(told?.sub_code) }
  return {
    day,
    amount,
    currency,
    description: lines || cut(party?.name) || code.text,
    merchant: toMerchant(party, holder),
    merchantCode: /^\d{4}$/.test(row.merchant_category_code ?? '')
      ? (row.merchant_category_code ?? null)
      : null,
    content: JSON.stringify([
      ...[day, currency, amount, lines, cut(row.creditor?.name), cut(row.debtor?.name)],
      ...[hashNumber(row.creditor_account), hashNumber(row.debtor_account)],
      ...[code.text, code.main, code.sub],
    ]),
    balance: row.balance_after_transaction?.amount ?? null,
    name: row.entry_reference || row.reference_number || null,
    class: toClass(code.main || code.text, row.credit_debit_indicator),
    transactionDate: made ?? valued ?? day,
    postDate: booked ?? day,
    booked: booked ?? null,
    valued: valued ?? null,
    reference: cut(row.reference_number) || cut(row.entry_reference) || null,
    hasOwnReference: Boolean(row.reference_number),
    note: cut(row.note) || null,
  }
}

/** The indicator decides: banks send amounts without a sign, and some with one. */
function readAmount(row: WireRow, note: (what: string) => void): Decimal | null {
  const { transaction_amount: told, credit_debit_indicator: indicator } = row
  const value = parseDecimal(told.amount)
  if (value === null) return null
  if (isZero(value)) return zero
  if (isNegative(value)) note('an amount has a sign')
  const plain = isNegative(value) ? negate(value) : value
  return indicator === 'DBIT' ? negate(plain) : plain
}

const join = (lines: readonly string[]): string => lines.join(' ').replace(/\s+/g, ' ').trim()

/** Shown and known by its beginning: a row has the id that it had while its texts are shorter. */
const cut = (text: string | null | undefined): string => cutText(text ?? '', longestRowText)

/** The other side of a payment, unless it is the holder; some banks put the payee into the address. */
function toMerchant(party: WireRow['creditor'], holder: string | null): string | null {
  const name = (party?.name || party?.postal_address?.address_line?.[0] || '').trim()
  if (name === '' || /^CARD-/i.test(name) || nameHolder(name) === holder) return null
  return cut(name)
}

function hashNumber(account: WireRow['creditor_account']): string {
  const number = account?.iban || account?.other?.identification || ''
  return number === '' ? '' : hash('sha256', number, 'base64url')
}

function toClass(code: string, indicator: 'CRDT' | 'DBIT'): string {
  const words = code.toLowerCase().replace(/[^a-z0-9]+/g, '_')
  return words.replace(/^_+|_+$/g, '') || (indicator === 'DBIT' ? 'debit' : 'credit')
}

/**
 * Equal rows with the same balance after them are one row that was sent twice, unless their references
 * differ: after a payment, its refund and the same payment again the balance is the same. A row without a
 * reference is any of those that have one.
 */
function dropRepeated(rows: readonly SentRow[]): SentRow[] {
  const named = new Set<string>()
  for (const row of rows) {
    if (!('problem' in row) && row.name !== null) named.add(toLook(row))
  }
  const seen = new Set<string>()
  return rows.filter((row) => {
    if ('problem' in row || row.balance === null) return true
    const look = toLook(row)
    if (row.name === null && named.has(look)) return false
    const known = `${JSON.stringify(row.name)} ${look}`
    if (seen.has(known)) return false
    seen.add(known)
    return true
  })
}

const toLook = ({ balance, content }: ReadRow): string => `${balance} ${content}`
