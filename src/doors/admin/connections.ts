/**
 * Connections in the admin API: adopt consents, list, refresh, remove. The actions are those of the connections room; the
 * public form of a connection is the contract's.
 */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type ConnectionOverview, readOverview } from '#connections/overview.ts'
import { byOperator } from '#contract/actor.ts'
import { ApiError } from '#contract/errors.ts'
import { EmptyInput, parseInput } from '#contract/input.ts'
import { toIso } from '#kernel/time.ts'
import { toConnection } from '#resources/list-connections.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { AdminDoorDeps, RunSync } from './deps.ts'
import { parseQuery } from './paging.ts'
import { connectionNotFound, findUser, readConnectionId } from './subjects.ts'

interface UserPath {
  Params: { user: string }
}
interface ConnectionPath {
  Params: { connection: string }
}

/** Strict, so that a slip does not leave a consent at the provider in silence. */
const RemoveQuery = z.strictObject({
  atProvider: z.enum(['true', 'false'], 'must be true or false, given once').optional(),
})

export function addConnectionRoutes(admin: FastifyInstance, deps: AdminDoorDeps): void {
  const { store, connections, runSync } = deps

  admin.get<UserPath>('/users/:user/connections', async ({ params }) => {
    const user = await findUser(deps, params.user)
    const all = await readOverview(store, user.id)
    return { data: all.flatMap(toListed) }
  })

  admin.post<UserPath>('/users/:user/connections', async (request, reply) => {
    const user = await findUser(deps, request.params.user)
    const rows = await connections.linkConnections(byOperator, user.id, request.body)
    return reply.code(201).send({ connections: toConnections(rows) })
  })

  admin.post<ConnectionPath>('/connections/:connection/refresh', async (request) => {
    const id = readConnectionId(request.params.connection)
    parseInput(EmptyInput, request.body)
    const row = await orNotFound(
      connections.refreshConnection(byOperator, id, { priority: 'user' }),
    )
    const connection = toConnection(row)
    // The action never returns a connection that is being deleted.
    if (connection === null) throw connectionNotFound()
    return connection
  })

  addSyncRoute(admin, runSync)

  admin.delete<ConnectionPath>('/connections/:connection', async ({ params, query }, reply) => {
    const { atProvider } = parseQuery(RemoveQuery, query)
    const id = readConnectionId(params.connection)
    const options = { endsAtProvider: atProvider === 'true' }
    const removal = await orNotFound(connections.removeConnection(byOperator, id, options))
    if (removal === 'leaving') reply.header('x-connection-status', 'deleting')
    return reply.code(204).send()
  })
}

function addSyncRoute(admin: FastifyInstance, runSync: RunSync): void {
  admin.post<ConnectionPath>('/connections/:connection/sync', async (request) => {
    const id = readConnectionId(request.params.connection)
    parseInput(EmptyInput, request.body)
    const { syncRunId, newCount, updatedCount, chunks } = await orNotFound(runSync(byOperator, id))
    return { syncRunId, newCount, updatedCount, chunks }
  })
}

function toConnections(rows: readonly ConnectionRow[]) {
  return rows.flatMap((row) => toConnection(row) ?? [])
}

/** The public form, and what operators see besides; times as ISO 8601, null where there is none. */
function toListed(overview: ConnectionOverview) {
  const connection = toConnection(overview.row)
  if (connection === null) return []
  const { row, failure, lastSuccessAt, nextSyncAt } = overview
  const at = (ms: number | null) => (ms === null ? null : toIso(ms))
  const seen = {
    consentExpiresAt: at(row.consentExpiresAt),
    lastSuccessAt: at(lastSuccessAt),
    nextSyncAt: at(nextSyncAt),
    lastErrorAt: at(failure?.at ?? null),
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
