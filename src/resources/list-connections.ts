/** The user's connections, newest first, except those being deleted. */
import type { z } from 'zod'
import type { listConnections } from '#contract/operations.ts'
import { findReachable } from '#contract/reach.ts'
import type { Connection } from '#contract/resources.ts'
import { hideNumberShapes } from '#kernel/account-numbers.ts'
import { toIso, toIsoOrNull } from '#kernel/time.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { readFreshness } from './freshness.ts'
import { type ReadContext, type ReadOptions, type ReadResult, whole } from './read-context.ts'
import { categoryOf } from './target.ts'

export type ConnectionsRequest = z.output<typeof listConnections.query>

export function makeListConnections(options: ReadOptions) {
  return async (
    { include }: ConnectionsRequest,
    context: ReadContext,
  ): Promise<ReadResult<{ data: Connection[] }>> => {
    const { userId, reach } = context.caller
    const rows = await options.store.connections.list(userId)
    const seen = await findReachable(reach, () => options.store.accounts.list(userId))
    const fresh = include === undefined ? null : await readFreshness(options, context.caller)
    const data = rows.flatMap((row) => {
      const connection = seen?.has(row.id) === false ? null : toConnection(row)
      return connection === null ? [] : [{ ...connection, ...fresh?.get(row.id) }]
    })
    return whole({ data })
  }
}

/** The public form; null for a connection that is being deleted. */
export function toConnection(row: ConnectionRow): Connection | null {
  if (row.status === 'deleting') return null
  return {
    id: row.id,
    provider: row.provider,
    category: categoryOf(row.provider),
    institutionId: row.institutionId,
    institutionName: hideNumberShapes(row.institutionName),
    institutionLogo: row.institutionLogo,
    status: row.status,
    lastRefreshedAt: toIsoOrNull(row.lastRefreshedAt),
    createdAt: toIso(row.createdAt),
  }
}
