/**
 * Connections in the admin API: adopt consents, list, refresh, remove. The actions are those of the links room; the
 * public form of a connection is that of the contract.
 */
import type { FastifyInstance } from 'fastify'
import { ApiError } from '#contract/errors.ts'
import { toConnection } from '#resources/list-connections.ts'
import type { ConnectionRow } from '#store/port.ts'
import { EmptyBody, LinkBody, parseBody } from './bodies.ts'
import type { AdminDoorDeps } from './deps.ts'
import { connectionNotFound, findUser, readConnectionId, recordAction } from './subjects.ts'

interface UserPath {
  Params: { user: string }
}
interface ConnectionPath {
  Params: { connection: string }
}

/** Adds `/admin/users/U/connections` and `/admin/connections/C`. */
export function addConnectionRoutes(admin: FastifyInstance, deps: AdminDoorDeps): void {
  const { store, links } = deps

  admin.get<UserPath>('/users/:user/connections', async ({ params }) => {
    const user = await findUser(deps, params.user)
    return { data: toConnections(await store.connections.list(user.id)) }
  })

  admin.post<UserPath>('/users/:user/connections', async (request, reply) => {
    const user = await findUser(deps, request.params.user)
    const credentials = parseBody(LinkBody, request.body)
    const rows = await links.linkConnections(user.id, credentials)
    const subject = [credentials.provider, ...rows.map((row) => row.id)].join(' ')
    await recordAction(deps, 'connections.link', { userId: user.id, subject })
    return reply.code(201).send({ connections: toConnections(rows) })
  })

  admin.post<ConnectionPath>('/connections/:connection/refresh', async (request) => {
    const id = readConnectionId(request.params.connection)
    parseBody(EmptyBody, request.body)
    const row = await orNotFound(links.refreshConnection(id, { priority: 'user' }))
    const connection = toConnection(row)
    // The action never returns one that is being deleted.
    if (connection === null) throw connectionNotFound()
    await recordAction(deps, 'connections.refresh', { userId: row.userId, subject: id })
    return connection
  })

  admin.delete<ConnectionPath>('/connections/:connection', async ({ params }, reply) => {
    const id = readConnectionId(params.connection)
    const row = await store.connections.find(id)
    if (row === null) throw connectionNotFound()
    await orNotFound(links.removeConnection(id))
    await recordAction(deps, 'connections.remove', { userId: row.userId, subject: id })
    return reply.code(204).send()
  })
}

function toConnections(rows: readonly ConnectionRow[]) {
  return rows.flatMap((row) => toConnection(row) ?? [])
}

/** The catalogue's words for it point users at REST; an operator is pointed at the command. */
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
