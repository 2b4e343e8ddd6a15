/**
 * What one SnapTrade emulator holds while it runs: its people, and the connection-portal sessions that are
 * open.
 */
import type { People } from './people.ts'
import type { SnapTradeWebhooks } from './webhooks.ts'

/** A connection-portal session: what `POST /snapTrade/login` opened, good for five minutes. */
export interface PortalSession {
  readonly id: string
  readonly userId: string
  readonly broker: string | null
  readonly reconnect: string | null
  readonly customRedirect: string | null
  /** The browser leaves by itself; otherwise by a link on a last page. */
  readonly isImmediate: boolean
  readonly connectionType: 'read' | 'trade'
  readonly expiresAt: number
}

export interface SnapTradeState {
  readonly people: People
  readonly sessions: Map<string, PortalSession>
  readonly webhooks: SnapTradeWebhooks
}
