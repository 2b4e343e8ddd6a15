/** What the Enable Banking emulator sends: shapes with explicit nulls, as real banks' answers have them. */
import { randomUUID } from 'node:crypto'
import { add, type Decimal, parseDecimal } from '#kernel/decimal.ts'
import { type BankAccount, type BankPerson, type BankRow, dayOf, isPendingAt } from './people.ts'

const id = (identification: string, scheme_name: string) => ({
  identification,
  scheme_name,
  issuer: null,
})

/** As it comes with a new session; `uid` null: it cannot be read. */
export function toAccountResource(account: BankAccount, uid: string | null) {
  const { iban, card } = account
  return {
    ...(uid === null ? {} : { uid }),
    identification_hash: account.hash,
    identification_hashes: [account.hash, ...(account.hashes ?? [])],
    account_id: iban === null ? { iban: null, other: card ? id(card, 'CPAN') : null } : { iban },
    all_account_ids: [
      ...(iban === null ? [] : [id(iban, 'IBAN')]),
      ...(card === undefined ? [] : [id(card, 'CPAN')]),
    ],
    account_servicer: null,
    name: account.holder,
    details: account.details,
    product: account.product,
    usage: 'PRIV',
    cash_account_type: account.type,
    currency: account.currency,
    credit_limit: null,
    psu_status: null,
    legal_age: null,
    postal_address: null,
  }
}

const moneyIn = ({ moneyIn, currency }: BankAccount): string => moneyIn ?? currency

export function toBalances(account: BankAccount, now: number) {
  const booked = account.rows.filter((row) => row.bookedAt <= now && !isPendingAt(row, now))
  const sum = booked.reduce(
    (total, { amount }) => add(total, parseDecimal(amount) as Decimal),
    parseDecimal(account.opening) as Decimal,
  )
  const kinds = account.balances ?? ['CLBD', 'ITAV', 'XPCD']
  return {
    balances: kinds.map((balance_type) => ({
      name: balance_type,
      balance_amount: { currency: moneyIn(account), amount: sum },
      balance_type,
      last_change_date_time: null,
      reference_date: dayOf(now),
      last_committed_transaction: null,
    })),
  }
}

/** @param place looks up its number among the rows of its day, from 1; few banks need it. */
export function toTransaction(
  { habits }: BankPerson,
  account: BankAccount,
  row: BankRow,
  { now, place }: { readonly now: number; readonly place: () => number },
) {
  const isDebit = row.amount.startsWith('-')
  const day = dayOf(row.bookedAt)
  const party = row.payee ? { name: row.payee, postal_address: null } : null
  const number = row.iban === undefined ? null : { iban: row.iban, other: null }
  return {
    entry_reference: toReference(habits.ids, row, { day, place, isToday: day === dayOf(now) }),
    merchant_category_code: row.mcc ?? null,
    transaction_amount: {
      currency: row.currency ?? moneyIn(account),
      amount: row.amountText ?? row.amount.replace('-', ''),
    },
    creditor: isDebit ? party : null,
    creditor_account: isDebit ? number : null,
    debtor: isDebit ? null : party,
    debtor_account: isDebit ? null : number,
    bank_transaction_code: {
      description: isDebit ? 'PKORTTIMAKSU' : 'PALKKA',
      code: null,
      sub_code: null,
    },
    credit_debit_indicator: isDebit ? 'DBIT' : 'CRDT',
    status: isPendingAt(row, now) ? 'PDNG' : 'BOOK',
    booking_date: isPendingAt(row, now) ? null : day,
    value_date: day,
    transaction_date: day,
    balance_after_transaction:
      row.balanceAfter === undefined
        ? null
        : { currency: moneyIn(account), amount: row.balanceAfter },
    reference_number: null,
    remittance_information: row.description === '' ? [] : row.description.split('\n'),
    exchange_rate: null,
    note: null,
    transaction_id: habits.ids === 'new' ? randomUUID() : null,
  }
}

function toReference(
  kind: BankPerson['habits']['ids'],
  row: BankRow,
  {
    day,
    place,
    isToday,
  }: { readonly day: string; readonly place: () => number; readonly isToday: boolean },
): string | null {
  switch (kind) {
    case 'kept':
      return row.id
    case 'none':
      return null
    case 'new':
      return randomUUID()
    case 'positional':
      return isToday ? null : `${day}.${place()}`
  }
}
