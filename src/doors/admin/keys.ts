/**
 * API keys in the admin API. A key is shown in the answer that creates it and never again: what is kept is its hash
 * and its first characters.
 */
import type { FastifyInstance } from 'fastify'
import { makeCreateKey } from '#auth/create-key.ts'
import { apiError } from '#contract/errors.ts'
import { toIso } from '#kernel/time.ts'
import type { KeyRow } from '#store/port.ts'
import { NewKeyBody, parseBody } from './bodies.ts'
import type { AdminDoorDeps } from './deps.ts'
import { findUser, readKeyId, recordAction } from './subjects.ts'

interface UserPath {
  Params: { user: string }
}

/** Adds `/admin/users/U/keys` and `/admin/keys/K`. */
export function addKeyRoutes(admin: FastifyInstance, deps: AdminDoorDeps): void {
  const { store, clock } = deps
  const createKey = makeCreateKey(deps)

  admin.get<UserPath>('/users/:user/keys', async ({ params }) => {
    const user = await findUser(deps, params.user)
    const now = clock.now()
    return { data: (await store.keys.list(user.id)).map((row) => toKey(row, now)) }
  })

  admin.post<UserPath>('/users/:user/keys', async (request, reply) => {
    const user = await findUser(deps, request.params.user)
    const body = parseBody(NewKeyBody, request.body)
    if (body.expires !== null && body.expires <= clock.now()) {
      throw apiError('invalid_params', { details: ['expires: must lie in the future'] })
    }
    const { row, key } = await createKey(user.id, { name: body.name, expiresAt: body.expires })
    await recordAction(deps, 'keys.create', { userId: user.id, subject: row.id })
    const { id, name, createdAt } = row
    return reply.code(201).send({ id, name, key, createdAt: toIso(createdAt) })
  })

  admin.delete<{ Params: { key: string } }>('/keys/:key', async ({ params }, reply) => {
    const row = await store.keys.revoke(readKeyId(params.key), clock.now())
    if (row === null) throw apiError('key_not_found')
    await recordAction(deps, 'keys.revoke', { userId: row.userId, subject: row.id })
    return reply.code(204).send()
  })
}

function toKey(row: KeyRow, now: number) {
  const moment = (ms: number | null) => (ms === null ? null : toIso(ms))
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    status: statusOf(row, now),
    createdAt: toIso(row.createdAt),
    expiresAt: moment(row.expiresAt),
    lastUsedAt: moment(row.lastUsedAt),
    revokedAt: moment(row.revokedAt),
  }
}

function statusOf(row: KeyRow, now: number): 'active' | 'expired' | 'revoked' {
  if (row.revokedAt !== null) return 'revoked'
  return row.expiresAt !== null && row.expiresAt <= now ? 'expired' : 'active'
}
