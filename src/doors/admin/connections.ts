/**
 * Connections in the admin API: adopt consents, list, refresh, remove. The actions are those of the
 * connections room; the public form of a connection is the contract's.
 */

import { type ConnectionOverview, readOverview } from '#connections/overview.ts'
import { byOperator } from '#contract/actor.ts'
import { ApiError } from '#contract/errors.ts'
import { toIsoOrNull } from '#kernel/time.ts'
import { toConnection } from '#resources/list-connections.ts'
import type { AdminHandlers } from './handler.ts'
import type { AdminDoorOptions } from './options.ts'
import { connectionNotFound, findUser } from './subjects.ts'
import type { connectionCalls } from './table/connections.ts'

export function makeConnectionHandlers(
  options: AdminDoorOptions,
): AdminHandlers<keyof typeof connectionCalls> {
  const { store, connections, runSync } = options
  return {
    async linkConnections({ user, body }) {
      const { id } = await findUser(options, user)
      const rows = await connections.linkConnections(byOperator, id, body)
      return { connections: rows.flatMap((row) => toConnection(row) ?? []) }
    },
    async listConnections({ user }) {
      const { id } = await findUser(options, user)
      return { data: (await readOverview(store, id)).flatMap(toListed) }
    },
    async refreshConnection({ connection }) {
      const row = await orNotFound(
        connections.refreshConnection(byOperator, connection, { priority: 'user' }),
      )
      const shown = toConnection(row)
      // The action never returns a connection that is being deleted.
      if (shown === null) throw connectionNotFound()
      return shown
    },
    async removeConnection({ connection, query }, reply) {
      const removal = { endsAtProvider: query.atProvider === 'true' }
      const done = await orNotFound(connections.removeConnection(byOperator, connection, removal))
      if (done === 'leaving') reply.header('x-connection-status', 'deleting')
      return undefined
    },
    async syncConnection({ connection }) {
      const result = await orNotFound(runSync(byOperator, connection))
      const { syncRunId, newCount, updatedCount, chunks } = result
      return { syncRunId, newCount, updatedCount, chunks }
    },
  }
}

/** The public form, and what operators see besides. */
function toListed({ row, failure, lastSuccessAt, nextSyncAt }: ConnectionOverview) {
  const connection = toConnection(row)
  if (connection === null) return []
  const seen = {
    consentExpiresAt: toIsoOrNull(row.consentExpiresAt),
    lastSuccessAt: toIsoOrNull(lastSuccessAt),
    nextSyncAt: toIsoOrNull(nextSyncAt),
    lastErrorAt: toIsoOrNull(failure?.at ?? null),
    lastErrorCode: failure?.code ?? null,
    lastError: failure?.message ?? null,
  }
  return [{ ...connection, ...seen }]
}

/** The catalogue's message refers REST users to another operation; an operator is referred to the command. */
async function orNotFound<T>(action: Promise<T>): Promise<T> {
  try {
    return await action
  } catch (error) {
    if (error instanceof ApiError && error.entry === 'connection_not_found') {
      throw connectionNotFound()
    }
    throw error
  }
}
