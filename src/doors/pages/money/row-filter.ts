/** Which rows of an account a person wants to see: the fields of the form above them. Pure. */
import { isCategoryKey } from '#contract/categories.ts'
import type { Trade, Transaction } from '#contract/resources.ts'
import { isNegative } from '#kernel/decimal.ts'
import type { Query } from '../forms.ts'
import { toQueryText } from './own-reads.ts'

export interface RowFilter {
  /** The button was pressed: the provider may be asked. */
  readonly isShown: boolean
  /** Amounts are hidden until the switch is used. */
  readonly isHidden: boolean
  /** `YYYY-MM`, a number of months up to this one, or empty: what the API has without dates. */
  readonly month: string
  readonly search: string
  /** A key, `none`, or empty: all. */
  readonly category: string
  readonly flow: '' | 'in' | 'out'
  readonly offset: number
}

export const spans = ['3', '6', '12'] as const

export function readRowFilter(given: Query): RowFilter {
  const text = (name: string) => {
    const value = given[name]
    return typeof value === 'string' ? value.trim().slice(0, 200) : ''
  }
  const [month, category, flow, offset] = ['month', 'category', 'flow', 'offset'].map(text)
  const isMonth = /^\d{4}-(?:0[1-9]|1[0-2])$/.test(month ?? '')
  return {
    isShown: text('show') === '1',
    isHidden: text('hide') === '1',
    month: isMonth || spans.some((span) => span === month) ? (month ?? '') : '',
    search: text('q'),
    category: category === 'none' || isCategoryKey(category ?? '') ? (category ?? '') : '',
    flow: flow === 'in' || flow === 'out' ? flow : '',
    offset: /^\d{1,9}$/.test(offset ?? '') ? Number(offset) : 0,
  }
}

/** The same view as an address. */
export function toPath(path: string, filter: RowFilter): string {
  const { month, search, category, flow, offset } = filter
  const rest = toQueryText({
    show: filter.isShown ? '1' : null,
    hide: filter.isHidden ? '1' : null,
    month: month || null,
    q: search || null,
    category: category || null,
    flow: flow || null,
    offset: offset === 0 ? null : `${offset}`,
  })
  return rest === '' ? path : `${path}?${rest}`
}

export interface Days {
  readonly from: string | null
  /** Null: until now. */
  readonly to: string | null
}

/** @param today the day that it is in the person's zone. */
export function toMonthDays({ month }: Pick<RowFilter, 'month'>, today: Temporal.PlainDate): Days {
  if (month === '') return { from: null, to: null }
  if (!month.includes('-')) {
    const first = today.toPlainYearMonth().subtract({ months: Number(month) - 1 })
    return { from: first.toPlainDate({ day: 1 }).toString(), to: null }
  }
  const whole = Temporal.PlainYearMonth.from(month)
  const isNow = whole.equals(today.toPlainYearMonth())
  const to = isNow ? null : whole.toPlainDate({ day: whole.daysInMonth }).toString()
  return { from: `${month}-01`, to }
}

export const isFiltered = ({ search, category, flow }: RowFilter) =>
  search !== '' || category !== '' || flow !== ''

const simplify = (text: string) => text.normalize('NFKC').toLowerCase()

/** The rows of a bank account that were asked for. */
export function chooseTransactions(
  rows: readonly Transaction[],
  { search, category, flow }: RowFilter,
): readonly Transaction[] {
  const wanted = simplify(search)
  return rows.filter(
    (row) =>
      (wanted === '' ||
        simplify(`${row.description}\n${row.merchantName ?? ''}`).includes(wanted)) &&
      (category === '' || (row.category ?? 'none') === category) &&
      (flow === '' || isNegative(row.amount) === (flow === 'out')),
  )
}

/** Trades have no category, and their amounts the sign of each broker. */
export function chooseTrades(
  rows: readonly Trade[],
  { search }: Pick<RowFilter, 'search'>,
): readonly Trade[] {
  const wanted = simplify(search)
  const textOf = ({ symbol, name, description, type }: Trade) =>
    simplify([symbol, name ?? '', description ?? '', type].join('\n'))
  return rows.filter((row) => textOf(row).includes(wanted))
}
