/** Maps an operation's name to its resource: the only switch between the doors and the reads. */

import type { z } from 'zod'
import { apiError } from '#contract/errors.ts'
import type { OperationName } from '#contract/operations.ts'
import * as operations from '#contract/operations.ts'
import { readQuery } from '#contract/query.ts'
import { unreachable } from '#kernel/unreachable.ts'
import { makeListAccounts } from './list-accounts.ts'
import { makeListBalances } from './list-balances.ts'
import { makeListCategories } from './list-categories.ts'
import { makeListConnections } from './list-connections.ts'
import { makeListHoldings } from './list-holdings.ts'
import { makeListTrades } from './list-trades.ts'
import { makeListTransactions } from './list-transactions.ts'
import type { ReadContext, ReadDeps, Reading } from './read-context.ts'

/** Reads one operation from its raw query; throws ApiError, `invalid_params` before any other. */
export type Read = (
  name: OperationName,
  query: URLSearchParams,
  context: ReadContext,
) => Promise<Reading<unknown>>

export function makeRead(deps: ReadDeps): Read {
  const connections = makeListConnections(deps)
  const accounts = makeListAccounts(deps)
  const balances = makeListBalances(deps)
  const transactions = makeListTransactions(deps)
  const holdings = makeListHoldings(deps)
  const trades = makeListTrades(deps)
  const categories = makeListCategories()
  return async (name, query, context) => {
    switch (name) {
      case 'list_connections':
        return connections(null, context)
      case 'list_accounts':
        return accounts(parse(operations.listAccounts.query, query), context)
      case 'list_balances':
        return balances(parse(operations.listBalances.query, query), context)
      case 'list_transactions':
        return transactions(parse(operations.listTransactions.query, query), context)
      case 'list_holdings':
        return holdings(parse(operations.listHoldings.query, query), context)
      case 'list_trades':
        return trades(parse(operations.listTrades.query, query), context)
      case 'list_categories':
        return categories()
      default:
        return unreachable(name)
    }
  }
}

function parse<Schema extends z.ZodObject>(
  schema: Schema,
  query: URLSearchParams,
): z.output<Schema> {
  const reading = readQuery(schema, query)
  if (!reading.ok) throw apiError('invalid_params', { details: reading.details })
  return reading.value
}
