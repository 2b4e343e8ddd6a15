/**
 * Rows of one cached answer of `/v1/transactions` as text in the shape of SimpleFIN. The text is a function
 * of the answer's bytes, a zone and currencies alone, and is kept for as long as these bytes are cached, so
 * that a program that asks again costs no more for each row than REST does.
 */
import type { Pagination, Transaction } from '#contract/resources.ts'
import type { Answer } from '#gate/gate.ts'
import { makeMidday } from '#kernel/midday.ts'
import { makeKeptForms } from '../kept-forms.ts'
import { toTransaction } from './map.ts'

/** Rows of one day that follow each other. */
export interface DayText {
  /** Epoch seconds: the midday of the day. */
  readonly posted: number
  /** A comma before each row. */
  readonly text: Uint8Array
}

export interface RowTexts {
  readonly pagination: Pagination
  readonly rows: number
  readonly days: readonly DayText[]
  /** The currencies of rows that are left out: SimpleFIN has one for an account. */
  readonly leftOut: readonly string[]
}

export interface Currencies {
  /** The account's own, in which every row is that names no other. */
  readonly stored: string
  /** The one that the account is shown in. */
  readonly shown: string
}

export type ToRowTexts = (answer: Answer, zone: string, currencies: Currencies) => RowTexts

/** The bound of all kept texts together. */
const maxKeptBytes = 16 * 1024 * 1024
/** Measured with Node 26: the view of a day, and what holds a text with it. */
const [dayBytes, textBytes] = [200, 500]

/** @returns a translation of answers of `/v1/transactions`; the same cached bytes are translated once. */
export function makeRowTexts(maxBytes = maxKeptBytes): ToRowTexts {
  const kept = makeKeptForms<{ readonly name: string; readonly texts: RowTexts }>(
    maxBytes,
    ({ texts }) => sizeOf(texts),
  )
  return ({ body, cache }, zone, currencies) => {
    const known = kept.get(body)
    const name = `${zone} ${currencies.stored} ${currencies.shown}`
    if (known?.name === name) return known.texts
    const texts = translate(body, zone, currencies)
    if (cache === 'HIT') kept.set(body, { name, texts })
    return texts
  }
}

const sizeOf = ({ days }: RowTexts): number =>
  days.reduce((sum, { text }) => sum + text.byteLength + dayBytes, textBytes)

function translate(body: Uint8Array, zone: string, { stored, shown }: Currencies): RowTexts {
  const { data, pagination } = parseAnswer<{ data: Transaction[]; pagination: Pagination }>(body)
  const toMidday = makeMidday(zone)
  const { own = [], other = [] } = Object.groupBy(data, ({ currency = stored }) =>
    currency === shown ? 'own' : 'other',
  )
  const days = toRuns(own).map((rows) => {
    const posted = toMidday(rows[0].date)
    return {
      posted,
      text: `,${JSON.stringify(rows.map((row) => toTransaction(row, posted))).slice(1, -1)}`,
    }
  })
  // One array of their own for all of them: the pool of Buffer would outlive them.
  const text = new TextEncoder().encode(days.map((day) => day.text).join(''))
  let end = 0
  return {
    pagination,
    rows: data.length,
    leftOut: [...new Set(other.map(({ currency = stored }) => currency))].toSorted(),
    days: days.map((day) => {
      const start = end
      end += Buffer.byteLength(day.text)
      return { posted: day.posted, text: text.subarray(start, end) }
    }),
  }
}

type Run = [Transaction, ...Transaction[]]

/** Neighbours of one day. */
function toRuns(rows: readonly Transaction[]): readonly Run[] {
  const runs: Run[] = []
  for (const row of rows) {
    const last = runs.at(-1)
    if (last?.[0].date === row.date) last.push(row)
    else runs.push([row])
  }
  return runs
}

/** Amounts are text in them, so that nothing of an amount passes through a float. */
export const parseAnswer = <Body>(body: Uint8Array): Body =>
  JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()) as Body
