/**
 * A guarded agent that is made when something is first sent: the HTTP client behind it takes long to load.
 */
import type { Agent } from 'undici'
import { lazily } from '#kernel/lazily.ts'
import type { GuardedAgentOptions } from './guarded-agent.ts'

export interface LateAgent {
  open(): Promise<Agent>
  /** Ends its connections; to be called when nothing is sent any more. */
  close(): Promise<void>
}

export function makeLateAgent(options: GuardedAgentOptions): LateAgent {
  let agent: Agent | null = null
  return {
    open: lazily(async () => {
      const { makeGuardedAgent } = await import('./guarded-agent.ts')
      agent = makeGuardedAgent(options)
      return agent
    }),
    async close() {
      await agent?.destroy()
    },
  }
}
