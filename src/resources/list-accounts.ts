/** The user's accounts by name, in the order of the root collation on every store (reading R16b). */

import type { z } from 'zod'
import type { listAccounts } from '#contract/operations.ts'
import { withinReach } from '#contract/reach.ts'
import type { Account, Pagination } from '#contract/resources.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import { readFreshness } from './freshness.ts'
import { type ReadContext, type ReadOptions, type ReadResult, whole } from './read-context.ts'
import { sortAccounts } from './sort-accounts.ts'

export type AccountsRequest = z.output<typeof listAccounts.query>

export function makeListAccounts(options: ReadOptions) {
  return async (
    query: AccountsRequest,
    context: ReadContext,
  ): Promise<ReadResult<{ data: Account[]; pagination: Pagination }>> => {
    const { limit, offset, include } = query
    const { userId, reach } = context.caller
    const rows = withinReach(reach, await options.store.accounts.list(userId))
    const fresh = include === undefined ? null : await readFreshness(options, context.caller)
    const data = sortAccounts(rows)
      .slice(offset, offset + limit)
      .map((row) => ({ ...toAccount(row), ...fresh?.get(row.connectionId) }))
    const total = rows.length
    return whole({
      data,
      pagination: { total, limit, offset, hasMore: offset + data.length < total },
    })
  }
}

export function toAccount(row: AccountRow): Account {
  return {
    id: row.id,
    connectionId: row.connectionId,
    provider: row.provider,
    name: row.name,
    type: row.type,
    institutionName: row.institutionName,
    accountNumber: row.accountNumber,
    currency: row.currency,
  }
}
