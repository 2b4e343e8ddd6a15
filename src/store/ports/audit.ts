/**
 * What operators read from the audit, and the sweep that bounds its growth. Instants are milliseconds since the
 * epoch. Other repositories write the entries, which are never changed.
 */
import type { Actor } from '#contract/actor.ts'
import type { UserId } from '#kernel/ids.ts'

/** A refused sign-in: the only action that unauthenticated visitors cause. */
export const refusedSignIn = 'account.sign-in-refused'
/** A session was started with the right password. */
export const signedIn = 'account.signed-in'
/** A session was ended by its user, or by another user who signed in in the same browser. */
export const signedOut = 'account.signed-out'

/** A recovery code stood in for the code of a second factor. */
export const usedRecoveryCode = 'account.used-recovery-code'

/** Kinds of entries that nothing else bounds, so they are swept: refused sign-ins; sign-ins and sign-outs. */
export type SweptEntries = 'refusals' | 'sessions'

/** Commands of the sandbox; they change the emulated providers and are recorded like every change. */
export const sandboxActions = [
  'sandbox.rows.add',
  'sandbox.rows.change',
  'sandbox.login.break',
  'sandbox.login.mend',
  'sandbox.login.challenge',
  'sandbox.consent.expire',
  'sandbox.consent.revoke',
  'sandbox.consent.renew',
  'sandbox.permission.withdraw',
  'sandbox.permission.grant',
  'sandbox.address.bar',
  'sandbox.address.admit',
  'sandbox.latency',
  'sandbox.fail',
  'sandbox.webhook',
  'sandbox.rotate-key',
  'sandbox.reset',
] as const

export type SandboxAction = (typeof sandboxActions)[number]

/** Everything that the audit records. */
export type AuditAction =
  | typeof refusedSignIn
  | typeof signedIn
  | typeof signedOut
  | SandboxAction
  | typeof usedRecoveryCode
  | 'account.asked-for-password'
  | 'account.confirmed'
  | 'account.signed-up'
  | 'account.end-other-sessions'
  | 'account.end-session'
  | 'account.remove-second-factor'
  | 'account.set-name'
  | 'account.set-password'
  | 'account.set-recovery-codes'
  | 'account.set-second-factor'
  | 'account.set-timezone'
  | 'agent.connected'
  | 'agent.disconnected'
  | 'connections.finish-linking'
  | 'connections.link'
  | 'connections.refresh'
  | 'connections.remove'
  | 'connections.start-linking'
  | 'connections.sync'
  | 'keys.create'
  | 'keys.revoke'
  | 'plans.set'
  | 'users.create'
  | 'users.delete'
  | 'users.reset-second-factor'
  | 'users.invite'
  | 'users.set-password'
  | 'webhooks.create'
  | 'webhooks.disable'
  | 'webhooks.enable'
  | 'webhooks.failing'
  | 'webhooks.remove'
  | 'webhooks.replay'
  | 'webhooks.rotate'
  | 'webhooks.test'

export interface AuditEntry {
  readonly at: number
  /** Written by name, with the network address where it is known. */
  readonly actor: Actor
  readonly action: AuditAction
  readonly userId: UserId | null
  /** Ids and names only, never a secret and never money data. */
  readonly subject: string
}

/** An entry as it was written, perhaps by another version, which may have had other actions. */
export interface AuditRow extends Omit<AuditEntry, 'actor' | 'action'> {
  readonly id: string
  readonly actor: string
  /** The network address of a person or visitor; null for others and for entries of earlier versions. */
  readonly address: string | null
  readonly action: string
}

/** Where the previous page ended. */
export interface AuditPlace {
  readonly at: number
  readonly id: string
}

export interface AuditLog {
  /** Newest first, equal times by id descending; limited to one user when given. */
  list(page: {
    readonly userId: UserId | null
    readonly after: AuditPlace | null
    readonly limit: number
  }): Promise<readonly AuditRow[]>
  /**
   * Deletes entries of one kind that are older than `before`, and the oldest ones beyond the bound per user and the bound
   * without a user (no account has the address); about `limit` per call. Returns how many it deleted.
   */
  sweep(
    kind: SweptEntries,
    bounds: {
      readonly before: number
      readonly ofUser: number
      readonly ofNobody: number
      readonly limit: number
    },
  ): Promise<number>
}
