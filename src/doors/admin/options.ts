/** What the admin door needs: ports and settings, passed in by the composition root. */
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { UserActions } from '#auth/actions.ts'
import type { Agents } from '#auth/oauth/port.ts'
import type { PlanSettings } from '#auth/plans.ts'
import type { OwnSessions } from '#auth/sign-in/own-sessions.ts'
import type { Connections } from '#connections/connections.ts'
import type { By } from '#contract/actor.ts'
import type { Examine } from '#doctor/doctor.ts'
import type { WindowStore } from '#fast/port.ts'
import type { ConnectionId, SyncRunId } from '#kernel/ids.ts'
import type { Secret } from '#kernel/secret.ts'
import type { Clock } from '#kernel/time.ts'
import type { StoreReader } from '#store/ports/reader.ts'
import type { QueueSamples } from '#telemetry/queue-samples.ts'
import type { ReadLimits } from '#usage/limits-left.ts'
import type { ReadProviders } from '#usage/provider-states.ts'
import type { ReadUsage } from '#usage/report.ts'
import type { Webhooks } from '#webhooks/webhooks.ts'

/** The result of a sync that has ended. @throws ApiError `connection_not_found`, upstream failures. */
export type RequestSync = (
  by: By,
  id: ConnectionId,
) => Promise<{
  readonly syncRunId: SyncRunId
  readonly newCount: number
  readonly updatedCount: number
  readonly chunks: number
}>

/** The answer of `GET /admin/service`. */
export interface ServiceAddresses {
  readonly version: string
  readonly mode: 'live' | 'sandbox'
  /** The origin of REST, documentation and pages, without a trailing slash. */
  readonly baseUrl: string
  /** The origin of the agent interface. */
  readonly mcpUrl: string
}

export interface AdminDoorOptions {
  /** Read-only: every change is an action. */
  readonly store: StoreReader
  readonly actions: UserActions
  readonly connections: Connections
  readonly webhooks: Webhooks
  readonly runSync: RequestSync
  /** What a user has asked for in the last days. */
  readonly readUsage: ReadUsage
  /** What is left of their limits now. */
  readonly readLimits: ReadLimits
  /** Breakers and budgets of the providers now. */
  readonly readProviders: ReadProviders
  /** The lengths of the queues, the present ones first. */
  readonly readQueues: QueueSamples['read']
  readonly agents: Agents
  /** Signed-in browsers. */
  readonly sessions: Pick<OwnSessions, 'list' | 'endOne'>
  readonly clock: Clock
  /** Counts failed attempts on the admin token. */
  readonly windows: WindowStore
  readonly adminToken: Secret<string>
  readonly planSettings: PlanSettings
  /** Where the door will listen: on loopback it answers to loopback names only. */
  readonly listener: { readonly host: string; readonly isLoopback: boolean }
  readonly log: Logger
  /** What kind of service this is, and its public origins. */
  readonly describeService: () => ServiceAddresses
  /** Checks everything that this process depends on. */
  readonly examine: Examine
  /** In Prometheus' text format. */
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> }
  readonly readiness: {
    /** By dependency name; each resolves when the dependency answers. */
    readonly checks: Readonly<Record<string, () => Promise<void>>>
    /**
     * True for a dependency that is unavailable but not required: it is named, and the process stays ready.
     */
    isUnavailable(name: string): boolean
    /** True as soon as the process was asked to stop. */
    isDraining(): boolean
  }
  /** Parse replies with their schemas: in tests and development. */
  readonly checkReplies: boolean
  /** The operator's pages, beside the API, which they are a client of; absent: there are none. */
  readonly addPages?: (app: FastifyInstance) => void
  /** Further paths below `/admin`, guarded like all others: those of the sandbox. */
  readonly extension?: (admin: FastifyInstance) => void
}
