/**
 * The JSON of the Up emulator: resources, links, errors, money and times as Up writes them. It knows shapes,
 * not people or rules.
 */
import { add, type Decimal, parseDecimal, toScaled, zero } from '#kernel/decimal.ts'
import { toExactInteger } from '#kernel/json.ts'
import { currencyDigits } from '#kernel/money.ts'
import type { EmulatorReply } from '../emulator.ts'
import { parentOf } from './categories.ts'
import { amountAt, melbourne, statusAt, type UpAccount, type UpRow } from './people.ts'

const currency = 'AUD'

/** `{errors: [{status, title, detail, source?}]}`; the status is text. */
export function refusal(
  status: number,
  title: string,
  detail: string,
  source?: { readonly parameter: string },
): EmulatorReply {
  const error = {
    status: String(status),
    title,
    detail,
    ...(source === undefined ? {} : { source }),
  }
  return { status, body: { errors: [error] } }
}

export const notFound = (): EmulatorReply =>
  refusal(404, 'Not Found', 'The requested resource could not be found.')

/** Text and integer of one amount. */
export function money(text: string, code: string = currency): unknown {
  const digits = currencyDigits(code)
  return { currencyCode: code, value: text, valueInBaseUnits: toExactInteger(units(text, digits)) }
}

function units(text: string, digits: number): bigint {
  return toScaled(toDecimal(text), digits)
}

function toDecimal(text: string): Decimal {
  const value = parseDecimal(text)
  if (value === null) throw new Error(`not a decimal: ${text}`)
  return value
}

/** A time as Up sends it: whole seconds, with Melbourne's offset on that day. */
export function toTime(ms: number): string {
  const zoned = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(melbourne.id)
  return zoned.toString({ smallestUnit: 'second', timeZoneName: 'never' })
}

/** Opening plus every row that Up shows, holds at what is held and cashbacks once they are paid. */
export function availableOf(account: UpAccount, now: number): Decimal {
  return account.rows.reduce((sum, row) => {
    const status = statusAt(row, now)
    if (status === null) return sum
    const paid = add(sum, toDecimal(amountAt(row, now)))
    const isReturned = status === 'SETTLED' && row.cashback !== undefined
    return isReturned ? add(paid, toDecimal(row.cashback?.amount ?? zero)) : paid
  }, toDecimal(account.opening))
}

export function accountToWire(account: UpAccount, base: string, now: number): unknown {
  const { id, displayName, accountType, ownershipType } = account
  const self = `${base}/accounts/${id}`
  return {
    type: 'accounts',
    id,
    attributes: {
      displayName,
      accountType,
      ownershipType,
      balance: money(availableOf(account, now), account.currency),
      createdAt: toTime(account.createdAt),
    },
    relationships: { transactions: { links: { related: `${self}/transactions` } } },
    links: { self },
  }
}

/** A row as it is sent at this moment, with the link of the app that Up's own file does not have. */
export function rowToWire(row: UpRow, account: UpAccount, base: string, now: number): unknown {
  const self = `${base}/transactions/${row.id}`
  return {
    type: 'transactions',
    id: row.id,
    attributes: { ...attributesOf(row, account, now), ...row.overrides },
    relationships: relationshipsOf(row, account, base),
    links: { self },
  }
}

function attributesOf(row: UpRow, account: UpAccount, now: number): Record<string, unknown> {
  const status = statusAt(row, now)
  const { foreign, cashback, roundUp } = row
  const wasHeld = row.settlesAt !== row.createdAt
  const foreignAmount = foreign === undefined ? null : money(foreign.amount, foreign.currency)
  return {
    status,
    rawText: row.rawText,
    description: row.description,
    message: row.message,
    isCategorizable: row.transferAccount === null,
    holdInfo: wasHeld
      ? { amount: money(row.heldAmount ?? row.amount, account.currency), foreignAmount }
      : null,
    roundUp: roundUp === undefined ? null : toRoundUp(roundUp),
    cashback:
      cashback === undefined
        ? null
        : { description: cashback.description, amount: money(cashback.amount) },
    amount: money(amountAt(row, now), account.currency),
    foreignAmount,
    cardPurchaseMethod: row.cardPurchase
      ? { method: 'CONTACTLESS', cardNumberSuffix: '0042' }
      : null,
    settledAt: status === 'SETTLED' ? toTime(row.settlesAt ?? row.createdAt) : null,
    createdAt: toTime(row.createdAt),
    transactionType: row.transactionType,
    note: row.note === null ? null : { text: row.note },
    performingCustomer: { displayName: row.performingCustomer ?? 'Bobby' },
    deepLinkURL: `up://transaction/${row.id}`,
  }
}

function toRoundUp({ amount, boostPortion }: NonNullable<UpRow['roundUp']>): unknown {
  return {
    amount: money(amount),
    boostPortion: boostPortion === null ? null : money(boostPortion),
  }
}

function relationshipsOf(row: UpRow, account: UpAccount, base: string): unknown {
  const self = `${base}/transactions/${row.id}/relationships`
  return {
    account: related('accounts', account.id, base),
    transferAccount: related('accounts', row.transferAccount, base),
    category: {
      ...related('categories', row.category, base),
      ...own(row, `${self}/category`, base),
    },
    parentCategory: related('categories', row.category && parentOf(row.category), base),
    tags: { data: [], links: { self: `${self}/tags` } },
    attachment: { data: null },
  }
}

function related(type: string, id: string | null, base: string) {
  if (id === null) return { data: null }
  return { data: { type, id }, links: { related: `${base}/${type}/${id}` } }
}

/** The link by which a person changes the category. */
function own({ category }: UpRow, self: string, base: string) {
  const link = category === null ? {} : { related: `${base}/categories/${category}` }
  return { links: { self, ...link } }
}
