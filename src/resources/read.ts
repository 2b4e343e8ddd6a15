/** Maps an operation's name to its resource: the only place where the doors meet the reads. */

import type { z } from 'zod'
import { apiError } from '#contract/errors.ts'
import {
  listAccounts,
  listBalances,
  listCategories,
  listConnections,
  listHoldings,
  listTrades,
  listTransactions,
  type ReadName,
  summarizeTransactions,
} from '#contract/operations.ts'
import { readQuery } from '#contract/query.ts'
import { makeListAccounts } from './list-accounts.ts'
import { makeListBalances } from './list-balances.ts'
import { makeListCategories } from './list-categories.ts'
import { makeListConnections } from './list-connections.ts'
import { makeListHoldings } from './list-holdings.ts'
import { makeListTrades } from './list-trades.ts'
import { makeListTransactions } from './list-transactions.ts'
import type { ReadContext, ReadOptions, ReadResult } from './read-context.ts'
import { makeSummarizeTransactions } from './summarize-transactions.ts'

/** Reads one operation from its raw query; throws ApiError, `invalid_params` before any other. */
export type Read = (
  name: ReadName,
  query: URLSearchParams,
  context: ReadContext,
) => Promise<ReadResult<unknown>>

export function makeRead(options: ReadOptions): Read {
  const transactions = makeListTransactions(options)
  const reads: Readonly<Record<ReadName, ReadOne>> = {
    list_connections: reading(listConnections, makeListConnections(options)),
    list_accounts: reading(listAccounts, makeListAccounts(options)),
    list_balances: reading(listBalances, makeListBalances(options)),
    list_transactions: reading(listTransactions, transactions),
    list_holdings: reading(listHoldings, makeListHoldings(options)),
    list_trades: reading(listTrades, makeListTrades(options)),
    summarize_transactions: reading(
      summarizeTransactions,
      makeSummarizeTransactions(options, transactions),
    ),
    list_categories: reading(listCategories, makeListCategories()),
  }
  return (name, query, context) => reads[name](query, context)
}

type ReadOne = (query: URLSearchParams, context: ReadContext) => Promise<ReadResult<unknown>>

/** A resource behind its operation's query. */
function reading<Query extends z.ZodObject>(
  operation: { readonly query: Query },
  resource: (query: z.output<Query>, context: ReadContext) => Promise<ReadResult<unknown>>,
): ReadOne {
  return async (query, context) => {
    const parsed = readQuery(operation.query, query)
    if (!parsed.ok) throw apiError('invalid_params', { details: parsed.details })
    return resource(parsed.value, context)
  }
}
