/**
 * The agents that a person has connected: lists them with the facts that the consent page showed, and
 * disconnects them with immediate effect.
 */
import { z } from 'zod'
import { mayActFor } from '#contract/actor.ts'
import { parseInput } from '#contract/input.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { OAuthAgentRow } from '#store/ports/oauth.ts'
import type { Store } from '#store/ports/store.ts'
import type { Agents, ConnectedAgent } from './port.ts'
import { toRowId } from './row-id.ts'

/** What is stored beside a grant for the list. */
export type AgentFacts = z.infer<typeof AgentFacts>
export const AgentFacts = z.object({
  grantId: z.string(),
  /** Null: the grant is of an earlier version. */
  clientId: z.string().nullable().default(null),
  clientName: z.string(),
  redirectHost: z.string(),
  scopes: z.array(z.enum(['mcp:read', 'brokerage:read'])).readonly(),
  /** Chosen on the consent page; null: every connection, later ones too. */
  connections: z.array(z.string()).readonly().nullable().default(null),
})

export interface AgentsOptions {
  readonly store: Pick<Store, 'oauth' | 'transact'>
  readonly clock: Clock
}

/** An agent without a valid code or token is not listed: it has no access. */
export function makeAgents({ store, clock }: AgentsOptions): Agents {
  async function list(userId: UserId): Promise<readonly ConnectedAgent[]> {
    const rows = await store.oauth.listAgents(userId, clock.now())
    return rows.map(({ payload, createdAt, lastUsedAt, ...row }) => ({
      ...(payload === null ? toNameless(row) : AgentFacts.parse(JSON.parse(payload))),
      connectedAt: createdAt,
      lastUsedAt,
    }))
  }

  return {
    list,
    async disconnect(by, userId, input) {
      const { grantId } = parseInput(DisconnectInput, input)
      if (!mayActFor(by, userId)) return false
      const id = rowOfNameless(grantId) ?? toRowId('Grant', grantId)
      const agent = (await list(userId)).find((one) => one.grantId === grantId)
      return store.transact(async (tx) => {
        const grant = await tx.oauth.findParties(id)
        if (grant === null || grant.userId !== userId) return false
        const { clientId } = grant
        if (!(await tx.oauth.deleteGrant(id))) return false
        await tx.audit({
          at: clock.now(),
          actor: by.actor,
          action: 'agent.disconnected',
          userId,
          // Afterwards nothing else says what the client was called.
          details: { clientId, clientName: agent?.clientName ?? null },
        })
        return true
      })
    },
  }
}

/** An agent whose facts do not open has access: it is listed, and disconnected by its grant's row. */
function toNameless({
  grantId,
  clientId,
}: Pick<OAuthAgentRow, 'grantId' | 'clientId'>): AgentFacts {
  return {
    grantId: `${ofRow}${Buffer.from(grantId).toString('hex')}`,
    clientId,
    clientName: 'An agent whose name cannot be decrypted',
    redirectHost: 'unknown',
    scopes: ['mcp:read', 'brokerage:read'],
    connections: null,
  }
}

const ofRow = 'row:'

function rowOfNameless(grantId: string): Uint8Array | null {
  return grantId.startsWith(ofRow) ? Buffer.from(grantId.slice(ofRow.length), 'hex') : null
}

/** Ids of grants have 43 characters, those of their rows 64. */
const DisconnectInput = z.strictObject({ grantId: z.string('must be text').max(256) })
