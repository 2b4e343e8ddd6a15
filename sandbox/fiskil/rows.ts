/**
 * Generates bank rows, day by day: the rows of a day depend only on the seed, the account and that day, so a
 * sandbox started tomorrow has the same history and one more day. Amounts are composed as text from whole
 * cents.
 */
import { dayMs } from '#kernel/time.ts'
import { makeRandom, type Random } from '../seed.ts'
import { type Merchant, merchants, travelMerchants } from './merchants.ts'
import type { SandboxRow } from './world.ts'

/** The rows of one day of an account. */
export type Recipe = (day: Day) => SandboxRow[]

export interface RowSource {
  readonly seed: string
  readonly accountId: string
  readonly arrangementId: string
  readonly institutionId: string
  readonly currency: string
  readonly recipe: Recipe
}

const busyRowsPerDay = 8

/** A function that generates the rows of a day for one account. */
export function makeGrowth(source: RowSource): (day: number) => SandboxRow[] {
  return (day) => {
    const random = makeRandom(`${source.seed}:${source.accountId}:${day}`)
    return source.recipe({ source, day, random })
  }
}

export interface Day {
  readonly source: RowSource
  /** Days since the epoch. */
  readonly day: number
  readonly random: Random
}

/** The recipes of ordinary accounts. */
export const recipes = {
  everyday: (day) => [...everydayDuties(day), ...purchases(day, day.random.int(0, 3), merchants)],
  saver: (day) => [...interest(day, 'INTEREST_PAID', [120, 4800]), ...savings(day)],
  card: (day) => [...cardDuties(day), ...purchases(day, day.random.int(0, 2), merchants)],
  loan: (day) => [...interest(day, 'INTEREST_CHARGED', [-198_000, -142_000]), ...repayment(day)],
  deposit: (day) => interest(day, 'INTEREST_PAID', [9000, 9900]),
  travel: (day) => (day.day % 90 < 12 ? purchases(day, 2, travelMerchants) : []),
  busy: (day) => purchases(day, busyRowsPerDay, merchants),
} as const satisfies Readonly<Record<string, Recipe>>

/** Card purchases: pending when made, posted the day after. */
export function purchases(day: Day, count: number, list: readonly Merchant[]): SandboxRow[] {
  const { random } = day
  return Array.from({ length: count }, () => {
    const shop = random.pick(list)
    const cents = random.int(shop.cents[0], shop.cents[1])
    const refund = random.int(1, 60) === 1
    const fields = {
      amount: money(refund ? cents : -cents),
      description: refund ? `REFUND ${shop.statement}` : shop.statement,
      // A fifth of the rows lack optional fields, so that tests meet their absence.
      ...(random.int(1, 5) === 1
        ? { type: 'OTHER' }
        : {
            type: 'PAYMENT',
            merchant_name: shop.name,
            merchant_category_code: shop.code,
            category: category(shop.primary, shop.secondary),
          }),
    }
    const executedMs = day.day * dayMs + random.int(0, 86_399) * 1000
    return makeRow(day, { executedMs, postedMs: executedMs + dayMs, fields })
  })
}

/** Salary, rent, bills and other rows of an everyday account, each on its day. */
function everydayDuties(day: Day): SandboxRow[] {
  const rows: SandboxRow[] = []
  const once = (fields: Record<string, unknown>) => rows.push(instantRow(day, fields))
  if (day.day % 14 === 4) {
    once({
      amount: money(day.random.int(318_200, 318_900)),
      type: 'TRANSFER_INCOMING',
      description: 'SALARY BLUE GUM STUDIO PTY LTD',
      reference: 'PAYROLL',
      category: category('INCOME', 'INCOME_SALARY'),
      apca_number: '301500',
    })
  }
  if (day.day % 7 === 2) once(rent())
  if (day.day % 30 === 5) {
    once({
      amount: money(-day.random.int(8_400, 26_900)),
      type: 'DIRECT_DEBIT',
      description: 'DIRECT DEBIT BANKSIA ENERGY',
      merchant_name: 'Banksia Energy',
      category: category('RENT_AND_UTILITIES', 'RENT_AND_UTILITIES_GAS_AND_ELECTRICITY'),
    })
  }
  if (day.day % 30 === 12) once(bpay(day.random))
  if (day.day % 30 === 0) {
    // A waived fee: an amount of exactly zero, which counts as a credit.
    once({
      amount: '0.00',
      type: 'FEE',
      description: 'MONTHLY ACCOUNT FEE WAIVED',
      category: category('BANK_FEES', 'BANK_FEES_OTHER'),
    })
  }
  if (day.day % 28 === 9) {
    // A code outside the known list, and a row that has only an execution time.
    once({
      amount: money(-day.random.int(2_000, 9_000)),
      type: 'OTHER',
      description: '',
      reference: 'VET 0412',
      category: category('PETS', 'PETS_VETERINARY'),
      posting_date_time: undefined,
    })
  }
  return rows
}

function rent(): Record<string, unknown> {
  return {
    amount: '-655.00',
    type: 'TRANSFER_OUTGOING',
    description: 'TRANSFER TO BOTANY REALTY TRUST',
    reference: 'RENT 4/17',
    category: category('RENT_AND_UTILITIES', 'RENT_AND_UTILITIES_RENT'),
    is_detail_available: true,
    extended_data: {
      extension_u_type: 'nppPayload',
      payer: 'E HARTLEY',
      payee: 'BOTANY REALTY TRUST',
      npp_payload: {
        extended_description: 'Rent unit 4, 17 Acacia Avenue',
        end_to_end_id: 'RENT-4-17',
        purpose_code: 'RENT',
        service: 'X2P1',
        service_version: '01',
      },
    },
  }
}

function bpay(random: Random): Record<string, unknown> {
  return {
    amount: money(-random.int(7_900, 8_900)),
    type: 'PAYMENT',
    description: 'BPAY LYREBIRD TELECOM',
    biller_code: '824391',
    biller_name: 'Lyrebird Telecom',
    crn: '4400817263',
    category: category('RENT_AND_UTILITIES', 'RENT_AND_UTILITIES_INTERNET_AND_CABLE'),
  }
}

function cardDuties(day: Day): SandboxRow[] {
  if (day.day % 30 === 18) {
    return [
      instantRow(day, {
        amount: money(day.random.int(90_000, 240_000)),
        type: 'TRANSFER_INCOMING',
        description: 'PAYMENT RECEIVED - THANK YOU',
        category: category('TRANSFER_IN', 'TRANSFER_IN_ACCOUNT_TRANSFER'),
      }),
    ]
  }
  if (day.day % 30 !== 21) return []
  // This time has the bank's own offset and a fraction of a second.
  const stamp = `${isoDay(day.day)}T16:05:09.125+10:00`
  return [
    instantRow(day, {
      amount: '-3.20',
      type: 'FEE',
      description: 'INTERNATIONAL TRANSACTION FEE',
      category: category('BANK_FEES', 'BANK_FEES_FOREIGN_TRANSACTION_FEES'),
      posting_date_time: stamp,
      execution_date_time: stamp,
    }),
  ]
}

function interest(day: Day, type: string, bounds: readonly [number, number]): SandboxRow[] {
  if (day.day % 30 !== 1) return []
  const paid = type === 'INTEREST_PAID'
  return [
    instantRow(day, {
      amount: money(day.random.int(bounds[0], bounds[1])),
      type,
      description: paid ? 'CREDIT INTEREST' : 'DEBIT INTEREST CHARGED',
      ...(paid
        ? { category: category('INCOME', 'INCOME_INTEREST_EARNED') }
        : { category: category('LOAN_PAYMENTS', 'LOAN_PAYMENTS_MORTGAGE_PAYMENT') }),
    }),
  ]
}

function savings(day: Day): SandboxRow[] {
  if (day.day % 14 !== 5) return []
  return [
    instantRow(day, {
      amount: '400.00',
      type: 'TRANSFER_INCOMING',
      description: 'TRANSFER FROM EVERYDAY',
      category: category('TRANSFER_IN', 'TRANSFER_IN_SAVINGS'),
    }),
  ]
}

function repayment(day: Day): SandboxRow[] {
  if (day.day % 30 !== 15) return []
  return [
    instantRow(day, {
      amount: '2450.00',
      type: 'PAYMENT',
      description: 'LOAN REPAYMENT',
      category: category('LOAN_PAYMENTS', 'LOAN_PAYMENTS_MORTGAGE_PAYMENT'),
    }),
  ]
}

/** A row that posts at the moment it is made. */
export function instantRow(day: Day, fields: Record<string, unknown>): SandboxRow {
  const ms = day.day * dayMs + day.random.int(0, 86_399) * 1000
  return makeRow(day, { executedMs: ms, postedMs: ms, fields })
}

/**
 * A row that is seen from `executedMs` on, pending until `postedMs`, then posted; `fields` override its own.
 */
export function makeRow(
  { source, random }: Day,
  made: { executedMs: number; postedMs: number; fields: Record<string, unknown> },
): SandboxRow {
  const id = `${letters(random)}${letters(random)}${letters(random)}`
  const executedAt = stamp(made.executedMs)
  return {
    seenFromMs: made.executedMs,
    postsAtMs: made.postedMs,
    body: {
      fiskil_id: `bank_tx_${id}`,
      ...(random.int(1, 10) === 1 ? {} : { transaction_id: id }),
      account_id: source.accountId,
      arrangement_id: source.arrangementId,
      institution_id: source.institutionId,
      currency: source.currency,
      reference: '',
      status: 'POSTED',
      posting_date_time: stamp(made.postedMs),
      execution_date_time: executedAt,
      value_date_time: executedAt,
      is_detail_available: false,
      ...made.fields,
    },
  }
}

function category(primary: string, secondary: string): Record<string, string> {
  return {
    primary_category: primary,
    secondary_category: secondary,
    confidence_level: 'VERY_HIGH',
  }
}

/** Whole cents as text: -5 is "-0.05". */
export function money(cents: number): string {
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

function letters(random: Random): string {
  return random.int(0, 0xffff_ffff).toString(36).padStart(7, '0')
}

function stamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

function isoDay(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10)
}
