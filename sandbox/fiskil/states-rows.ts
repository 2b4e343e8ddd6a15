/**
 * Rows for the people who show one state: amounts in foreign currencies, purchases that stay
 * pending for hours, duplicates, and invalid rows.
 */
import { dayMs } from '#kernel/time.ts'
import { merchants, travelMerchants } from './merchants.ts'
import { instantRow, makeRow, money, purchases, type Recipe } from './rows.ts'

const msPerHour = 3_600_000

/** A purchase abroad a day, in the account's currency. */
export const coins: Recipe = (day) => purchases(day, 1, travelMerchants)

/** Yen have no smaller unit: whole numbers. */
export const yen: Recipe = (day) => [
  instantRow(day, {
    amount: String(-day.random.int(120, 98_000)),
    type: 'PAYMENT',
    description: 'KOMBINI SHIBUYA TOKYO JP',
  }),
]

/** Dinars have a thousand fils: three digits. */
export const fils: Recipe = (day) => {
  const digits = String(day.random.int(1, 99_999)).padStart(4, '0')
  const amount = `-${digits.slice(0, -3)}.${digits.slice(-3)}`
  return [instantRow(day, { amount, type: 'PAYMENT', description: 'SOUQ AL MUBARAKIYA KWT' })]
}

/** Finer than a cent, as interest and fuel are counted: every digit matters. */
export const mills: Recipe = (day) => [
  instantRow(day, {
    amount: `0.${String(day.random.int(1, 9_999)).padStart(4, '0')}`,
    type: 'INTEREST_PAID',
    description: 'DAILY INTEREST',
  }),
]

const hoursUntilPosted = 3

/** A purchase every other hour that is posted three hours later: one or two are pending at any time. */
export const pendingThenBooked: Recipe = (day) =>
  Array.from({ length: 12 }, (_, index) => {
    const shop = day.random.pick(merchants)
    const executedMs = day.day * dayMs + index * 2 * msPerHour
    return makeRow(day, {
      executedMs,
      postedMs: executedMs + hoursUntilPosted * msPerHour,
      fields: {
        amount: money(-day.random.int(shop.cents[0], shop.cents[1])),
        description: shop.statement,
        type: 'PAYMENT',
        merchant_name: shop.name,
      },
    })
  })

/** Two purchases that differ by their id alone, every third day. */
export const identical: Recipe = (day) => {
  if (day.day % 3 !== 0) return []
  const executedMs = day.day * dayMs + 8 * msPerHour
  const fields = { amount: '-4.50', type: 'PAYMENT', description: 'SECOND CRACK COFFEE' }
  const one = () => makeRow(day, { executedMs, postedMs: executedMs, fields })
  return [one(), one()]
}

/** A row a day; every fourth has an amount that is no number. */
export const broken: Recipe = (day) => [
  instantRow(day, {
    amount: day.day % 4 === 0 ? '12,50' : money(-day.random.int(200, 9_000)),
    type: 'OTHER',
    description: 'CARD PURCHASE',
  }),
]
