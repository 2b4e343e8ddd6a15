/**
 * The Fiskil adapter (Australia, Consumer Data Right): the banking port over Fiskil's Data API. A login is an end user,
 * a connection one of its consents. Read-only but for ending a consent; habits of the provider stand in quirks.md.
 */
import type { Balance, Transaction } from '#contract/resources.ts'
import { microsPerMs, toIso } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type {
  AccountRef,
  BalanceQuery,
  BankingAdapter,
  CallContext,
  PageCursor,
  RowPage,
  RowsQuery,
} from '../port.ts'
import { type FiskilOptions, makeFiskilClient } from './client.ts'
import {
  accountKey,
  type ConsentDeps,
  confirmConsent,
  discoverConnections,
  listBalanceRows,
  refuseLostConsent,
} from './consents.ts'
import { pageSize } from './lists.ts'
import { toBalance } from './map.ts'
import { isUnknownAddress, rejected } from './refusal.ts'
import { openTransactionPage } from './transaction-page.ts'

export type { FiskilOptions } from './client.ts'

/** Makes the adapter and opens its connection pool; `close` shuts it. */
export function makeFiskil(options: FiskilOptions): BankingAdapter {
  const client = makeFiskilClient(options)
  const deps: ConsentDeps = { client, clock: options.clock, report: options.report }
  const odd = (what: string) => options.report.oddity({ provider: 'fiskil', what })

  const open = (
    query: RowsQuery,
    cursor: PageCursor | null,
    body: Uint8Array,
  ): RowPage<Transaction> => openTransactionPage({ query, cursor, body, base: client.base, odd })

  return {
    provider: 'fiskil',
    category: 'banking',

    async identify(credentials, call) {
      if (credentials.provider !== 'fiskil') {
        throw rejected(400, `these are credentials of ${credentials.provider}`)
      }
      try {
        await client.one('GET', '/v1/end-users', credentials.endUserId, call)
      } catch (error) {
        // Where this path is not to be had, the list of their consents will tell.
        if (!isUnknownAddress(error)) throw error
      }
      // The end user id is no secret: it opens nothing without our client credentials.
      return { upstreamUserId: credentials.endUserId, secret: null }
    },

    discover: (login, call) => discoverConnections(deps, login, call),

    async revoke(_login, connection, _options, call) {
      // The end user stays even after the last consent: it may hold consents that we never adopted, and it is the
      // one that a new link must use again. 204 comes for an unknown consent too, so this may be repeated.
      try {
        await client.one('DELETE', '/v1/consent', connection.upstreamId, call)
      } catch (error) {
        if (!isRefused(error, [404])) throw error
      }
    },

    confirmEmpty: (login, connection, call) => confirmConsent(deps, { login, connection }, call),

    async balances(query, call) {
      const rows = await listBalanceRows(client, query.login, call)
      const balances = pickBalances(rows, query)
      if (balances.some((balance) => balance.currency === null)) odd('unreadable balance')
      return balances
    },

    transactions: {
      pageSize,
      open,
      async read(query, cursor, call) {
        try {
          const body = await client.get(
            '/v1/banking/transactions',
            toTransactionsQuery(query, cursor),
            call,
          )
          return open(query, cursor, body)
        } catch (error) {
          if (isRefused(error, [403, 404])) await explainRefusal(deps, query, call)
          throw error
        }
      },
    },

    probe: (call) => client.probe(call),
    close: () => client.close(),
  }
}

/**
 * A read that was forbidden, or whose end user is unknown, may have lost its consent: then that is what is thrown
 * (reading R20). Otherwise, and when nobody can tell, the refusal itself stands.
 */
async function explainRefusal(
  deps: ConsentDeps,
  query: RowsQuery,
  call: CallContext,
): Promise<void> {
  try {
    await refuseLostConsent(deps, query, call)
  } catch (error) {
    const isLost = error instanceof UpstreamError && error.failure.kind === 'consent_lost'
    if (isLost || call.signal.aborted) throw error
    deps.report.oddity({ provider: 'fiskil', what: 'consent unknown after a refusal' })
  }
}

function isRefused(error: unknown, statuses: readonly number[]): boolean {
  return (
    error instanceof UpstreamError &&
    error.failure.kind === 'rejected' &&
    statuses.includes(error.failure.status)
  )
}

/** Rows are matched by consent and account; they keep the provider's order. */
function pickBalances(
  rows: readonly Readonly<Record<string, unknown>>[],
  query: BalanceQuery,
): readonly Balance[] {
  const wanted = new Map<string, AccountRef>()
  for (const { account, connection } of query.accounts) {
    const ids = { arrangement_id: connection.upstreamId, account_id: account.upstreamId }
    wanted.set(accountKey(ids), account)
  }
  const balances: Balance[] = []
  for (const row of rows) {
    const { arrangement_id, account_id } = row
    if (typeof arrangement_id !== 'string' || typeof account_id !== 'string') continue
    const key = accountKey({ arrangement_id, account_id })
    const account = wanted.get(key)
    if (account === undefined) continue
    balances.push(toBalance(row, account))
    // A row that is sent twice answers once.
    wanted.delete(key)
  }
  return balances
}

/** The last instant that RFC 3339 can write. */
const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const slackMs = 1000

/**
 * Bounds are date-times with `Z` (a bare day is 400) and a second wider than the window on each side: whether the
 * provider's own bounds are inclusive is not documented, and the walk filters again.
 */
function toTransactionsQuery(query: RowsQuery, cursor: PageCursor | null): Record<string, string> {
  const sent: Record<string, string> = {
    end_user_id: query.login.upstreamUserId,
    status: 'POSTED',
    'page[size]': String(pageSize),
  }
  const account = query.scoped ? query.accounts[0] : undefined
  if (account !== undefined) sent.account_id = account.upstreamId
  const { from, to } = query.window
  if (from !== null) sent.from = toStamp(Math.floor(from / microsPerMs) - slackMs)
  if (to !== null) sent.to = toStamp(Math.ceil(to / microsPerMs) + slackMs)
  if (cursor !== null) sent['page[after]'] = cursor
  return sent
}

function toStamp(ms: number): string {
  return toIso(Math.min(Math.max(ms, 0), lastMs))
}
