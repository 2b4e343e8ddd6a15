/** The daily rows of each kind of SimpleFIN account. */
import { fromScaled } from '#kernel/decimal.ts'
import { makeRandom, type Random } from '../seed.ts'
import { dayMs, noonOf, type SimplefinRow } from './people.ts'

/** A row of one day before it has an id. */
export type Happening = Omit<SimplefinRow, 'id' | 'postedAt'>
export type Recipe = (day: number, random: Random) => readonly Happening[]

const shops = [
  ['Prairie Market', 'PRAIRIE MARKET #0412 LINCOLN NE', '5411', 900, 18_400],
  ['Blue Door Coffee', 'SQ *BLUE DOOR COFFEE', '5814', 380, 1_900],
  ['Metro Transit', 'METRO TRANSIT KIOSK 7', '4111', 200, 4_000],
  ['Gas & Go', 'GAS AND GO 00231', '5541', 2_500, 8_900],
  ['Corner Books', 'CORNER BOOKS 55', '5942', 900, 6_400],
  ['City Pharmacy', 'CITY PHARMACY 0071', '5912', 500, 7_200],
  ['Streamly', 'STREAMLY.EXAMPLE', '5815', 1_099, 1_099],
] as const

export const cents = (amount: number): string => fromScaled(BigInt(amount), 2)

export function purchase(random: Random): Happening {
  const [payee, memo, mcc, least, most] = random.pick(shops)
  return {
    amount: cents(-random.int(least, most)),
    description: payee,
    payee,
    memo,
    mcc,
  }
}

/** Pay every fortnight, rent every thirty days, a purchase or two a day. */
export const everyday: Recipe = (day, random) => [
  ...(day % 14 === 3
    ? [{ amount: '2841.17', description: 'Payroll', memo: 'ACME DESIGN PAYROLL', mcc: null }]
    : []),
  ...(day % 30 === 1
    ? [{ amount: '-1450.00', description: 'Rent', memo: 'ELM STREET RENT', mcc: '6513' }]
    : []),
  ...Array.from({ length: random.int(0, 2) }, () => purchase(random)),
]

export const saving: Recipe = (day) =>
  day % 30 === 2 ? [{ amount: '3.21', description: 'Interest', memo: 'INTEREST PAID' }] : []

export const busy =
  (perDay: number): Recipe =>
  (_day, random) =>
    Array.from({ length: perDay }, () => purchase(random))

/** Two equal payments on one day. */
export const twins: Recipe = (day) =>
  day % 3 === 0
    ? Array.from({ length: 2 }, () => ({
        amount: '-4.50',
        description: 'Blue Door Coffee',
        memo: 'SQ *BLUE DOOR COFFEE',
        mcc: '5814',
      }))
    : []

export const broken: Recipe = (day, random) => [
  day % 4 === 0 ? { amount: '12,5', description: 'Unreadable' } : purchase(random),
]

/** The rows of these days, in days since the epoch: the same for the same name. */
export function makeRows(options: {
  readonly name: string
  readonly recipe: Recipe
  readonly from: number
  readonly until: number
  readonly toId: (name: string) => string
}): SimplefinRow[] {
  const { name, recipe, toId } = options
  const rows: SimplefinRow[] = []
  for (let day = options.from; day <= options.until; day += 1) {
    const key = `${name}|${day}`
    const postedAt = noonOf(new Date(day * dayMs).toISOString().slice(0, 10))
    recipe(day, makeRandom(key)).forEach((happening, index) => {
      rows.push({ ...happening, id: toId(`${key}|${index}`), postedAt })
    })
  }
  return rows
}
