/** Signed-in browsers of a user in the admin API: the rows of the page `/settings`, and their end. */
import type { FastifyInstance } from 'fastify'
import { byOperator } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { parseUuid, type SessionId } from '#kernel/ids.ts'
import { toIso } from '#kernel/time.ts'
import type { SessionRow } from '#store/ports/sessions.ts'
import type { AdminDoorDeps } from './deps.ts'
import { findUser } from './subjects.ts'

export function addSessionRoutes(admin: FastifyInstance, deps: AdminDoorDeps): void {
  const { sessions } = deps
  admin.get<{ Params: { user: string } }>('/users/:user/sessions', async ({ params }) => {
    const { id } = await findUser(deps, params.user)
    return { data: (await sessions.list(id)).map(toSession) }
  })

  admin.delete<{ Params: { user: string; session: string } }>(
    '/users/:user/sessions/:session',
    async ({ params }, reply) => {
      const user = await findUser(deps, params.user)
      const id = parseUuid<SessionId>(params.session)
      const isEnded = id !== null && (await sessions.endOne(byOperator, user.id, id))
      if (!isEnded) throw apiError('session_not_found')
      return reply.code(204).send()
    },
  )
}

function toSession({ id, signedInAt, lastSeenAt, address, agent }: SessionRow) {
  return { id, signedInAt: toIso(signedInAt), lastSeenAt: toIso(lastSeenAt), address, agent }
}
