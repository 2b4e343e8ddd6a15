/** The JSON of the SimpleFIN emulator: account sets of both versions, as the protocol writes them. */
import { add, type Decimal, parseDecimal, zero } from '#kernel/decimal.ts'
import { addDays } from '#kernel/time.ts'
import {
  dayOf,
  isPendingAt,
  noonOf,
  type SimplefinAccount,
  type SimplefinConnection,
  type SimplefinPerson,
  type SimplefinRow,
  toId,
} from './people.ts'

export interface Window {
  /** Milliseconds since the epoch. */
  readonly start: number
  /** Exclusive; null: none. */
  readonly end: number | null
}

export interface SetOptions {
  readonly version: 1 | 2
  /** Null: balances alone. */
  readonly window: Window | null
  readonly hasPending: boolean
  /** Empty: all accounts. */
  readonly accounts: readonly string[]
  readonly baseUrl: string
  readonly now: number
  /** Sentences about the request itself: `gen.api`. */
  readonly warnings: readonly string[]
  /** Sentences that only the old list has. */
  readonly oldWarnings: readonly string[]
}

type Row = { readonly id: string } & Readonly<Record<string, unknown>>

const seconds = (ms: number): number => Math.floor(ms / 1000)

export function toAccountSet(person: SimplefinPerson, options: SetOptions): object {
  const { version, warnings, oldWarnings } = options
  if (person.readings !== undefined) person.readings += 1
  const connections = person.connections.filter(({ isGone }) => isGone !== true)
  const accounts = connections.flatMap((connection) =>
    connection.accounts
      .filter(({ id }) => options.accounts.length === 0 || options.accounts.includes(id))
      .map((account) => toAccount(account, { connection, options, reading: person.readings })),
  )
  const errlist = [
    ...warnings.map((msg) => ({ code: 'gen.api', msg })),
    ...(person.trouble === undefined ? [] : [{ code: person.trouble, msg: 'A general error' }]),
    ...connections.flatMap(({ connId, orgName, trouble }) =>
      trouble === undefined
        ? []
        : [{ code: trouble, msg: `Connection to ${orgName} may need attention`, conn_id: connId }],
    ),
    ...connections.flatMap((connection) =>
      connection.accounts.flatMap(({ id, trouble }) =>
        trouble === undefined
          ? []
          : [{ code: trouble, msg: 'The account could not be read', account_id: id }],
      ),
    ),
  ]
  const errors = [...errlist.map(({ msg }) => msg), ...oldWarnings]
  if (version === 1) return { errors, accounts }
  return {
    errlist,
    errors,
    connections: connections.map(({ connId, orgId, orgName, name }) => ({
      conn_id: connId,
      name,
      org_id: orgId,
      org_name: orgName,
      org_url: 'https://bank.example',
      sfin_url: options.baseUrl,
    })),
    accounts,
  }
}

function toAccount(
  account: SimplefinAccount,
  given: {
    readonly connection: SimplefinConnection
    readonly options: SetOptions
    readonly reading: number | undefined
  },
): object {
  const { connection, options, reading } = given
  const rows = (window: Window) => listRows(account, window, options)
  const { version, window, now, baseUrl } = options
  const organisation = {
    org: { id: connection.orgId, name: connection.orgName, 'sfin-url': baseUrl },
  }
  return {
    id: account.id,
    ...(version === 1 ? organisation : { conn_id: connection.connId }),
    name: account.name,
    currency: account.currency,
    balance: account.balanceText ?? balanceOf(account, now),
    ...(account.available === undefined ? {} : { 'available-balance': account.available }),
    'balance-date': seconds(account.balanceAt ?? lastNoon(now)),
    ...(window === null ? {} : { transactions: rows(window).map((row) => reissue(row, reading)) }),
    holdings: account.holdings ?? [],
  }
}

/** Banks are read about once a day. */
function lastNoon(now: number): number {
  const today = noonOf(dayOf(now))
  return today <= now ? today : noonOf(addDays(dayOf(now), -1))
}

/** Opening plus every row that has settled. */
function balanceOf({ opening, rows }: SimplefinAccount, now: number): string {
  const settled = rows.filter((row) => row.postedAt <= now && !isPendingAt(row, now))
  return settled.reduce((sum, { amount }) => add(sum, toDecimal(amount)), toDecimal(opening))
}

/** An amount that was made unreadable counts as zero. */
const toDecimal = (text: string): Decimal => parseDecimal(text) ?? zero

function listRows(
  { rows }: SimplefinAccount,
  { start, end }: Window,
  { now, hasPending }: SetOptions,
): readonly Row[] {
  return rows
    .filter((row) => {
      if (row.postedAt > now && row.settlesAt === undefined) return false
      if (isPendingAt(row, now)) return hasPending && now >= (row.seenAt ?? 0)
      return row.postedAt >= start && (end === null || row.postedAt < end)
    })
    .toSorted((one, other) => one.postedAt - other.postedAt)
    .map((row) => toRow(row, now))
}

/** The same row under an id that no earlier reading had. */
const reissue = (row: Row, reading: number | undefined): Row =>
  reading === undefined ? row : { ...row, id: toId('TRN', `${row.id} ${reading}`) }

function toRow(row: SimplefinRow, now: number): Row {
  const isPending = isPendingAt(row, now)
  const isZero = isPending && row.pendingForm === 'zero'
  return {
    id: isPending ? `${row.id}-pending` : row.id,
    posted: isZero ? 0 : seconds(row.postedAt),
    amount: row.amount,
    description: row.description,
    ...(row.payee === undefined ? {} : { payee: row.payee }),
    ...(row.memo === undefined ? {} : { memo: row.memo }),
    ...(row.transactedAt === undefined ? {} : { transacted_at: seconds(row.transactedAt) }),
    ...(isPending && !isZero ? { pending: true } : {}),
    ...(row.mcc === undefined ? {} : { mcc: row.mcc }),
  }
}
