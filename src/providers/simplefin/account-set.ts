/**
 * A server's answer: connections, accounts with their rows, and what it says of errors by code
 * (docs/providers/simplefin.md, Errors). Version 1 of the protocol has organisations in place of
 * connections. Subcodes may be added, so an unknown one counts as its prefix says. Pure.
 */
import { z } from 'zod'
import { makeNumberQuoter } from '#kernel/json.ts'
import { cutText, longestName, longestRowText } from '../shown-text.ts'
import { malformed, unavailable } from './failures.ts'

/**
 * What one answer may have: whatever a server sends, reading it must not keep others waiting
 * (docs/providers/simplefin.md, Limits).
 */
const most = {
  connections: 200,
  accounts: 2000,
  errors: 10_000,
  rows: 50_000,
  rowsOfAccount: 20_000,
}
/** The last day that has four digits of a year in every zone. */
const latestSeconds = 253_402_214_399
/** A name is masked before it is cut to the length that is shown. */
const longestRead = 5 * longestName

const text = z.string()
const optionalText = z.string().nullish()
const name = text.transform((told) => cutText(told, longestRead))
const rowText = text.transform((told) => cutText(told, longestRowText)).nullish()
const seconds = z.number().int()
const rowSeconds = seconds.min(0).max(latestSeconds)
const id = z.string().regex(/^[^\p{Cc}\p{Cs}]{1,200}$/u)

const Row = z.object({
  posted: rowSeconds,
  amount: text,
  description: rowText,
  payee: rowText,
  memo: rowText,
  transacted_at: rowSeconds.nullish(),
  pending: z.boolean().nullish(),
  mcc: rowText,
})

const Organisation = z.object({ id: optionalText, domain: optionalText, name: optionalText })

const Account = z.object({
  id,
  conn_id: id.nullish(),
  org: Organisation.nullish(),
  name,
  // A currency of its own is named by an address. Rows are known by it, so it is not cut to what is shown.
  currency: name,
  balance: text,
  'available-balance': optionalText,
  'balance-date': seconds.nullish(),
  transactions: z.array(z.unknown()).nullish(),
  holdings: z.array(z.unknown()).nullish(),
})

const Connection = z.object({
  conn_id: id,
  name: name.nullish(),
  org_id: id.nullish(),
  org_name: name.nullish(),
})

const Told = z.object({
  code: text,
  msg: optionalText,
  conn_id: optionalText,
  account_id: optionalText,
})

const Answer = z.object({
  errlist: z.array(Told.or(z.unknown())).nullish(),
  errors: z.array(z.unknown()).nullish(),
  connections: z.array(Connection).nullish(),
  accounts: z.array(Account),
})

export type WireRow = z.output<typeof Row>
export type WireAccount = Omit<z.output<typeof Account>, 'conn_id'> & { readonly conn_id: string }

export interface WireConnection {
  readonly conn_id: string
  readonly org_id: string
  readonly name: string
}

/** What keeps a connection or an account from being read. */
export type Obstacle = 'sign_in' | 'failed' | 'incomplete'

export interface AccountSet {
  readonly connections: readonly WireConnection[]
  readonly accounts: readonly WireAccount[]
  readonly accountsByConnection: ReadonlyMap<string, readonly WireAccount[]>
  /** Null: the answer has no such account. */
  find(connectionId: string, accountId: string): WireAccount | null
  /** By connection. */
  readonly connectionObstacles: ReadonlyMap<string, Obstacle>
  /** By account id, which two connections may have both. */
  readonly accountObstacles: ReadonlyMap<string, Obstacle>
  /** The sign-in to the server itself failed. */
  readonly isSignedOut: boolean
  /** The server warns of too many requests: the next step is a disabled access URL. */
  readonly isWarned: boolean
  /** Codes about the whole answer, for operators. */
  readonly oddities: readonly string[]
}

const parse = makeNumberQuoter(['amount', 'balance', 'available-balance'])

/** @throws UpstreamError `malformed`; `unavailable` for a general error without accounts. */
export function readAccountSet(body: Uint8Array): AccountSet {
  const read = readJson(body)
  demandBounds(read)
  const parsed = Answer.safeParse(read)
  if (!parsed.success) throw malformed('the answer is no set of accounts')
  const { errlist, errors, connections } = parsed.data
  const named = (connections ?? []).map(toConnection)
  const organisations = findOrganisations(parsed.data.accounts)
  const accounts = parsed.data.accounts.map((account) => {
    return { ...account, conn_id: connectionOf(account) }
  })
  const told = (errlist ?? []).flatMap((one) => {
    const known = Told.safeParse(one)
    return known.success ? [known.data] : []
  })
  const general = told.map(({ code }) => code).filter((code) => code.startsWith('gen.'))
  const faults = general.filter((code) => code !== 'gen.api' && code !== 'gen.auth')
  if (faults.length > 0 && accounts.length === 0) {
    throw unavailable('the server has an error and sends no accounts')
  }
  const sentences = [...told.map(({ msg }) => msg), ...(errors ?? [])]
  return {
    ...arrange(accounts, [...named, ...organisations]),
    connectionObstacles: listConnectionObstacles(told),
    accountObstacles: listAccountObstacles(told),
    isSignedOut: general.includes('gen.auth'),
    isWarned: sentences.some((one) => typeof one === 'string' && /too many requests/i.test(one)),
    oddities: [...new Set(general.filter((code) => code !== 'gen.auth'))],
  }
}

/** Before anything is made of what was read. @throws UpstreamError `malformed`. */
function demandBounds(read: unknown): void {
  const [connections, errlist, errors] = ['connections', 'errlist', 'errors'].map(
    (key) => listIn(read, key).length,
  ) as [number, number, number]
  const accounts = listIn(read, 'accounts')
  demandAtMost(connections, most.connections, 'connections')
  demandAtMost(accounts.length, most.accounts, 'accounts')
  demandAtMost(errlist + errors, most.errors, 'errors')
  const rows = accounts.map((account) => listIn(account, 'transactions').length)
  demandAtMost(Math.max(0, ...rows), most.rowsOfAccount, 'transactions of one account')
  const all = rows.reduce((sum, count) => sum + count, 0)
  demandAtMost(all, most.rows, 'transactions')
}

function listIn(read: unknown, key: string): readonly unknown[] {
  if (typeof read !== 'object' || read === null || !Object.hasOwn(read, key)) return []
  const found: unknown = Reflect.get(read, key)
  return Array.isArray(found) ? found : []
}

function demandAtMost(count: number, limit: number, what: string): void {
  if (count <= limit) return
  throw malformed(`the answer has ${count} ${what}; at most ${limit} are read`)
}

/** Accounts by their connection: a look-up for each of thousands must not walk through all. */
function arrange(
  accounts: readonly WireAccount[],
  connections: readonly WireConnection[],
): Pick<AccountSet, 'connections' | 'accounts' | 'accountsByConnection' | 'find'> {
  demandAtMost(connections.length, most.connections, 'connections')
  // Ids have no line ends. The first of two equal ones is found.
  const toKey = (connectionId: string, accountId: string) => `${connectionId}\n${accountId}`
  const byKey = new Map(accounts.toReversed().map((one) => [toKey(one.conn_id, one.id), one]))
  return {
    connections,
    accounts,
    accountsByConnection: Map.groupBy(accounts, ({ conn_id }) => conn_id),
    find: (connectionId: string, accountId: string) =>
      byKey.get(toKey(connectionId, accountId)) ?? null,
  }
}

function readJson(body: Uint8Array): unknown {
  try {
    return parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'))
  } catch (cause) {
    throw malformed('the answer is not JSON', cause)
  }
}

const toConnection = ({ conn_id, org_id, org_name, name }: z.output<typeof Connection>) => {
  return { conn_id, org_id: org_id ?? conn_id, name: org_name || name || conn_id }
}

/** Version 1: the organisation is the connection. */
function connectionOf({ conn_id, org }: z.output<typeof Account>): string {
  const known = conn_id || org?.id || org?.domain || org?.name
  if (!known) throw malformed('an account names neither a connection nor an organisation')
  if (!id.safeParse(known).success) throw malformed('the name of an organisation is no id')
  return known
}

function findOrganisations(accounts: readonly z.output<typeof Account>[]): WireConnection[] {
  const found = new Map<string, WireConnection>()
  for (const account of accounts) {
    if (account.conn_id) continue
    const conn_id = connectionOf(account)
    const name = cutText(account.org?.name || conn_id, longestRead)
    found.set(conn_id, { conn_id, org_id: conn_id, name })
  }
  return [...found.values()]
}

type ToldError = z.output<typeof Told>

function listConnectionObstacles(told: readonly ToldError[]): ReadonlyMap<string, Obstacle> {
  return new Map(
    told.flatMap(({ code, conn_id }): [string, Obstacle][] =>
      conn_id && !code.startsWith('act.')
        ? [[conn_id, code === 'con.auth' ? 'sign_in' : 'failed']]
        : [],
    ),
  )
}

function listAccountObstacles(told: readonly ToldError[]): ReadonlyMap<string, Obstacle> {
  return new Map(
    told.flatMap(({ code, account_id }): [string, Obstacle][] =>
      account_id && code.startsWith('act.')
        ? [[account_id, code === 'act.missingdata' ? 'incomplete' : 'failed']]
        : [],
    ),
  )
}

/** The rows of an account. @throws UpstreamError `malformed` for one that cannot be read (reading R23). */
export function readRows({ transactions }: WireAccount): readonly WireRow[] {
  return (transactions ?? []).map((row) => {
    const parsed = Row.safeParse(row)
    if (!parsed.success) throw malformed('a transaction cannot be read')
    return parsed.data
  })
}

/** A row that has not settled: marked so, or without a day (docs/providers/simplefin.md, Transactions). */
export const isPending = ({ pending, posted }: WireRow): boolean => pending === true || posted === 0
