/**
 * What the audit records of the sandbox commands: names and numbers, never rows or amounts. The values of the
 * details, in their order, are the text of `subject`.
 */
import type { SandboxProvider } from './magic-users.ts'

/** Changes the state of a person at every provider that has them, or at one. */
export type StateCommand =
  | 'login.break'
  | 'login.mend'
  | 'login.challenge'
  | 'consent.expire'
  | 'consent.revoke'
  | 'consent.renew'
  | 'permission.withdraw'
  | 'permission.grant'
  | 'address.bar'
  | 'address.admit'

interface About<Action extends string, Details> {
  readonly action: `sandbox.${Action}`
  readonly details: Details
}

export type SandboxCommand =
  | About<'rows.add' | 'rows.change', { person: string; provider: SandboxProvider }>
  | About<StateCommand, { person: string; providers: readonly SandboxProvider[] }>
  | About<'latency', { provider: SandboxProvider; ms: number }>
  | About<'fail', { provider: SandboxProvider; status: number }>
  | About<'webhook', { person: string; provider: SandboxProvider; event: string }>
  | About<'rotate-key', { provider: SandboxProvider }>
  | About<'reset', { people: 'everybody' }>
