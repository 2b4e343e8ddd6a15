/**
 * Reads what `/simplefin/accounts` shows, by the operations of REST: the same gate, cache entries, breakers
 * and plan rules. What cannot be read is a problem of its connection or account, and never fails the others.
 */
import type { Caller } from '#auth/caller.ts'
import { ApiError } from '#contract/errors.ts'
import type { Operation } from '#contract/operations.ts'
import * as operations from '#contract/operations.ts'
import type { Account, Balance, Connection, Holding, Pagination } from '#contract/resources.ts'
import { type Answer, type Gate, GateError } from '#gate/gate.ts'
import type { Decimal } from '#kernel/decimal.ts'
import { findFailure } from '#providers/failure.ts'
import { hasLeft, readHoldingsByAccount } from '#resources/holdings-by-account.ts'
import { sumHoldings } from '#resources/sum-holdings.ts'
import { ClientDisconnected } from '../client.ts'
import { toApiError } from '../refusal.ts'
import type { Problem } from './problems.ts'
import { type Currencies, type DayText, parseAnswer, type RowTexts } from './row-texts.ts'
import type { DaysToRead } from './rows-window.ts'

export interface ReadAccountsOptions {
  readonly gate: Pick<Gate, 'answerAgain'>
  /** The ids of connections that are not active, as they are now: a read may have found that out. */
  readonly listLost: () => Promise<ReadonlySet<string>>
  /** The ids of a connection's accounts, as they are now. */
  readonly listKnown: (connectionId: Connection['id']) => Promise<readonly string[]>
  readonly toRowTexts: (answer: Answer, currencies: Currencies) => RowTexts
  readonly caller: Caller
  /** Null: every connection. */
  readonly connections: ReadonlySet<string> | null
  readonly accounts: ReadonlySet<string> | null
  /** Null: no rows are read. */
  readonly days: DaysToRead | null
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal
  /** Aborted when the time for the whole answer is over: what was read until then is the answer. */
  readonly late: AbortSignal
}

export interface AccountReading {
  readonly account: Account
  readonly connection: Connection
  readonly balance: Pick<Balance, 'availableBalance'> & { readonly currentBalance: Decimal }
  readonly rows: readonly DayText[]
  readonly holdings: readonly { readonly holding: Holding; readonly value: Decimal }[]
}

export interface AccountsReading {
  readonly connections: readonly Connection[]
  /** Every account that the program may see, whether or not it was asked for and could be read. */
  readonly accounts: readonly Account[]
  readonly readings: readonly AccountReading[]
  /** `name` of an institution is filled in by the door. */
  readonly problems: readonly RawProblem[]
  /** `MISS` where one of the operations had to ask a provider. */
  readonly cache: 'HIT' | 'MISS'
}

export type RawProblem =
  | { readonly kind: 'reconnect' | 'unavailable'; readonly connectionId: string }
  | {
      readonly kind: 'account' | 'incomplete' | 'absent'
      readonly account: Account
      readonly what: string
    }
  | Extract<Problem, { kind: 'note' | 'unknown' | 'removed' }>

/** Rows of one account in one answer. */
const maxRows = 20_000
const windowLimit = 500
const pageLimit = 200
const maxAccountPages = 50
const noBalance =
  'no balance of it could be read, and budget programs require one; ' +
  'where its institution never tells one, download its transactions in Tributary instead'
/** As many accounts of different connections are read at once. */
const atOnce = 2

/** `read`: what is made of the answer; without it, its JSON is parsed. */
type Ask = <Body>(
  operation: Operation,
  query: Readonly<Record<string, string | null>>,
  read?: (answer: Answer) => Body,
) => Promise<Body>

/** @throws ApiError where the caller's plan has no access, or the store is away. */
export async function readAccounts(options: ReadAccountsOptions): Promise<AccountsReading> {
  let cache: AccountsReading['cache'] = 'HIT'
  const ask = makeAsk(options, () => {
    cache = 'MISS'
  })
  const connections = (await listConnections(ask)).filter(
    ({ id }) => options.connections?.has(id) ?? true,
  )
  const byId = new Map(connections.map((connection) => [connection.id, connection]))
  const accounts = (await listAccounts(ask)).filter(({ connectionId }) => byId.has(connectionId))
  const accountsOf = Map.groupBy(accounts, ({ connectionId }) => connectionId)
  const known = new Set<string>(accounts.map(({ id }) => id))
  const problems: RawProblem[] = []
  const groups = connections.flatMap((connection) => {
    const all = accountsOf.get(connection.id) ?? []
    const own = all.filter(({ id }) => options.accounts?.has(id) ?? true)
    return own.length === 0 ? [] : [{ connection, all, own }]
  })
  const readings: AccountReading[][] = groups.map(() => [])
  let next = 0
  const work = async () => {
    for (;;) {
      const index = next
      next += 1
      const group = groups[index]
      if (group === undefined) return
      const reading = { ...options, ask, problems, ...group }
      readings[index] = await (group.connection.category === 'banking'
        ? readBank(reading)
        : readBroker(reading))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  const lost = await options.listLost()
  // With a filter the others are none of this answer's business.
  const shown = options.accounts === null ? connections : groups.map(({ connection }) => connection)
  return {
    connections,
    accounts,
    readings: readings.flat(),
    problems: [
      ...(options.connections !== null && connections.length === 0
        ? [{ kind: 'removed' } as const]
        : []),
      ...[...(options.accounts ?? [])]
        .filter((id) => !known.has(id))
        .map((accountId) => ({ kind: 'unknown', accountId }) as const),
      ...shown
        .filter(({ id }) => lost.has(id))
        .map(({ id }) => ({ kind: 'reconnect', connectionId: id }) as const),
      ...dedupe(problems.filter((problem) => !isExplained(problem, lost))),
    ],
    cache,
  }
}

/** The connection's own problem says it already. */
const isExplained = (problem: RawProblem, lost: ReadonlySet<string>) =>
  (problem.kind === 'unavailable' && lost.has(problem.connectionId)) ||
  (problem.kind === 'account' && lost.has(problem.account.connectionId))

function dedupe(problems: readonly RawProblem[]): readonly RawProblem[] {
  const seen = new Set<string>()
  return problems.filter((problem) => {
    const name = JSON.stringify(problem)
    const isNew = !seen.has(name)
    seen.add(name)
    return isNew
  })
}

interface Group extends ReadAccountsOptions {
  readonly ask: Ask
  readonly connection: Connection
  readonly all: readonly Account[]
  /** Those that are asked for. */
  readonly own: readonly Account[]
  readonly problems: RawProblem[]
}

async function readBank(group: Group): Promise<AccountReading[]> {
  const { connection, own, days, problems } = group
  const balances = await listBalances(group)
  const readings: AccountReading[] = []
  for (const account of own) {
    const balance = balances.get(account.id)
    const { currentBalance = null, availableBalance = null } = balance ?? {}
    if (currentBalance === null) {
      // A balance that could not be read and one that the institution never tells are alike here.
      problems.push({ kind: 'account', account, what: noBalance })
      continue
    }
    // The account's own may have been taken for granted until a balance was read.
    const shown = balance?.currency ?? account.currency
    const rows = days === null ? [] : await readRows(group, { account, days, shown })
    readings.push({
      account: { ...account, currency: shown },
      connection,
      balance: { currentBalance, availableBalance },
      rows,
      holdings: [],
    })
  }
  return readings
}

async function listBalances(group: Group): Promise<ReadonlyMap<string, Balance>> {
  const { ask, all } = group
  // Always all accounts of the connection, in one order: every poll is the same, and one answer serves them.
  const ids = all.map(({ id }) => id).toSorted()
  const balances = new Map<string, Balance>()
  for (let from = 0; from < ids.length; from += 100) {
    const accountIds = ids.slice(from, from + 100).join(',')
    const found = await attempt(group, () =>
      ask<{ data: Balance[] }>(operations.listBalances, { accountIds }),
    )
    for (const balance of found?.data ?? []) balances.set(balance.accountId, balance)
  }
  return balances
}

interface RowsToRead {
  readonly account: Account
  readonly days: DaysToRead
  /** The currency that the account is shown in. */
  readonly shown: string
}

/** Every window of the account, as far as time and bounds allow. */
async function readRows(
  group: Group,
  { account, days, shown }: RowsToRead,
): Promise<readonly DayText[]> {
  const rows: DayText[] = []
  let count = 0
  const query = {
    connectionId: account.connectionId,
    accountId: account.id,
    from: days.from,
    to: days.to,
    include: 'currency',
  }
  const cut = (what: string) => group.problems.push({ kind: 'incomplete', account, what })
  for (let offset = 0, empty = 0; ; ) {
    if (group.late.aborted) cut('the time for one answer was over')
    if (count >= maxRows) cut(`it has more than ${maxRows} rows, so ask for a shorter time`)
    if (group.late.aborted || count >= maxRows) return rows
    const asked = { ...query, limit: `${windowLimit}`, offset: `${offset}` }
    const found = await attempt(group, () =>
      group.ask(operations.listTransactions, asked, (answer) =>
        group.toRowTexts(answer, { stored: account.currency, shown }),
      ),
    )
    if (found === null) {
      cut('its transactions cannot be read at the moment')
      return rows
    }
    const { pagination } = found
    rows.push(...found.days)
    for (const currency of found.leftOut) {
      cut(`its transactions in ${currency} are left out, because it is in ${shown}`)
    }
    count += found.rows
    if (!pagination.hasMore) return rows
    offset = pagination.offset + pagination.limit
    empty = found.rows === 0 ? empty + 1 : 0
    if (empty > maxEmptyWindows) {
      cut('the provider lists too many rows of other accounts before them')
      return rows
    }
  }
}

const maxEmptyWindows = 20

async function readBroker(group: Group): Promise<AccountReading[]> {
  const { ask, connection, own, problems } = group
  const ids = own.map(({ id }) => id)
  const source = {
    async ask(accountId: string | null) {
      const query = { connectionId: connection.id, accountId }
      return (await ask<{ data: Holding[] }>(operations.listHoldings, query)).data
    },
    listKnown: () => group.listKnown(connection.id),
  }
  const found = await attempt(group, () => readHoldingsByAccount(ids, source))
  if (found === null) return []
  return own.flatMap((account): AccountReading[] => {
    const read = found.get(account.id)
    if (read === undefined || read.kind === 'failed') {
      problems.push(toAccountProblem(account, read?.error))
      return []
    }
    const { holdings } = read
    const currentBalance = sumHoldings(holdings, account.currency)
    if (currentBalance === null) {
      const isForeign = holdings.some(({ currency }) => currency !== account.currency)
      const what = isForeign
        ? 'a position is in another currency than the account'
        : 'the value of a position is not known'
      problems.push({ kind: 'absent', account, what })
      return []
    }
    const valued = holdings.flatMap((holding) =>
      holding.marketValue === null ? [] : [{ holding, value: holding.marketValue }],
    )
    return [
      {
        account,
        connection,
        balance: { currentBalance, availableBalance: null },
        rows: [],
        holdings: valued,
      },
    ]
  })
}

/** What is not ready is read later, and what has another id under that one; what is refused is not. */
function toAccountProblem(account: Account, error: unknown): RawProblem {
  return findFailure(error)?.kind === 'preparing' || hasLeft(error)
    ? { kind: 'account', account, what: 'it cannot be read at the moment' }
    : { kind: 'absent', account, what: 'the provider does not give its positions' }
}

/** Null: it failed, and the problem is noted. Plans without brokerage do not see those accounts at all. */
async function attempt<Found>(
  { problems, late, connection: { id } }: Group,
  read: () => Promise<Found>,
): Promise<Found | null> {
  try {
    return await read()
  } catch (error) {
    const cause = error instanceof GateError ? error.cause : error
    if (cause instanceof ClientDisconnected) throw cause
    const { status, code } = cause instanceof ApiError ? cause : toApiError(cause)
    if (!late.aborted && code === 'professional_required') return null
    if (!late.aborted && status === 500) throw error
    problems.push({ kind: 'unavailable', connectionId: id })
    return null
  }
}

async function listConnections(ask: Ask): Promise<readonly Connection[]> {
  return (await ask<{ data: Connection[] }>(operations.listConnections, {})).data
}

async function listAccounts(ask: Ask): Promise<readonly Account[]> {
  const accounts: Account[] = []
  for (let page = 0; page < maxAccountPages; page += 1) {
    const query = { limit: `${pageLimit}`, offset: `${page * pageLimit}` }
    const { data, pagination } = await ask<{ data: Account[]; pagination: Pagination }>(
      operations.listAccounts,
      query,
    )
    accounts.push(...data)
    if (!pagination.hasMore) break
  }
  return accounts
}

function makeAsk({ gate, caller, signal, late }: ReadAccountsOptions, onMiss: () => void): Ask {
  const either = AbortSignal.any([signal, late])
  return async (operation, query, read = ({ body }) => parseAnswer(body)) => {
    const given = Object.entries(query).filter(
      (entry): entry is [string, string] => entry[1] !== null,
    )
    const answer = await gate.answerAgain({
      caller,
      operation,
      rawQuery: `${new URLSearchParams(given)}`,
      refusal: null,
      disconnectSignal: () => either,
    })
    if (answer.cache === 'MISS') onMiss()
    return read(answer)
  }
}
