/**
 * Generated activities. Each calendar day has its own random numbers, so a day's rows are the same
 * when the sandbox is started again tomorrow. Amounts are composed from whole numbers as
 * exact text.
 */
import { type Decimal, fromScaled, multiply, negate, roundHalfEven } from '#kernel/decimal.ts'
import { addDays, dayMs } from '#kernel/time.ts'
import { makeRandom, type Random } from '../seed.ts'
import { makeUuid, options, securities } from './securities.ts'
import type { Activity, Security } from './shapes.ts'

export interface RowsPlan {
  readonly seed: string
  /** Distinguishes the accounts. */
  readonly account: string
  readonly nowMs: number
  /** How many days back. */
  readonly days: number
  readonly perWeekday: { readonly min: number; readonly max: number }
  readonly securities: readonly Security[]
  readonly currency: string
  /** Whether the broker sends the moment or only the day (then midnight UTC). */
  readonly precision: 'moment' | 'day'
  /** One row of a kind out of `specials` on every third day. */
  readonly specials: readonly Special[]
}

/** A kind of row that is no plain purchase or sale. */
export type Special = (day: Day) => Partial<Activity>

interface Day {
  readonly day: string
  readonly random: Random
  readonly security: Security
  readonly currency: string
}

/** All rows of one account, newest first, none in the future. */
export function makeActivities(plan: RowsPlan): Activity[] {
  const rows: Activity[] = []
  const today = new Date(plan.nowMs).toISOString().slice(0, 10)
  const todayNumber = Math.floor(plan.nowMs / dayMs)
  for (let back = 0; back <= plan.days; back += 1) {
    const day = addDays(today, -back)
    const made = makeDay(plan, day, todayNumber - back)
    made.sort((left, right) => compareText(right.tradeDate ?? '', left.tradeDate ?? ''))
    rows.push(...made.filter((row) => Date.parse(row.tradeDate ?? day) <= plan.nowMs))
  }
  return rows
}

const compareText = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0)

function makeDay(plan: RowsPlan, day: string, dayNumber: number): Activity[] {
  const random = makeRandom(`${plan.seed}:${plan.account}:${day}`)
  // Day 0 of the epoch was a Thursday.
  const weekday = (dayNumber + 4) % 7
  const count =
    weekday === 0 || weekday === 6 ? 0 : random.int(plan.perWeekday.min, plan.perWeekday.max)
  const rows: Activity[] = []
  for (let index = 0; index < count; index += 1) rows.push(makeFill(plan, day, random, index))
  const special = plan.specials[Math.floor(dayNumber / 3) % Math.max(plan.specials.length, 1)]
  if (dayNumber % 3 === 0 && special !== undefined) {
    const about = { day, random, security: random.pick(plan.securities), currency: plan.currency }
    const base = makeBlank(plan, day, random, 'special')
    rows.push({ ...base, ...special(about) })
    // Two identical fills on one day, which differ only by their id.
    if (Math.floor(dayNumber / 3) % 5 === 0 && rows[0] !== undefined) {
      rows.push({ ...rows[0], id: makeUuid(`${plan.seed}:${plan.account}:${day}:twin`) })
    }
  }
  return rows
}

function makeBlank(plan: RowsPlan, day: string, random: Random, key: string): Activity {
  const two = (min: number, max: number) => String(random.int(min, max)).padStart(2, '0')
  const moment = `${two(14, 20)}:${two(0, 59)}:${two(0, 59)}`
  const tradeDate = plan.precision === 'day' ? `${day}T00:00:00Z` : `${day}T${moment}Z`
  return {
    id: makeUuid(`${plan.seed}:${plan.account}:${day}:${key}`),
    type: 'ADJUSTMENT',
    security: null,
    option: null,
    quote: null,
    price: null,
    units: null,
    fee: '0',
    amount: null,
    fxRate: null,
    currency: plan.currency,
    optionAction: null,
    description: '',
    tradeDate,
    settlementDate: `${addDays(day, 2)}T00:00:00Z`,
  }
}

function makeFill(plan: RowsPlan, day: string, random: Random, index: number): Activity {
  const security = random.pick(plan.securities)
  const selling = random.int(0, 9) < 3
  const swing = random.int(-900, 900)
  const cents = Math.max(1, Math.floor((security.priceCents * (10_000 + swing)) / 10_000))
  const price = cut(fromScaled(BigInt(cents), 2))
  const thousandths = security.kind === 'crypto' ? random.int(1, 2_000) : random.int(1, 90) * 1_000
  const bought = cut(fromScaled(BigInt(thousandths), 3))
  const units = selling ? negate(bought) : bought
  const gross = cut(roundHalfEven(multiply(negate(units), price), 2))
  return {
    ...makeBlank(plan, day, random, String(index)),
    type: selling ? 'SELL' : 'BUY',
    security,
    price,
    units,
    amount: gross,
    fee: random.pick(['0', '0', '0.00', '1.95', '9.5', '-3']),
    currency: security.kind === 'crypto' ? plan.currency : security.currency,
    description: `${selling ? 'SOLD' : 'BOUGHT'} ${security.name ?? security.symbol}`,
  }
}

/** JSON numbers lose their trailing zeros at most senders: `12.50` is sent as `12.5`. */
function cut(value: Decimal): Decimal {
  return value.includes('.') ? (value.replace(/\.?0+$/, '') as Decimal) : value
}

const money = (day: Day, min: number, max: number) =>
  cut(fromScaled(BigInt(day.random.int(min, max)), 2))

const income =
  (type: string, text: string): Special =>
  (day) => ({
    type,
    security: day.security,
    amount: money(day, 100, 40_000),
    currency: day.security.currency,
    description: `${text} ${day.security.name ?? day.security.symbol}`,
  })

const cash =
  (type: string, sign: 1 | -1, text: string): Special =>
  (day) => {
    const amount = money(day, 100, 900_000)
    return { type, amount: sign === 1 ? amount : negate(amount), description: text }
  }

/** A transfer of shares without money: SnapTrade sends a null amount. */
const shares =
  (type: string, units: string, text: string): Special =>
  (day) => ({ type, security: day.security, units, amount: null, description: text })

const optionRow =
  (type: string, action: string | null, units: string, amount: string): Special =>
  (day) => {
    const contract = day.random.pick([options.aaplCall, options.spyPut])
    const price = amount === '0' ? '0' : '2.31'
    const description = `${type} ${contract.ticker}`
    return {
      type,
      option: contract,
      units,
      price,
      amount,
      currency: 'USD',
      optionAction: action,
      description,
    }
  }

/** Every type of docs/providers/snaptrade.md, Mapping, and rows with missing or odd parts. */
export const allSpecials: readonly Special[] = [
  income('DIVIDEND', 'CASH DIV ON'),
  (day) => ({
    type: 'REI',
    security: day.security,
    units: '0.1357',
    price: money(day, 2_000, 9_000),
    amount: negate(money(day, 300, 900)),
    currency: day.security.currency,
    description: 'DIVIDEND REINVESTMENT',
  }),
  income('SUBSTITUTE_DIVIDEND', 'PAYMENT IN LIEU OF'),
  income('DISTRIBUTION', 'DISTRIBUTION'),
  shares('STOCK_DIVIDEND', '3', 'STOCK DIVIDEND 3 SHS'),
  shares('SPLIT', '40', 'SPLIT 5 FOR 1'),
  shares('REVERSE_SPLIT', '-90', 'REVERSE SPLIT 1 FOR 10'),
  cash('CONTRIBUTION', 1, 'PayID deposit'),
  cash('WITHDRAWAL', -1, 'Withdrawal to bank account'),
  shares('TRANSFER', '12', 'TRANSFER FROM ANOTHER BROKER'),
  shares('EXTERNAL_ASSET_TRANSFER_IN', '25', 'ACATS IN'),
  shares('EXTERNAL_ASSET_TRANSFER_OUT', '-25', 'ACATS OUT'),
  cash('INTERNAL_CASH_TRANSFER_IN', 1, 'From savings'),
  cash('INTERNAL_CASH_TRANSFER_OUT', -1, 'To savings'),
  shares('INTERNAL_ASSET_TRANSFER_IN', '7', 'JOURNALLED SHARES'),
  cash('FEE', -1, 'Market data subscription'),
  cash('TAX', -1, 'Withholding tax'),
  cash('INTEREST', 1, 'Credit interest'),
  () => ({ type: 'INTEREST', amount: '0', description: 'Interest below one cent' }),
  optionRow('BUY', 'BUY_TO_OPEN', '2', '-462'),
  optionRow('SELL', 'SELL_TO_CLOSE', '-2', '462'),
  optionRow('OPTIONEXPIRATION', null, '-1', '0'),
  optionRow('OPTIONASSIGNMENT', null, '1', '0'),
  optionRow('OPTIONEXERCISE', null, '-1', '0'),
  cash('REBATE', 1, 'Exchange rebate'),
  income('RETURN_OF_CAPITAL', 'RETURN OF CAPITAL'),
  shares('SPINOFF', '4', 'SPIN-OFF'),
  shares('STOCK_MERGER', '-8', 'MERGER'),
  cash('ADJUSTMENT', -1, 'Correction'),
  // A type of a broker's own, a row without an end, and a purchase across currencies.
  (day) => ({ type: 'JOURNAL', amount: money(day, 1, 99), settlementDate: null, fee: null }),
  () => ({
    type: 'BUY',
    security: securities.toyota,
    units: '100',
    price: '2615',
    amount: '-261500',
    currency: 'JPY',
    fxRate: '0.0102',
    description: 'BOUGHT Toyota Motor Corporation',
  }),
]

/** What a crypto exchange adds: pairs of coins, amounts of many digits, exponents. */
export const cryptoSpecials: readonly Special[] = [
  () => ({
    type: 'BUY',
    security: securities.btc,
    quote: securities.usdt,
    currency: null,
    units: '1e-8',
    price: '91234.5678',
    amount: '-0.000912345678',
    fee: '2.5E-7',
    description: 'BTC/USDT',
  }),
  () => ({
    type: 'SELL',
    security: securities.eth,
    quote: securities.btc,
    currency: null,
    units: '-0.123456789012345678',
    price: '0.03421',
    amount: '0.004223456789012345',
    fee: '0.00000042',
    description: 'ETH/BTC',
  }),
  () => ({ type: 'INTEREST', security: securities.eth, units: '0.00012', description: 'Staking' }),
]
