/**
 * The daily rows of each kind of Up account: pay, rent, shopping with round ups, covers from savers,
 * cashback, holds that settle with another amount, purchases in rupiah, payments between people.
 */
import { makeRandom, type Random } from '../seed.ts'
import { centsText, type Day, type Happening, type Recipe } from './rows.ts'

interface Shop {
  readonly name: string
  readonly raw: string
  readonly category: string
  readonly cents: readonly [number, number]
}

const shop = (
  name: string,
  raw: string,
  category: string,
  cents: readonly [number, number],
): Shop => ({ name, raw, category, cents })

const shops: readonly Shop[] = [
  shop('Woolworths', 'WOOLWORTHS 3052 FITZROY AU', 'groceries', [900, 18_400]),
  shop('Aldi', 'ALDI STORES BRUNSWICK', 'groceries', [1_200, 14_900]),
  shop('Proud Mary', 'SQ *PROUD MARY Collingwood', 'restaurants-and-cafes', [480, 3_900]),
  shop('Dan Murphy’s', 'DAN MURPHYS 1204', 'booze', [1_500, 9_900]),
  shop('myki', 'MYKI PAYMENTS DOCKLANDS', 'public-transport', [2_000, 5_000]),
  shop('BP', 'BP CARLTON 4471', 'fuel', [4_000, 12_500]),
  shop('JB Hi-Fi', 'JB HI-FI MELBOURNE', 'technology', [1_900, 24_900]),
  shop('Chemist Warehouse', 'CHEMIST WAREHOUSE 77', 'health-and-medical', [500, 6_400]),
  shop('Netflix', 'NETFLIX.COM', 'tv-and-music', [1_899, 1_899]),
  shop('Readings', 'READINGS CARLTON', 'news-magazines-and-books', [1_299, 6_999]),
]

/** A purchase by card that is held for a while. */
export function purchase(random: Random, minute: number, heldMinutes = 0): Happening {
  const at = random.pick(shops)
  return {
    cents: -random.int(at.cents[0], at.cents[1]),
    description: at.name,
    rawText: at.raw,
    category: at.category,
    transactionType: 'Purchase',
    cardPurchase: true,
    minute,
    heldMinutes,
  }
}

/** Pay, rent, bills, shopping; `saver` is the account on the other side of round ups and covers. */
export const spending =
  (saver: string): Recipe =>
  (day, random) => [
    ...every(day, 14, 3, () => ({
      cents: 412_350,
      description: 'Wattle Design',
      rawText: 'WATTLE DESIGN PTY LTD',
      message: `Salary ${day.number}`,
      transactionType: 'Direct Credit',
      minute: 5,
    })),
    ...every(day, 7, 1, () => ({
      cents: -58_000,
      description: 'Rent',
      message: '14 Banksia Street',
      category: 'rent-and-mortgage',
      transactionType: 'BPAY Payment',
      minute: 420,
    })),
    ...roundUps(day).flatMap((one) => [
      one.purchase,
      { ...one.move, cents: -one.move.cents, transferAccount: saver },
    ]),
    ...every(day, 9, 4, () => ({
      cents: 2_500,
      description: 'Cover from Rainy Day',
      transferAccount: saver,
      minute: 790,
    })),
    ...every(day, 7, 5, () => ({
      cents: -10_000,
      description: 'Transfer to Rainy Day',
      transferAccount: saver,
      minute: 1_000,
    })),
    ...every(day, 11, 6, () => withCashback(random)),
    ...every(day, 13, 7, () => abroad(random)),
    ...every(day, 6, 3, () => ({ ...atPump(random) })),
    ...every(day, 17, 9, () => ({
      cents: -4_550,
      description: 'Sam Rivers',
      message: 'Pizza night',
      note: 'Split in two',
      transactionType: 'Osko Payment',
      minute: 1_260,
    })),
    ...Array.from({ length: random.int(0, 3) }, () =>
      purchase(random, random.int(480, 1_300), random.int(0, 2_880)),
    ),
  ]

/**
 * A purchase, and its round up as a move of its own; the attribute only tells of it. Both accounts need the
 * same amount, so it depends on the day alone.
 */
function roundUps(day: Day): readonly { readonly purchase: Happening; readonly move: Happening }[] {
  return every(day, 5, 2, () => {
    const paid = purchase(makeRandom(`round up ${day.text}`), 740)
    const cents = 100 - (-paid.cents % 100)
    const roundUp = { amount: centsText(-cents), boostPortion: null }
    return {
      purchase: { ...paid, roundUp },
      move: { cents, description: 'Round Up', minute: 741 },
    }
  })
}

/** A part of the payment comes back at once, which Up tells in an attribute alone. */
function withCashback(random: Random): Happening {
  const description = 'Hooked on Books cashback'
  return { ...purchase(random, 830), cashback: { description, amount: '2.50' } }
}

/** Rupiah have two digits in ISO 4217, although nobody uses them. */
function abroad(random: Random): Happening {
  const hundreds = random.int(300, 9_000)
  return {
    cents: -hundreds,
    description: 'Warung Made',
    rawText: 'WARUNG MADE UBUD BALI IDN',
    category: 'holidays-and-travel',
    foreign: { currency: 'IDR', amount: `-${hundreds}00.00` },
    transactionType: 'International Purchase',
    cardPurchase: true,
    minute: 900,
    heldMinutes: 2_000,
  }
}

/** A pump holds a round amount and settles what was filled; every other time with another id. */
function atPump(random: Random): Happening {
  return {
    cents: -random.int(4_000, 9_900),
    heldCents: -15_000,
    description: 'Ampol',
    rawText: 'AMPOL COBURG',
    category: 'fuel',
    transactionType: 'Purchase',
    cardPurchase: true,
    minute: 610,
    heldMinutes: 1_500,
    isReplaced: random.int(0, 1) === 0,
  }
}

/**
 * What the other halves of those moves are; internal moves have rows on both sides, and nothing links them.
 */
export const saving =
  (spender: string): Recipe =>
  (day) => [
    ...roundUps(day).map(({ move }) => ({ ...move, transferAccount: spender })),
    ...every(day, 9, 4, () => ({
      cents: -2_500,
      description: 'Cover to Spending',
      transferAccount: spender,
      minute: 790,
    })),
    ...every(day, 7, 5, () => ({
      cents: 10_000,
      description: 'Transfer from Spending',
      transferAccount: spender,
      minute: 1_000,
    })),
    ...(day.ofMonth === 1
      ? [{ cents: 1_234, description: 'Interest', transactionType: 'Interest', minute: 1 }]
      : []),
  ]

/** Exactly `count` rows a day, just after midnight, three at the same moment. */
export const busy =
  (count: number): Recipe =>
  (_day, random) =>
    Array.from({ length: count }, (_, index) => purchase(random, Math.floor(index / 3)))

/** A purchase every other hour that settles three hours after it was made. */
export const heldThenSettled: Recipe = (_day, random) =>
  Array.from({ length: 12 }, (_, index) => purchase(random, index * 120 + 60, 180))

/** Two purchases that differ by their id alone, every third day. */
export const identical: Recipe = (day) => {
  if (day.number % 3 !== 0) return []
  const one = {
    cents: -450,
    description: 'Proud Mary',
    rawText: 'SQ *PROUD MARY Collingwood',
    cardPurchase: true,
    minute: 510,
  }
  return [one, one]
}

/** A purchase in rupiah, yen or dinars a day. */
export const travelling: Recipe = (day, random) => {
  const cents = -random.int(500, 21_000)
  const shown = [
    { currency: 'IDR', amount: `${cents}00.00` },
    { currency: 'JPY', amount: `${cents}` },
    { currency: 'KWD', amount: `${cents}.125` },
  ][day.number % 3]
  return [{ ...abroad(random), cents, ...(shown === undefined ? {} : { foreign: shown }) }]
}

/** A row a day; of every fourth, text and integer of the amount disagree. */
export const broken: Recipe = (day, random) => {
  const row = purchase(random, 700)
  if (day.number % 4 !== 0) return [row]
  const amount = { currencyCode: 'AUD', value: '-12.50', valueInBaseUnits: -1251 }
  return [{ ...row, overrides: { amount } }]
}

function every<Item>(day: Day, length: number, offset: number, make: () => Item): readonly Item[] {
  return day.number % length === offset % length ? [make()] : []
}
