/**
 * Rows for the people who show one state: amounts in foreign currencies, purchases that stay pending for
 * hours, duplicates, and invalid rows. Balances are counted in hundredths, precise enough for a sandbox.
 */
import { purchase, type Recipe } from './rows.ts'

/** A purchase abroad a day, and what it was in the currency of the shop. */
export const conversions: Recipe = (_day, random) => {
  const cents = -random.int(500, 21_000)
  const conversion = { amount: Math.round(cents / 60), currency: 'EUR', rate: 0.6 }
  return [{ cents, description: 'HOTEL EUROPA BERLIN', type: 'DEBIT', meta: { conversion } }]
}

/** Yen have no smaller unit: whole numbers. */
export const yen: Recipe = (_day, random) => [
  { cents: -random.int(120, 98_000) * 100, description: 'KOMBINI SHIBUYA TOKYO', type: 'DEBIT' },
]

/** Dinars have a thousand fils: three digits, the last of which is never a zero. */
export const fils: Recipe = (_day, random) => {
  const whole = random.int(0, 99)
  const fraction = `${String(random.int(0, 99)).padStart(2, '0')}${random.int(1, 9)}`
  return [
    {
      cents: -whole * 100,
      amount: `-${whole}.${fraction}`,
      description: 'SOUQ AL MUBARAKIYA',
      type: 'DEBIT',
    },
  ]
}

/** Finer than a cent, as daily interest is counted: every digit matters. */
export const mills: Recipe = (_day, random) => [
  {
    cents: 0,
    amount: `0.${String(random.int(1, 9_999)).padStart(4, '0')}`,
    description: 'DAILY INTEREST',
    type: 'INTEREST',
  },
]

/** A purchase every other hour that is posted three hours after it was made. */
export const pendingThenBooked: Recipe = (_day, random) =>
  Array.from({ length: 12 }, (_, index) => ({
    ...purchase(random),
    minute: index * 120 + 60,
    pendingMinutes: 180,
  }))

/** Two purchases that differ by their id alone, every third day. */
export const identical: Recipe = (day) => {
  if (day.number % 3 !== 0) return []
  const one = { cents: -450, description: 'MOJO COFFEE', type: 'EFTPOS' }
  return [one, one]
}

/** A row a day; every fourth has an amount that is no number. */
export const broken: Recipe = (day, random) => [
  {
    cents: -random.int(200, 9_000),
    description: 'CARD PURCHASE',
    type: 'EFTPOS',
    ...(day.number % 4 === 0 ? { overrides: { amount: '12,50' } } : {}),
  },
]
