/**
 * Bank transactions of one connection: date rules and page caps around the banking reader. Pending ones are
 * among them where the caller asks for it (reading R39).
 */

import type { z } from 'zod'
import type { Caller } from '#auth/caller.ts'
import { apiError } from '#contract/errors.ts'
import { listTransactions } from '#contract/operations.ts'
import type { Transaction } from '#contract/resources.ts'
import { getZone } from '#kernel/time.ts'
import { toQueries } from '#providers/by-account.ts'
import type { BankingAdapter, RowsQuery, TimeWindow, TransactionPage } from '#providers/port.ts'
import { type DateParameters, readDateWindow } from './date-window.ts'
import { openPendingSource } from './pending/pending-source.ts'
import type { ReadContext, ReadOptions, ReadResult } from './read-context.ts'
import { type RowsBody, readRows } from './read-rows.ts'
import { findReadTarget, type Target } from './target.ts'

export type TransactionsQuery = z.output<typeof listTransactions.query>

const defaultDays = 30
const maxYears = 7
/** Contract, Transactions: pages read when no account is named. */
const unscopedPageCap = 50

export function makeListTransactions(options: ReadOptions) {
  return async (
    query: TransactionsQuery,
    context: ReadContext,
  ): Promise<ReadResult<RowsBody<Transaction>>> => {
    const zone = getZone(context.caller.timezone)
    const window = readTransactionsWindow(query, context.caller, options)
    const {
      connectionId,
      accountId,
      from,
      to,
      limit,
      offset,
      include,
      includePending = false,
    } = query
    const toQuery = (target: Target): RowsQuery => {
      return { ...target, window, zone, userId: context.caller.userId }
    }
    return readRows<TransactionPage>(
      { options, context },
      {
        operation: listTransactions,
        identity: [accountId, from, to, ...(includePending ? ['pending'] : [])],
        offset,
        limit,
        pageCap(target) {
          const { transactions, pending } = bankOf(options, target)
          // A list of pending rows is a page more.
          const more = includePending && typeof pending === 'function' ? 1 : 0
          if (!target.scoped) return unscopedPageCap + more
          // Contract, Limits, with the provider's own page size (reading R17).
          return Math.ceil((offset + limit) / transactions.pageSize) + 1 + more
        },
        breaker: true,
        find: () =>
          findReadTarget(options.store, context.caller, { connectionId, accountId }, 'banking'),
        toSource(target) {
          const { provider } = target
          const [adapter, asked] = [bankOf(options, target), toQuery(target)]
          if (includePending) return openPendingSource({ ...options, adapter, asked })
          return { provider, reader: adapter.transactions, queries: toQueries(adapter, asked) }
        },
        confirmEmpty: (target, accounts, call) =>
          bankOf(options, target).confirmEmpty(target.login, target.connection, call, {
            what: 'transactions',
            accounts,
            among: target.accounts,
          }),
      },
      include === 'currency' ? (row) => row : withoutCurrency,
    )
  }
}

/** The contract of version 1 has no currency of a row; callers ask for it. */
function withoutCurrency(row: Transaction): Transaction {
  if (row.currency === undefined) return row
  const { currency, ...others } = row
  return others
}

/** @throws ApiError `invalid_params` for dates that cannot be read, or reach too far. */
export const readTransactionsWindow = (
  dates: DateParameters,
  { timezone }: Pick<Caller, 'timezone'>,
  { clock }: Pick<ReadOptions, 'clock'>,
): TimeWindow =>
  readDateWindow(dates, { zone: getZone(timezone), now: clock.now(), defaultDays, maxYears })

function bankOf(options: ReadOptions, target: Target): BankingAdapter {
  const adapter = options.adapters[target.provider]
  if (adapter?.category !== 'banking') throw apiError('provider_not_configured')
  return adapter
}
