/** The agents that a person has connected: listed from what the consent page showed then, cut off at once. */
import { z } from 'zod'
import type { Clock } from '#kernel/time.ts'
import type { OAuthStore } from '#store/oauth-port.ts'
import type { Agents } from './port.ts'
import { toRowId } from './row-id.ts'

/** What is kept beside a grant for the list. */
export type AgentFacts = z.infer<typeof AgentFacts>
export const AgentFacts = z.object({
  grantId: z.string(),
  clientName: z.string(),
  redirectHost: z.string(),
  scopes: z.array(z.enum(['mcp:read', 'brokerage:read'])).readonly(),
})

export interface AgentsDeps {
  readonly store: OAuthStore
  readonly clock: Clock
  readonly onDisconnected: (userId: string, clientId: string) => Promise<void>
}

/** Makes the list. An agent without any code or token that is good is not on it: it can do nothing. */
export function makeAgents({ store, clock, onDisconnected }: AgentsDeps): Agents {
  return {
    async list(userId) {
      const rows = await store.listAgents(userId, clock.now())
      return rows.map(({ payload, createdAt }) => ({
        ...AgentFacts.parse(JSON.parse(payload)),
        connectedAt: createdAt,
      }))
    },
    async disconnect(userId, grantId) {
      const id = toRowId('Grant', grantId)
      const grant = await store.findGrant(id)
      if (grant === null || grant.userId !== userId) return false
      const { clientId } = ClientName.parse(JSON.parse(grant.payload))
      const isRevoked = await store.deleteGrant(id)
      if (isRevoked) await onDisconnected(userId, clientId)
      return isRevoked
    },
  }
}

const ClientName = z.object({ clientId: z.string() })
