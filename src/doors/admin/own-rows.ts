/** What a person's pages show, for operators: accounts without money, agents, browsers, usage, limits. */
import { byOperator } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { parseUuid, type SessionId } from '#kernel/ids.ts'
import { toIso, toIsoOrNull } from '#kernel/time.ts'
import { toAccount } from '#resources/list-accounts.ts'
import { sortAccounts } from '#resources/sort-accounts.ts'
import type { AdminHandlers } from './handler.ts'
import type { AdminDoorOptions } from './options.ts'
import { findUser } from './subjects.ts'
import type { ownRowCalls } from './table/own-rows.ts'

const maxAgentIdLength = 256

export function makeOwnRowHandlers(
  options: AdminDoorOptions,
): AdminHandlers<keyof typeof ownRowCalls> {
  const { store, agents, sessions } = options
  return {
    async listUserAccounts({ user }) {
      const { id } = await findUser(options, user)
      return { data: sortAccounts(await store.accounts.list(id)).map(toAccount) }
    },
    async listAgents({ user }) {
      const { id } = await findUser(options, user)
      const all = await agents.list(id)
      return {
        data: all.map((agent) => ({
          id: agent.grantId,
          name: agent.clientName,
          clientId: agent.clientId,
          redirectHost: agent.redirectHost,
          scopes: agent.scopes,
          connections: agent.connections,
          connectedAt: toIso(agent.connectedAt),
          lastUsedAt: toIsoOrNull(agent.lastUsedAt),
        })),
      }
    },
    async disconnectAgent({ user, agent: grantId }) {
      const { id } = await findUser(options, user)
      if (grantId.length > maxAgentIdLength) throw apiError('agent_not_found')
      const isDone = await agents.disconnect(byOperator, id, { grantId })
      if (!isDone) throw apiError('agent_not_found')
      return undefined
    },
    async listSessions({ user }) {
      const { id: userId } = await findUser(options, user)
      const rows = await sessions.list(userId)
      return {
        data: rows.map(({ id, signedInAt, lastSeenAt, address, agent }) => ({
          id,
          signedInAt: toIso(signedInAt),
          lastSeenAt: toIso(lastSeenAt),
          address,
          agent,
        })),
      }
    },
    async endSession({ user, session }) {
      const { id: userId } = await findUser(options, user)
      const id = parseUuid<SessionId>(session)
      const isEnded = id !== null && (await sessions.endOne(byOperator, userId, id))
      if (!isEnded) throw apiError('session_not_found')
      return undefined
    },
    readUsage: async ({ user, query }) =>
      options.readUsage(await findUser(options, user), query.days),
    readLimits: async ({ user }) => options.readLimits((await findUser(options, user)).id),
  }
}
