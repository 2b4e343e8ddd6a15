/**
 * Generates the rows of Up accounts, day by day: a day's rows depend only on the seed, the account and the
 * day, so that a later start gives the same rows with the same ids, plus those of the days since.
 */
import { hash } from 'node:crypto'
import { fromScaled } from '#kernel/decimal.ts'
import { makeRandom, type Random } from '../seed.ts'
import { type AccountGrowth, melbourne, type UpAccount, type UpRow } from './people.ts'

/** A row of one day of one account, before it has an id and a time. */
export interface Happening extends Partial<Omit<UpRow, 'id' | 'createdAt' | 'settlesAt'>> {
  /** Signed, in cents; negative is money out. */
  readonly cents: number
  readonly description: string
  /** Minutes after midnight in Melbourne. */
  readonly minute: number
  /** Minutes for which it is held; 0 or absent: it settles at once. */
  readonly heldMinutes?: number
  /** In cents while it is held, where it differs. */
  readonly heldCents?: number
  /** The hold is deleted when it ends, and the payment has an id of its own. */
  readonly isReplaced?: boolean
}

export interface Day {
  /** `YYYY-MM-DD` in Melbourne. */
  readonly text: string
  /** Days since the epoch: what comes every week or fortnight counts on it. */
  readonly number: number
  readonly ofMonth: number
}

export type Recipe = (day: Day, random: Random) => readonly Happening[]

/** An id in the form of a UUID: the same for the same name, unlike any other. */
export function toUuid(name: string): string {
  const digits = hash('sha256', name)
  const fields = [digits.slice(0, 8), digits.slice(8, 12), `4${digits.slice(13, 16)}`]
  return [...fields, `a${digits.slice(17, 20)}`, digits.slice(20, 32)].join('-')
}

/** An amount in cents with both digits of its fraction. */
export function centsText(cents: number): string {
  return fromScaled(BigInt(cents), 2)
}

/** A row with defaults for what is not given: a transfer by nobody in particular, settled at once. */
export function makeRow(fields: Partial<UpRow> & Pick<UpRow, 'id' | 'createdAt'>): UpRow {
  return {
    settlesAt: fields.createdAt,
    amount: '-1.00',
    description: 'A row',
    rawText: null,
    message: null,
    note: null,
    transactionType: null,
    category: null,
    transferAccount: null,
    cardPurchase: false,
    ...fields,
  }
}

export interface GrowthOptions {
  readonly seed: string
  readonly recipe: Recipe
  /** The last day before the first one with rows. */
  readonly since: string
}

export function makeGrowth({ seed, recipe, since }: GrowthOptions): AccountGrowth {
  function grow(account: UpAccount, text: string): void {
    const number = Math.round(Date.parse(text) / 86_400_000)
    const name = `${seed}|${account.id}|${text}`
    const day = { text, number, ofMonth: Number(text.slice(8)) }
    recipe(day, makeRandom(name)).forEach((happening, index) => {
      account.rows.push(...toRows(happening, text, `${name}|${index}`))
    })
  }

  return { through: since, grow }
}

/** One row; two where the hold is deleted and the payment has another id. */
function toRows(happening: Happening, day: string, name: string): readonly UpRow[] {
  const { cents, minute, heldMinutes = 0, heldCents, isReplaced, ...fields } = happening
  const createdAt = melbourne.startOfDay(day) / 1000 + minute * 60_000
  const settlesAt = createdAt + heldMinutes * 60_000
  const row = makeRow({
    ...fields,
    id: toUuid(name),
    createdAt,
    settlesAt,
    amount: centsText(cents),
    ...(heldCents === undefined ? {} : { heldAmount: centsText(heldCents) }),
  })
  if (isReplaced !== true) return [row]
  const payment = { ...row, id: toUuid(`${name}|settled`), seenFrom: settlesAt }
  return [{ ...row, settlesAt: null, goneAt: settlesAt }, payment]
}
