/**
 * Generates the rows of New Zealand bank accounts, day by day: a day's rows depend only on the seed, the
 * account and the day, so that a later start gives the same rows with the same ids, plus those of the days
 * since.
 */
import { hash } from 'node:crypto'
import nzfcc from '#providers/akahu/nzfcc.data.json' with { type: 'json' }
import { makeRandom, type Random } from '../seed.ts'
import { type AccountGrowth, type AkahuAccount, type AkahuRow, newZealand } from './people.ts'

/** A row of one day of one account, before it has an id and a time. */
export interface Happening {
  /** Signed, in hundredths; negative is money out. */
  readonly cents: number
  readonly description: string
  readonly type: string
  readonly shop?: Shop
  readonly meta?: Record<string, unknown>
  /** The number token when it shall not be the plain one of `cents`. */
  readonly amount?: string
  /** Minutes after midnight in New Zealand at which it is posted; absent: as the style says. */
  readonly minute?: number
  /** For how many minutes before that it is pending. */
  readonly pendingMinutes?: number
  readonly overrides?: Record<string, unknown>
}

export interface Day {
  /** `YYYY-MM-DD` in New Zealand. */
  readonly text: string
  /** Days since the epoch: what comes every week or fortnight counts on it. */
  readonly number: number
  readonly ofMonth: number
}

export type Recipe = (day: Day, random: Random) => readonly Happening[]

/**
 * How a bank stamps a day: most write midnight in New Zealand as UTC, a card issuer writes midnight UTC, a
 * wallet knows the time.
 */
export type StampStyle = 'nz-midnight' | 'utc-midnight' | 'instant'

export interface Shop {
  readonly id: string
  readonly name: string
  readonly website?: string
  readonly text: string
  readonly minCents: number
  readonly maxCents: number
  readonly category: NonNullable<AkahuRow['category']>
}

function categoryNamed(name: string): NonNullable<AkahuRow['category']> {
  const row = nzfcc.rows.find((candidate) => candidate.name === name)
  if (row === undefined) throw new Error(`no category is called ${name}`)
  const group = { _id: row.group_id, name: row.group }
  return { _id: row._id, name: row.name, groups: { personal_finance: group } }
}

function shop(
  name: string,
  text: string,
  category: string,
  facts: { readonly cents: readonly [number, number]; readonly website?: string },
): Shop {
  const { cents, website } = facts
  const [minCents, maxCents] = cents
  return {
    id: `merchant_${digest(name)}`,
    name,
    ...(website === undefined ? {} : { website }),
    text,
    minCents,
    maxCents,
    category: categoryNamed(category),
  }
}

const groceries = 'Supermarkets and grocery stores'
const shops: readonly Shop[] = [
  shop('Countdown', 'COUNTDOWN PONSONBY', groceries, {
    cents: [1240, 18400],
    website: 'https://www.woolworths.co.nz',
  }),
  shop('New World', 'NEW WORLD METRO', groceries, {
    cents: [800, 15200],
    website: 'https://www.newworld.co.nz',
  }),
  shop("Pak'nSave", 'PAKNSAVE ALBANY', groceries, { cents: [2200, 24600] }),
  shop('Z Energy', 'Z QUAY STREET', 'Fuel stations', {
    cents: [4000, 12600],
    website: 'https://www.z.co.nz',
  }),
  shop('Mojo Coffee', 'MOJO COFFEE', 'Cafes and restaurants', { cents: [520, 2600] }),
  shop('Burger Fuel', 'BURGERFUEL K RD', 'Fast food stores', { cents: [1490, 4250] }),
  shop('Mitre 10', 'MITRE 10 MEGA', 'Hardware equipment and supplies', { cents: [699, 21900] }),
  shop('Unichem', 'UNICHEM PHARMACY', 'Pharmacies', { cents: [500, 6400] }),
  shop('The Warehouse', 'THE WAREHOUSE 142', 'Variety stores', { cents: [400, 9900] }),
  shop('AT HOP', 'AT HOP AUTO TOPUP', 'Bus and shuttle transport services', {
    cents: [2000, 5000],
  }),
  shop('Event Cinemas', 'EVENT CINEMAS QUEEN ST', 'Cinemas', { cents: [1850, 5400] }),
  shop('Farmers', 'FARMERS NEWMARKET', 'Clothing stores', { cents: [1999, 24900] }),
  shop('Les Mills', 'LES MILLS AUCKLAND', 'Gyms, fitness, aquatic facilities, yoga, pilates', {
    cents: [2995, 2995],
  }),
  shop('Paper Plus', 'PAPER PLUS', 'Book stores', { cents: [899, 5999] }),
]

/** A purchase at a random shop. */
export function purchase(random: Random, type = 'EFTPOS'): Happening {
  const at = random.pick(shops)
  const cents = -random.int(at.minCents, at.maxCents)
  return { cents, description: at.text, type, shop: at, meta: { card_suffix: '0194' } }
}

/** An amount in hundredths with both digits of its fraction: `-1230` is `-12.30`. */
export function centsText(cents: number): string {
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** The same without zeros at the end, as JSON writers leave them out: `-1230` is `-12.3`. */
export function centsToken(cents: number): string {
  return centsText(cents).replace(/\.?0+$/, '')
}

/** An id's tail: the same for the same name, unlike any other. */
export function digest(name: string): string {
  return `ck${hash('sha256', name).slice(0, 22)}`
}

export interface GrowthOptions {
  readonly seed: string
  readonly style: StampStyle
  readonly recipe: Recipe
  /** The balance before the first day, in hundredths. */
  readonly openingCents: number
  /** The last day before the first one with rows. */
  readonly since: string
  /** Writes the running balance into the account, whose token some banks compute with floats. */
  readonly balanceToken?: (cents: number) => string
}

/** Lets an account grow by a recipe, keeping its balance in step with its rows. */
export function makeGrowth(options: GrowthOptions): AccountGrowth {
  let cents = options.openingCents
  const balanceToken = options.balanceToken ?? centsToken

  function grow(account: AkahuAccount, text: string): void {
    const day: Day = {
      text,
      number: Math.round(Date.parse(text) / 86_400_000),
      ofMonth: Number(text.slice(8)),
    }
    const name = `${options.seed}|${account._id}|${text}`
    const random = makeRandom(name)
    options.recipe(day, random).forEach((happening, index) => {
      cents += happening.cents
      const date =
        happening.minute === undefined
          ? stamp(options.style, text, random)
          : minuteOf(text, happening.minute)
      account.rows.push(toRow(happening, `${name}|${index}`, date, cents))
    })
    if (account.balance !== null) account.balance.current = balanceToken(cents)
  }

  return { through: options.since, grow }
}

function toRow(happening: Happening, name: string, date: string, cents: number): AkahuRow {
  const { shop: at, meta, pendingMinutes, overrides } = happening
  return {
    _id: `trans_${digest(name)}`,
    created_at: date,
    updated_at: date,
    date,
    description: happening.description,
    amount: happening.amount ?? centsToken(happening.cents),
    balance: centsToken(cents),
    type: happening.type,
    ...(at === undefined ? {} : { merchant: merchantOf(at), category: at.category }),
    ...(meta === undefined ? {} : { meta }),
    ...(pendingMinutes === undefined
      ? {}
      : { seenFrom: new Date(Date.parse(date) - pendingMinutes * 60_000).toISOString() }),
    ...(overrides === undefined ? {} : { overrides }),
  }
}

function merchantOf(at: Shop): NonNullable<AkahuRow['merchant']> {
  const website = at.website === undefined ? {} : { website: at.website }
  return { _id: at.id, name: at.name, ...website }
}

function stamp(style: StampStyle, day: string, random: Random): string {
  if (style === 'utc-midnight') return `${day}T00:00:00.000Z`
  const midnight = newZealand.startOfDay(day) / 1000
  if (style === 'nz-midnight') return new Date(midnight).toISOString()
  // Between one second past midnight and 22:00 local, so that it is never mistaken for a day-only stamp.
  return new Date(midnight + random.int(1_000, 22 * 3_600_000)).toISOString()
}

function minuteOf(day: string, minute: number): string {
  return new Date(newZealand.startOfDay(day) / 1000 + minute * 60_000).toISOString()
}
