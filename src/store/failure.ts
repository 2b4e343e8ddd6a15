/**
 * How the durable store fails, in two kinds that callers can tell apart: it cannot be opened (the process must not
 * start), or it does not answer at present (doors say 503). Everything else that comes out of it is a mistake of ours.
 */

export type OpenFailure =
  | 'in_use'
  | 'wrong_key'
  | 'wrong_mode'
  | 'unreachable'
  | 'too_old'
  | 'newer_schema'
  | 'changed_migration'
  | 'not_writable'
  | 'damaged'

/** The store cannot be opened. The message is one line for the operator and holds no secret. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
  readonly reason: OpenFailure
  constructor(reason: OpenFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** The store is away, full or read-only. The same call may succeed later, without a restart. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
}
