/** The port of the mail server: what the worker hands over, and what came of it. smtp.ts speaks to it. */
import type { MailId } from '#kernel/ids.ts'

/** A finished mail in plain text. */
export interface Letter {
  /** The same on every attempt, so that a receiver can recognise a repetition. */
  readonly id: MailId
  /** One address. */
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Why a mail was not sent, without addresses and without the server's words, which may repeat them. */
export interface MailFailure {
  /** In a word, e.g. `EAUTH`, `ECONNECTION`. */
  readonly code: string
  /** The SMTP status, e.g. 450; null: none came. */
  readonly status: number | null
  /** The server refuses this mail for good: another attempt would end in the same way. */
  readonly isFinal: boolean
}

export interface Mailer {
  /** Null: the server has accepted it. It ends when `signal` is aborted, and within its own time limit. */
  send(letter: Letter, signal: AbortSignal): Promise<MailFailure | null>
  /** Connects and signs in, and sends nothing. Null: it works. */
  verify(): Promise<MailFailure | null>
}
