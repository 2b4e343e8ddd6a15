/** Positions of one brokerage connection's accounts, read several accounts at a time. */

import type { z } from 'zod'
import { apiError } from '#contract/errors.ts'
import type { listHoldings } from '#contract/operations.ts'
import type { Holding } from '#contract/resources.ts'
import { mapInBatches } from '#kernel/map-in-batches.ts'
import type { AccountRef, BrokerageAdapter, CallContext } from '#providers/port.ts'
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
  const read = (some: readonly AccountRef[]) =>
    mapInBatches(some, accountsInFlight, (account) =>
      adapter.holdings({ login, connection, account }, call),
    )
  const lists = await read(accounts)
  const empty = accounts.filter((_account, index) => lists[index]?.length === 0)
  if (empty.length === 0 && accounts.length > 0) return lists.flat()
  // Reading R20b: where they can be trusted now, their import may have ended since they were read.
  const asked = { what: 'holdings', accounts: empty, among: accounts } as const
  await adapter.confirmEmpty(login, connection, call, asked)
  const again = new Map((await read(empty)).map((list, index) => [empty[index], list]))
  return accounts.flatMap((account, index) => again.get(account) ?? lists[index] ?? [])
}
