/** What every action on connections needs, and how it reports. Actions never read money data. */
import type { Provider } from '#contract/resources.ts'
import type { WindowStore } from '#fast/port.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import type { Queue } from '#kernel/queue.ts'
import type { Clock } from '#kernel/time.ts'
import type { Adapters } from '#providers/port.ts'
import type { Readings } from '#providers/readings.ts'
import type { Store, StoreRows } from '#store/ports/store.ts'
import type { LateReport, LateWork } from './late-work.ts'
import type { LinkingOutcome } from './linking/linking-attempt.ts'

/** What actions report to operators; the composition root turns it into log lines and metrics. */
export interface ConnectionsReport extends LateReport {
  /**
   * One attempt to end a consent and delete its connection. `pending`: the provider did not end it; the
   * connection stays `deleting` and is tried again. `abandoned`: our rows are deleted anyway, because their
   * user is being deleted or the login's secret does not decrypt, so a consent may remain at the provider.
   */
  deletion(event: {
    readonly provider: Provider
    /** Null: a consent that was abandoned before its connection had a row. */
    readonly connectionId: ConnectionId | null
    readonly outcome: 'done' | 'pending' | 'abandoned'
    /** Why it is not finished; empty when it is. */
    readonly detail: string
  }): void
  /**
   * A link that was begun in a browser came back. `code`: why it did not end with a connection, in the
   * provider's words for the log; null where there is nothing to say.
   */
  linking(event: {
    readonly provider: Provider
    readonly outcome: LinkingOutcome
    readonly code: string | null
  }): void
  /** The provider could not be asked to send webhooks about a login. */
  notListening(event: { readonly provider: Provider; readonly error: unknown }): void
}

export interface ConnectionsOptions {
  readonly store: Store
  readonly adapters: Adapters
  readonly clock: Clock
  /** Recognises repeated webhooks, and bounds what providers are asked for. */
  readonly windows: Pick<WindowStore, 'take' | 'peek' | 'forget'>
  /** What was read with a login is deleted with it. Absent: nothing is kept. */
  readonly readings?: Pick<Readings, 'forget'>
  /** The time limit of all provider calls of one action together (`REQUEST_TIMEOUT_MS`). */
  readonly timeoutMs: number
  readonly report: ConnectionsReport
  /**
   * Sandbox mode: several users may link the same made-up person by a personal key. Absent: one user only.
   */
  readonly sharesPersonalKeys?: boolean
}

/** What the parts of an action that write in its transaction need. */
export type SaveOptions = Pick<ConnectionsOptions, 'adapters' | 'clock'> & {
  readonly store: StoreRows
}

/** The dependencies of the actions, with what they share. */
export interface ActionOptions extends ConnectionsOptions {
  readonly queue: Queue
  readonly late: LateWork
}
