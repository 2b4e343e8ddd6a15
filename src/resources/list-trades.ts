/** Trades of a brokerage connection: accounts' streams merged newest first, identical fills numbered. */

import type { z } from 'zod'
import { apiError } from '#contract/errors.ts'
import { listTrades } from '#contract/operations.ts'
import type { Trade } from '#contract/resources.ts'
import { getZone } from '#kernel/time.ts'
import type { BrokerageAdapter, TradePage } from '#providers/port.ts'
import { readDateWindow } from './date-window.ts'
import type { ReadContext, ReadOptions, ReadResult } from './read-context.ts'
import { type RowsBody, readRows } from './read-rows.ts'
import { findReadTarget, type Target } from './target.ts'

export type TradesQuery = z.output<typeof listTrades.query>

export function makeListTrades(options: ReadOptions) {
  return async (query: TradesQuery, context: ReadContext): Promise<ReadResult<RowsBody<Trade>>> => {
    const zone = getZone(context.caller.timezone)
    const now = options.clock.now()
    const window = readDateWindow(query, { zone, now, defaultDays: null, maxYears: null })
    const { connectionId, accountId, accountIds, from, to, limit, offset } = query
    const { formerRange: former } = context
    const chosen = toNames(accountIds ?? accountId)
    return readRows<TradePage>(
      { options, context },
      {
        operation: listTrades,
        identity: [chosen, from, to],
        formerIdentity: former === undefined ? null : [chosen, former.from, former.to],
        offset,
        limit,
        pageCap: () => null,
        breaker: false,
        find: () =>
          findReadTarget(
            options.store,
            context.caller,
            { connectionId, accountId, accountIds },
            'brokerage',
          ),
        toSource: (target) => ({
          provider: target.provider,
          reader: brokerOf(options, target).trades,
          queries: byAccount(target).map((account) => ({
            ...target,
            accounts: [account],
            scoped: true,
            window,
            zone,
            userId: context.caller.userId,
          })),
          keyOf: (page, index) => page.tradeKey(index),
        }),
        confirmEmpty: (target, accounts, call) =>
          brokerOf(options, target).confirmEmpty(target.login, target.connection, call, {
            what: 'transactions',
            accounts,
            among: target.accounts,
          }),
      },
      (trade, copy) => (copy === 1 ? trade : { ...trade, id: `${trade.id}-${copy}` }),
    )
  }
}

/** The same text for the same accounts; absent: all accounts of the connection. */
function toNames(accounts: string | readonly string[] | undefined): string | undefined {
  const named = typeof accounts === 'string' ? [accounts] : accounts
  return named && [...new Set(named.map((id) => id.toLowerCase()))].toSorted().join()
}

/** Reading R16: equal trade dates are merged by account id. */
function byAccount(target: Target): Target['accounts'] {
  return target.accounts.toSorted((left, right) => (left.id < right.id ? -1 : 1))
}

function brokerOf(options: ReadOptions, target: Target): BrokerageAdapter {
  const adapter = options.adapters[target.provider]
  if (adapter?.category !== 'brokerage') throw apiError('provider_not_configured')
  return adapter
}
