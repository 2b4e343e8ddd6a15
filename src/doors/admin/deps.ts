/**
 * What the operators' door needs: ports and settings, handed in by the composition root.
 */
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { PlanSettings } from '#auth/plans.ts'
import type { Examine } from '#doctor/doctor.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Secret } from '#kernel/secret.ts'
import type { Clock } from '#kernel/time.ts'
import type { Links } from '#links/links.ts'
import type { WindowStore } from '#store/kv-port.ts'
import type { Store } from '#store/port.ts'

export interface AdminDoorDeps {
  readonly store: Store
  readonly links: Links
  readonly clock: Clock
  /** Counts failed attempts on the admin token. */
  readonly windows: WindowStore
  readonly adminToken: Secret<string>
  readonly planSettings: PlanSettings
  /** What to store of the password of a new user. */
  readonly hashPassword: (password: string) => Promise<string>
  /** Sets the password a user signs in with and ends their sessions; false when there is no such user. */
  readonly setPassword: (userId: UserId, password: string) => Promise<boolean>
  /** Where the door will listen: on loopback it answers to loopback names alone. */
  readonly listener: { readonly host: string; readonly isLoopback: boolean }
  readonly log: Logger
  /** Looks at everything this process stands on. */
  readonly examine: Examine
  /** In Prometheus' text format. */
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> }
  readonly readiness: {
    /** By name of what is asked; each resolves when it answers. */
    readonly checks: Readonly<Record<string, () => Promise<void>>>
    /** True from the moment the process was told to stop. */
    isDraining(): boolean
  }
  /** Further paths below `/admin`, guarded like all others: those of the sandbox. */
  readonly extension?: (admin: FastifyInstance) => void
}
