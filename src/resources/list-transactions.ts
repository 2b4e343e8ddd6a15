/** Posted bank transactions of one connection: date rules and page caps around the banking reader. */

import type { z } from 'zod'
import { apiError } from '#contract/errors.ts'
import { listTransactions } from '#contract/operations.ts'
import type { Transaction } from '#contract/resources.ts'
import { getZone } from '#kernel/time.ts'
import { toQueries } from '#providers/by-account.ts'
import type { BankingAdapter, TransactionPage } from '#providers/port.ts'
import { readDateWindow } from './date-window.ts'
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
    const window = readDateWindow(query, { zone, now: options.clock.now(), defaultDays, maxYears })
    const { connectionId, accountId, from, to, limit, offset } = query
    return readRows<TransactionPage>(
      { options, context },
      {
        operation: listTransactions,
        identity: [accountId, from, to],
        offset,
        limit,
        // Contract, Limits, with the provider's own page size (reading R17).
        pageCap: (target) =>
          target.scoped
            ? Math.ceil((offset + limit) / bankOf(options, target).transactions.pageSize) + 1
            : unscopedPageCap,
        breaker: true,
        find: () =>
          findReadTarget(options.store, context.caller, { connectionId, accountId }, 'banking'),
        toSource: (target) => ({
          provider: target.provider,
          reader: bankOf(options, target).transactions,
          queries: toQueries(bankOf(options, target), {
            ...target,
            window,
            zone,
            userId: context.caller.userId,
          }),
        }),
        confirmEmpty: (target, call) =>
          bankOf(options, target).confirmEmpty(target.login, target.connection, call),
      },
      (row) => row,
    )
  }
}

function bankOf(options: ReadOptions, target: Target): BankingAdapter {
  const adapter = options.adapters[target.provider]
  if (adapter?.category !== 'banking') throw apiError('provider_not_configured')
  return adapter
}
