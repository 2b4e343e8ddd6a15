/**
 * API keys in the admin API. A key appears only in the answer that creates it; its hash and first characters are
 * stored.
 */
import type { FastifyInstance } from 'fastify'
import { toKeyStatus } from '#auth/keys.ts'
import { byOperator } from '#contract/actor.ts'
import { toIso } from '#kernel/time.ts'
import type { KeyRow } from '#store/ports/keys.ts'
import type { AdminDoorDeps } from './deps.ts'
import { findUser, readKeyId } from './subjects.ts'

interface UserPath {
  Params: { user: string }
}

export function addKeyRoutes(admin: FastifyInstance, deps: AdminDoorDeps): void {
  const { store, actions, clock } = deps

  admin.get<UserPath>('/users/:user/keys', async ({ params }) => {
    const user = await findUser(deps, params.user)
    const now = clock.now()
    return { data: (await store.keys.list(user.id)).map((row) => toKey(row, now)) }
  })

  admin.post<UserPath>('/users/:user/keys', async (request, reply) => {
    const user = await findUser(deps, request.params.user)
    const { row, key } = await actions.createKey(byOperator, user.id, request.body)
    const { id, name, createdAt } = row
    return reply.code(201).send({ id, name, key, createdAt: toIso(createdAt) })
  })

  admin.delete<{ Params: { key: string } }>('/keys/:key', async ({ params }, reply) => {
    await actions.revokeKey(byOperator, readKeyId(params.key))
    return reply.code(204).send()
  })
}

function toKey(row: KeyRow, now: number) {
  const moment = (ms: number | null) => (ms === null ? null : toIso(ms))
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    status: toKeyStatus(row, now),
    createdAt: toIso(row.createdAt),
    expiresAt: moment(row.expiresAt),
    lastUsedAt: moment(row.lastUsedAt),
    revokedAt: moment(row.revokedAt),
  }
}
