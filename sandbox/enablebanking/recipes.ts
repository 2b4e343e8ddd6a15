/** The daily rows of each kind of account at a European bank. */
import { fromScaled } from '#kernel/decimal.ts'
import { makeRandom, type Random } from '../seed.ts'
import { type BankRow, dayMs, dayOf, startOf } from './people.ts'

/** A row of one day before it has an id. */
export type Happening = Omit<BankRow, 'id' | 'bookedAt'>
export type Recipe = (day: number, random: Random) => readonly Happening[]

const shops = [
  ['Marché du Canal', 'CB MARCHE DU CANAL 0412 LILLE', '5411', 900, 12_400],
  ['Café Nordlicht', 'KARTENZAHLUNG CAFE NORDLICHT', '5814', 280, 1_900],
  ['Stadtwerke Verkehr', 'EC 240201 STADTWERKE TICKET 7', '4111', 200, 4_000],
  ['Librería Paloma', 'COMPRA TARJ. LIBRERIA PALOMA', '5942', 900, 6_400],
  ['Apteekki Kaarna', 'PKORTTIMAKSU APTEEKKI KAARNA', '5912', 500, 7_200],
  ['Streamly', 'STREAMLY.EXAMPLE', null, 1_099, 1_099],
] as const

export const cents = (amount: number): string => fromScaled(BigInt(amount), 2)

export function purchase(random: Random): Happening {
  const [payee, description, mcc, least, most] = random.pick(shops)
  return { amount: cents(-random.int(least, most)), description, payee, mcc }
}

/** Pay every month, rent every thirty days, a purchase or two a day. */
export const everyday: Recipe = (day, random) => [
  ...(day % 30 === 3
    ? [
        {
          amount: '2841.17',
          description: 'PALKKA MARRASKUU\nKIITOS',
          payee: 'Acme Design Oy',
          iban: 'FI5544008820012345',
        },
      ]
    : []),
  ...(day % 30 === 1
    ? [{ amount: '-950.00', description: 'Vuokra', payee: 'Kiinteistö Kaarna' }]
    : []),
  ...Array.from({ length: random.int(0, 2) }, () => purchase(random)),
]

export const saving: Recipe = (day) =>
  day % 30 === 2 ? [{ amount: '3.21', description: 'KORKO', payee: null }] : []

export const busy =
  (perDay: number): Recipe =>
  (_day, random) =>
    Array.from({ length: perDay }, () => purchase(random))

/** Two equal payments on one day: without a balance, or with the balance after each. */
export const twins: Recipe = (day) =>
  day % 3 === 0
    ? Array.from({ length: 2 }, (_one, index) => ({
        ...{
          amount: '-4.50',
          description: 'KARTENZAHLUNG CAFE NORDLICHT',
          payee: 'Café Nordlicht',
        },
        ...(day % 2 === 0 ? {} : { balanceAfter: cents(50_000 - index * 450) }),
      }))
    : []

export const broken: Recipe = (day, random) => [
  day % 4 === 0
    ? { amount: '-1.00', amountText: '12,5', description: 'Unreadable' }
    : purchase(random),
]

/** The rows of these days, in days since the epoch: the same for the same name. */
export function makeRows(options: {
  readonly name: string
  readonly recipe: Recipe
  readonly from: number
  readonly until: number
}): BankRow[] {
  const rows: BankRow[] = []
  for (let day = options.from; day <= options.until; day += 1) {
    const key = `${options.name}|${day}`
    const bookedAt = startOf(dayOf(day * dayMs))
    options.recipe(day, makeRandom(key)).forEach((happening, index) => {
      rows.push({ ...happening, id: `${key.replaceAll(/\W/g, '')}N${index}`, bookedAt })
    })
  }
  return rows
}
