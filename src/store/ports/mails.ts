/**
 * Mails that wait to be sent. Each has a key that names its matter, so that it is sent once however often it
 * is asked for. A row outlives its mail, for that reason; a sweep deletes it later.
 */

import type { MailId, UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { MailKind, MailMatter } from '../mail-matter.ts'

/**
 * When the notice of a connection that was lost at `at` is due. `formerAt`: when the notice of the loss
 * before it was queued; null: there was none, or it is forgotten.
 */
export type ReconnectDueAt = (loss: {
  readonly at: Millis
  readonly formerAt: Millis | null
}) => number

export interface NewMail {
  /** What it is about, e.g. `key:` and the id of a key. */
  readonly key: string
  /** Whom it concerns; null: somebody without an account. */
  readonly userId: UserId | null
  /** Sealed at rest. */
  readonly matter: MailMatter
  readonly at: Millis
}

/** A mail that this process is to send now. */
export interface ClaimedMail {
  readonly id: MailId
  readonly userId: UserId | null
  readonly kind: MailKind
  /** Null: it cannot be decrypted or read. */
  readonly matter: MailMatter | null
  readonly createdAt: Millis
  /** This claim counted. It names the claim: a later one of another process has another number. */
  readonly attempts: number
}

export interface MailBacklog {
  readonly waiting: number
  /** When the oldest that is due or was tried before was queued. A notice may wait for its time. */
  readonly oldestLateAt: Millis | null
}

/** Notices to one user in 24 hours; further ones are not queued. */
export const maxNoticesPerDay = 50

export interface MailStore {
  /**
   * Queues a mail, due at once. False, with nothing stored: a mail with this key was queued before, the user
   * has had `maxNoticesPerDay`, or this installation sends no mail.
   */
  queue(mail: NewMail): Promise<boolean>
  /**
   * Takes due mails, those due longest first; no other process gets them for `leaseMs`. A process that ends
   * meanwhile leaves them to the next claim after that.
   */
  claim(options: {
    readonly now: Millis
    readonly leaseMs: number
    readonly limit: number
  }): Promise<readonly ClaimedMail[]>
  /**
   * Sent, given up or not needed any more: the payload is deleted. Nothing when the claim is not the newest.
   */
  end(claimed: Pick<ClaimedMail, 'id' | 'attempts'>): Promise<void>
  /** To be tried again. Nothing when the claim is not the newest. */
  postpone(claimed: Pick<ClaimedMail, 'id' | 'attempts'>, dueAt: Millis): Promise<void>
  readBacklog(now: Millis): Promise<MailBacklog>
  /**
   * Deletes rows of mails that are done and were queued before `before`, at most `limit`; returns how many. A
   * mail that is due later than `latestDue`, by a clock that was ahead, is then due at `now`.
   */
  sweep(bounds: {
    readonly before: Millis
    readonly now: Millis
    readonly latestDue: number
    readonly limit: number
  }): Promise<number>
}
