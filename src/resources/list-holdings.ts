/** Positions of one brokerage connection's accounts, read several accounts at a time. */

import type { z } from 'zod'
import { apiError } from '#contract/errors.ts'
import type { listHoldings } from '#contract/operations.ts'
import type { Holding } from '#contract/resources.ts'
import type { AccountRef, BrokerageAdapter, CallContext, EmptyAnswer } from '#providers/port.ts'
import { reportedTime, toAge } from './data-age.ts'
import { followMoved } from './follow-moved.ts'
import { type ReadContext, type ReadOptions, type ReadResult, whole } from './read-context.ts'
import { findReadTarget, refuseRevoked, type Target, toGuardTarget } from './target.ts'

export type HoldingsRequest = z.output<typeof listHoldings.query>

/** A request for n accounts costs n calls, at most this many at once (docs/providers/snaptrade.md). */
const accountsInFlight = 4

export function makeListHoldings(options: ReadOptions) {
  return async (
    query: HoldingsRequest,
    context: ReadContext,
  ): Promise<ReadResult<{ data: Holding[] }>> => {
    const find = () => findReadTarget(options.store, context.caller, query, 'brokerage')
    const target = await find()
    const adapter = options.adapters[target.provider]
    if (adapter?.category !== 'brokerage') throw apiError('provider_not_configured')
    refuseRevoked(target.connection)
    const guardTarget = toGuardTarget(target, context.caller.userId, false)
    const data = await options.guard.run(guardTarget, context.signal, (call) =>
      followMoved({ options, target, find, call }, (current) => readAll(adapter, current, call)),
    )
    return { ...whole({ data }), ...toAge([reportedTime(adapter, target)]) }
  }
}

async function readAll(
  adapter: BrokerageAdapter,
  target: Target,
  call: CallContext,
): Promise<Holding[]> {
  const { login, connection, accounts } = target
  const confirmEmpty = (empty: Omit<EmptyAnswer, 'what'>) =>
    adapter.confirmEmpty(login, connection, call, { what: 'holdings', ...empty })
  const read = async (account: AccountRef) => {
    const list = await adapter.holdings({ login, connection, account }, call)
    // Reading R20b: an empty account among several is doubted at once: it may be ready a moment later.
    if (list.length === 0 && accounts.length > 1) {
      await confirmEmpty({ accounts: [account], among: accounts })
    }
    return list
  }
  const holdings: Holding[] = []
  for (let start = 0; start < accounts.length; start += accountsInFlight) {
    const batch = accounts.slice(start, start + accountsInFlight)
    holdings.push(...(await Promise.all(batch.map(read))).flat())
  }
  // An answer that is empty as a whole is doubted, too.
  if (holdings.length === 0) await confirmEmpty({ accounts })
  return holdings
}
