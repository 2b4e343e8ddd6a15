/** The options with which the app is opened. */

import type { FastifyInstance } from 'fastify'
import type { Connections } from '#connections/connections.ts'
import type { Clock } from '#kernel/time.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import type { Credentials } from '#providers/credentials.ts'
import type { Adapters } from '#providers/port.ts'
import type { Config } from '#settings/compose.ts'
import type { Secrets } from '#settings/secrets.ts'
import type { Store } from '#store/ports/store.ts'
import type { Log } from '#telemetry/log.ts'
import type { Metrics } from '#telemetry/metrics.ts'
import type { Tracing } from '#telemetry/tracing.ts'

export interface AppOptions {
  readonly config: Config
  readonly secrets: Secrets
  /** The providers' addresses and credentials; in sandbox mode those of the emulators. */
  readonly access: ProviderAccess
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing
  /** Made-up people that newcomers may link; absent: there are none (live mode). */
  readonly madeUpPeople?: readonly Credentials[]
  /** Parse replies with their schemas: in tests and development. */
  readonly checkReplies: boolean
  /** Throws when code that is loaded late is no longer this process's own; absent: it is not looked at. */
  readonly checkCode?: () => void
  /** Called once when this process can no longer work with its settings: its caller drains and ends it. */
  readonly onUnusable?: (error: Error) => void
  /** For tests: replaces the adapters that `access` would open. */
  readonly adapters?: Adapters
  /** Further paths of the admin API: in sandbox mode those of the sandbox commands. */
  readonly adminExtension?: (options: AdminExtensionOptions) => (admin: FastifyInstance) => void
}

export interface AdminExtensionOptions {
  readonly store: Store
  readonly connections: Connections
  readonly clock: Clock
}
