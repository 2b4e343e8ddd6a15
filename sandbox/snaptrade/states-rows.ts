/**
 * Activities for the people who show one state: prices in foreign
 * currencies, fractions of a share, and invalid rows.
 */
import type { Special } from './rows.ts'
import { securities } from './securities.ts'

/** Yen have no smaller unit: whole numbers. */
export const yen: Special = (day) => {
  const price = day.random.int(2_400, 2_800)
  return {
    type: 'BUY',
    security: securities.toyota,
    units: '100',
    price: String(price),
    amount: String(-price * 100),
    currency: 'JPY',
    description: 'BOUGHT Toyota Motor Corporation',
  }
}

/** Dinars have a thousand fils: three digits, zeros at the end included. */
export const dinars: Special = (day) => {
  const fils = day.random.int(980, 1_070)
  const price = `${Math.floor(fils / 1000)}.${String(fils % 1000).padStart(3, '0')}`
  return {
    type: 'BUY',
    security: securities.nbk,
    units: '1000',
    price,
    amount: `-${fils}.000`,
    fee: '0.250',
    currency: 'KWD',
    description: 'BOUGHT National Bank of Kuwait',
  }
}

/** A fraction of a share, with more digits than a float can represent. */
export const slices: Special = (day) => ({
  type: 'BUY',
  security: securities.aapl,
  units: `0.${String(day.random.int(1, 999_999_999)).padStart(9, '0')}123456789`,
  price: '231.45',
  amount: '-5.00',
  currency: 'USD',
  description: 'BOUGHT A SLICE OF Apple Inc.',
})

/** The broker writes words where a number should be. */
export const broken: Special = (day) => ({
  type: 'BUY',
  security: day.security,
  units: 'a few',
  price: '1',
  amount: '-1',
  description: 'BOUGHT A FEW',
})
