/**
 * A server's answer: connections, accounts with their rows, and what it says of errors by code
 * (docs/providers/simplefin.md, Errors). Version 1 of the protocol has organisations in place of
 * connections. Subcodes may be added, so an unknown one counts as its prefix says. Pure.
 */
import { z } from 'zod'
import { makeNumberQuoter } from '#kernel/json.ts'
import { malformed, unavailable } from './failures.ts'

const text = z.string()
const optionalText = z.string().nullish()
const seconds = z.number().int()
const id = z.string().regex(/^[^\p{Cc}]{1,200}$/u)

const Row = z.object({
  posted: seconds,
  amount: text,
  description: optionalText,
  payee: optionalText,
  memo: optionalText,
  transacted_at: seconds.nullish(),
  pending: z.boolean().nullish(),
  mcc: optionalText,
})

const Organisation = z.object({ id: optionalText, domain: optionalText, name: optionalText })

const Account = z.object({
  id,
  conn_id: id.nullish(),
  org: Organisation.nullish(),
  name: text,
  currency: text,
  balance: text,
  'available-balance': optionalText,
  'balance-date': seconds.nullish(),
  transactions: z.array(z.unknown()).nullish(),
  holdings: z.array(z.unknown()).nullish(),
})

const Connection = z.object({
  conn_id: id,
  name: optionalText,
  org_id: id.nullish(),
  org_name: optionalText,
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
export type Trouble = 'sign_in' | 'failed' | 'incomplete'

export interface AccountSet {
  readonly connections: readonly WireConnection[]
  readonly accounts: readonly WireAccount[]
  /** By connection. */
  readonly connectionTroubles: ReadonlyMap<string, Trouble>
  /** By account id, which two connections may have both. */
  readonly accountTroubles: ReadonlyMap<string, Trouble>
  /** The sign-in to the server itself failed. */
  readonly isSignedOut: boolean
  /** The server warns of too many requests: the next step is a disabled access URL. */
  readonly isWarned: boolean
  /** Codes about the whole answer, for operators. */
  readonly oddities: readonly string[]
}

const parse = makeNumberQuoter(['amount', 'balance'])

/** @throws UpstreamError `malformed`; `unavailable` for a general error without accounts. */
export function readAccountSet(body: Uint8Array): AccountSet {
  const parsed = Answer.safeParse(readJson(body))
  if (!parsed.success) throw malformed('the answer is no set of accounts')
  const { errlist, errors, connections, accounts } = parsed.data
  const told = (errlist ?? []).flatMap((one) => {
    const known = Told.safeParse(one)
    return known.success ? [known.data] : []
  })
  const general = told.map(({ code }) => code).filter((code) => code.startsWith('gen.'))
  const faults = general.filter((code) => code !== 'gen.api' && code !== 'gen.auth')
  if (faults.length > 0 && accounts.length === 0) {
    throw unavailable('the server has an error and sends no accounts')
  }
  const sentences = [...told.map(({ msg }) => msg ?? ''), ...(errors ?? []).map(String)]
  return {
    connections: (connections ?? []).map(toConnection).concat(findOrganisations(accounts)),
    accounts: accounts.map((account) => ({ ...account, conn_id: connectionOf(account) })),
    connectionTroubles: listConnectionTroubles(told),
    accountTroubles: listAccountTroubles(told),
    isSignedOut: general.includes('gen.auth'),
    isWarned: sentences.some((sentence) => /too many requests/i.test(sentence)),
    oddities: [...new Set(general.filter((code) => code !== 'gen.auth'))],
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
  const known = conn_id ?? org?.id ?? org?.domain ?? org?.name
  if (known === undefined || known === null || known === '') {
    throw malformed('an account names neither a connection nor an organisation')
  }
  return known
}

function findOrganisations(accounts: readonly z.output<typeof Account>[]): WireConnection[] {
  const found = new Map<string, WireConnection>()
  for (const account of accounts) {
    if (account.conn_id) continue
    const conn_id = connectionOf(account)
    found.set(conn_id, { conn_id, org_id: conn_id, name: account.org?.name || conn_id })
  }
  return [...found.values()]
}

type ToldError = z.output<typeof Told>

function listConnectionTroubles(told: readonly ToldError[]): ReadonlyMap<string, Trouble> {
  return new Map(
    told.flatMap(({ code, conn_id }): [string, Trouble][] =>
      conn_id && !code.startsWith('act.')
        ? [[conn_id, code === 'con.auth' ? 'sign_in' : 'failed']]
        : [],
    ),
  )
}

function listAccountTroubles(told: readonly ToldError[]): ReadonlyMap<string, Trouble> {
  return new Map(
    told.flatMap(({ code, account_id }): [string, Trouble][] =>
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
