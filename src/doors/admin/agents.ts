/** Connected agents of a user in the admin API: the rows of the page `/agents`, and its one change. */
import type { FastifyInstance } from 'fastify'
import type { ConnectedAgent } from '#auth/oauth/port.ts'
import { byOperator } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { toIso } from '#kernel/time.ts'
import type { AdminDoorDeps } from './deps.ts'
import { findUser } from './subjects.ts'

const maxIdLength = 256

export function addAgentRoutes(admin: FastifyInstance, deps: AdminDoorDeps): void {
  admin.get<{ Params: { user: string } }>('/users/:user/agents', async ({ params }) => {
    const { id } = await findUser(deps, params.user)
    return { data: (await deps.agents.list(id)).map(toAgent) }
  })

  admin.delete<{ Params: { user: string; agent: string } }>(
    '/users/:user/agents/:agent',
    async ({ params }, reply) => {
      const { id } = await findUser(deps, params.user)
      const grantId = params.agent
      if (grantId.length > maxIdLength) throw apiError('agent_not_found')
      const isDone = await deps.agents.disconnect(byOperator, id, { grantId })
      if (!isDone) throw apiError('agent_not_found')
      return reply.code(204).send()
    },
  )
}

function toAgent(agent: ConnectedAgent) {
  return {
    id: agent.grantId,
    name: agent.clientName,
    clientId: agent.clientId,
    redirectHost: agent.redirectHost,
    scopes: agent.scopes,
    connectedAt: toIso(agent.connectedAt),
    lastUsedAt: agent.lastUsedAt === null ? null : toIso(agent.lastUsedAt),
  }
}
