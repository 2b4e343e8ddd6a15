/**
 * The daily rows of each kind of account: salary, rent, shopping, interest, fees, card bills, foreign
 * currency, corrections of zero. Together they show every transaction type that Akahu documents.
 */
import type { Day, Happening, Recipe } from './rows.ts'
import { purchase } from './rows.ts'

/** Salary, rent, bills and shopping. */
export const everyday: Recipe = (day, random) => [
  ...everyDays(day, 14, 3, () => ({
    cents: 498_750,
    description: 'SALARY KAURI DESIGN LTD',
    type: 'DIRECT CREDIT',
    meta: { particulars: 'SALARY', code: 'KAURI', reference: `PAY${day.number}` },
  })),
  ...everyDays(day, 7, 1, () => ({
    cents: -62_000,
    description: 'RENT 14 TUI STREET',
    type: 'STANDING ORDER',
    meta: { particulars: 'RENT', reference: '14TUI', other_account: '12-3456-0001234-00' },
  })),
  ...everyDays(day, 7, 2, () => ({
    cents: -20_000,
    description: 'TRANSFER TO RAINY DAY',
    type: 'TRANSFER',
    meta: { other_account: '38-9000-0123456-01' },
  })),
  ...everyDays(day, 14, 5, () => ({
    cents: -90_000,
    description: 'HOME LOAN REPAYMENT',
    type: 'PAYMENT',
  })),
  ...onDay(day, 12, () => ({
    cents: -random.int(9_800, 24_300),
    description: 'MERIDIAN ENERGY',
    type: 'DIRECT DEBIT',
    meta: { reference: '0440987' },
  })),
  ...onDay(day, 20, () => ({
    cents: -90_000,
    description: 'CARD BILL',
    type: 'CREDIT CARD',
  })),
  ...onDay(day, 28, () => ({ cents: -500, description: 'MONTHLY ACCOUNT FEE', type: 'FEE' })),
  ...everyDays(day, 9, 4, () => ({ cents: -8_000, description: 'ATM QUEEN ST', type: 'ATM' })),
  ...everyDays(day, 30, 11, () => ({
    cents: 4_200,
    description: 'REFUND FARMERS',
    type: 'CREDIT',
  })),
  ...everyDays(day, 30, 17, () => ({ cents: -1_750, description: 'SPLIT BILL', type: 'DEBIT' })),
  // A correction of zero: the bank sends a negative zero.
  ...everyDays(day, 30, 23, () => ({
    cents: 0,
    amount: '-0',
    description: 'FEE REVERSAL NIL',
    type: 'FEE',
  })),
  ...several(random.int(0, 4), () => purchase(random)),
]

/** Transfers in, interest and the tax on it. */
export const savings: Recipe = (day, random) => [
  ...everyDays(day, 7, 2, () => ({
    cents: 20_000,
    description: 'TRANSFER FROM EVERYDAY',
    type: 'TRANSFER',
  })),
  ...onDay(day, 1, () => {
    const interest = random.int(2_100, 6_400)
    return { cents: interest, description: 'CREDIT INTEREST', type: 'INTEREST' }
  }),
  ...onDay(day, 1, () => ({
    cents: -random.int(600, 1_900),
    description: 'RESIDENT WITHHOLDING TAX',
    type: 'TAX',
  })),
]

/** Interest charged and repayments. */
export const homeLoan: Recipe = (day, random) => [
  ...everyDays(day, 14, 5, () => ({ cents: 90_000, description: 'REPAYMENT', type: 'LOAN' })),
  ...onDay(day, 26, () => ({
    cents: -random.int(141_000, 158_000),
    description: 'LOAN INTEREST',
    type: 'INTEREST',
  })),
]

/** Purchases by card, a few of them abroad. */
export const creditCard: Recipe = (day, random) => [
  ...several(random.int(0, 1), () => purchase(random, 'CREDIT CARD')),
  ...everyDays(day, 11, 6, () => {
    const kronor = random.int(60, 590)
    return {
      cents: -kronor * 17,
      description: 'SPOTIFY STOCKHOLM',
      type: 'CREDIT CARD',
      meta: { conversion: { amount: -kronor, currency: 'SEK', rate: 0.17 } },
    }
  }),
  ...onDay(day, 20, () => ({ cents: 90_000, description: 'PAYMENT RECEIVED', type: 'PAYMENT' })),
]

/** Foreign dollars: conversions with fractions of a cent. */
export const foreign: Recipe = (day, random) => [
  ...everyDays(day, 16, 7, () => ({
    cents: random.int(15_000, 90_000),
    description: 'INVOICE 2088 HARBOR LABS INC',
    type: 'DIRECT CREDIT',
  })),
  ...everyDays(day, 10, 3, () => ({
    cents: -random.int(500, 21_000),
    description: 'CLOUD HOSTING',
    type: 'DEBIT',
  })),
]

/** A wallet whose rows have a time of day. */
export const wallet: Recipe = (day, random) => [
  ...everyDays(day, 5, 0, () => ({ cents: 5_000, description: 'TOP UP', type: 'CREDIT' })),
  ...everyDays(day, 6, 2, () => ({
    cents: -random.int(1_000, 4_900),
    description: 'BUY ORDER NZX50 FUND',
    type: 'DEBIT',
  })),
]

/** Exactly `count` rows a day. */
export function busy(count: number): Recipe {
  return (day, random) => [
    ...several(count - 1, () => purchase(random)),
    {
      cents: random.int(9_000, 52_000),
      description: `SETTLEMENT ${day.text.replaceAll('-', '')}`,
      type: 'DIRECT CREDIT',
      meta: { particulars: 'SETTLEMENT', reference: `B${day.number}` },
    },
  ]
}

function everyDays(
  day: Day,
  period: number,
  offset: number,
  make: () => Happening,
): readonly Happening[] {
  return day.number % period === offset % period ? [make()] : []
}

function onDay(day: Day, ofMonth: number, make: () => Happening): readonly Happening[] {
  return day.ofMonth === ofMonth ? [make()] : []
}

function several(count: number, make: () => Happening): readonly Happening[] {
  return Array.from({ length: count }, make)
}
