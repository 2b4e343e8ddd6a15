/**
 * What operators read from the audit, and the sweep that bounds its growth. Instants are milliseconds since
 * the epoch. Other repositories write the entries, which are never changed.
 */
import type { Actor } from '#contract/actor.ts'
import type { AuditFacts } from '#contract/audit.ts'
import type { UserId } from '#kernel/ids.ts'

/** Kinds of entries that nothing else bounds, so they are swept: refused sign-ins; sign-ins and sign-outs. */
export type SweptEntries = 'refusals' | 'sessions'

interface Cause {
  readonly at: number
  /** Written by name, with the network address where it is known. */
  readonly actor: Actor
  readonly userId: UserId | null
}

export type AuditEntry = AuditFacts & Cause

/** An entry of an extension of the admin API, which names its actions and the text of `subject` itself. */
export interface ExtensionEntry extends Cause {
  readonly action: string
  readonly details: Readonly<Record<string, unknown>>
  readonly subject: string
}

/** An entry as it was written, perhaps by another version, which may have had other actions. */
export interface AuditRow {
  readonly id: string
  readonly at: number
  readonly actor: string
  /** The network address of a person or visitor; null for others and for entries of earlier versions. */
  readonly address: string | null
  readonly action: string
  readonly userId: UserId | null
  readonly subject: string
  /** Null: the action is an extension's or another version's, or that version recorded other facts of it. */
  readonly facts: AuditFacts | null
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
    /** Only actions that begin with it; absent: all. */
    readonly action?: string | undefined
    readonly after: AuditPlace | null
    readonly limit: number
  }): Promise<readonly AuditRow[]>
  /**
   * Deletes entries of one kind that are older than `before`, and the oldest ones beyond the bound per user
   * and the bound without a user (no account has the address); about `limit` per call. Returns how many it
   * deleted.
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
