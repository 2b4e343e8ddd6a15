/**
 * What every action on links needs, and how it reports. An action ends in rows of ours; the money data behind a link
 * is never read here.
 */
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { Adapters } from '#providers/port.ts'
import type { Store } from '#store/port.ts'
import type { Turns } from './turns.ts'

/** What actions tell the operators: turned into log lines and metrics by the composition root. */
export interface LinksReport {
  /**
   * One attempt to end a consent and purge its connection. `pending`: the provider did not let go of it; the
   * connection stays `deleting` and is tried again. `abandoned`: our rows are purged all the same, because their user
   * is forgotten or the secret of the login does not open, so a consent may live on at the provider.
   */
  deletion(event: {
    readonly provider: Provider
    readonly connectionId: ConnectionId
    readonly outcome: 'done' | 'pending' | 'abandoned'
    /** Why it is not done; empty when it is. */
    readonly detail: string
  }): void
  /** A background sweep broke off; the next one tries again. */
  sweepFailed(error: unknown): void
}

export interface LinksDeps {
  readonly store: Store
  readonly adapters: Adapters
  readonly clock: Clock
  /** One action's patience with the provider in all (`REQUEST_TIMEOUT_MS`). */
  readonly timeoutMs: number
  readonly report: LinksReport
}

/** The dependencies of the actions, with the turns that they share. */
export interface ActionDeps extends LinksDeps {
  readonly turns: Turns
}
