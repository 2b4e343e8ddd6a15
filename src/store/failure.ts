/**
 * How the durable store fails, in two kinds: it cannot be opened (the process must not start), or it is
 * temporarily unavailable (doors answer 503). Any other error from the store is a bug of ours.
 */
import { errorCode } from '#kernel/error-code.ts'

export type OpenFailure =
  | 'in_use'
  | 'wrong_key'
  | 'wrong_mode'
  | 'unreachable'
  | 'too_old'
  | 'wrong_encoding'
  | 'no_schema'
  | 'shared_session'
  | 'newer_schema'
  | 'changed_migration'
  | 'mixed_schema'
  | 'not_writable'
  | 'damaged'
  | 'unfinished_copy'

/** The store cannot be opened. The message is one line for the operator and contains no secret. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
  readonly reason: OpenFailure
  constructor(reason: OpenFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** A store is not copied. The message is one line for the operator and contains no secret. */
export class StoreCopyError extends Error {
  override readonly name = 'StoreCopyError'
}

/**
 * A row cannot be stored because its owner is missing: the user does not exist or is being deleted, or the
 * login that it refers to no longer exists. Nothing was stored.
 */
export class OwnerGoneError extends Error {
  override readonly name = 'OwnerGoneError'
}

/** Another user has a login that only one user may have. Nothing was stored. */
export class LoginTakenError extends Error {
  override readonly name = 'LoginTakenError'
}

/**
 * The store is unreachable, full or read-only, or refuses our credentials. The same call may succeed later
 * without a restart. The message is for operators and contains no password.
 */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
  /** What an operator should do, where the cause is known; null otherwise. */
  readonly remedy: string | null
  constructor(message: string, options: ErrorOptions & { readonly remedy?: string } = {}) {
    super(message, options)
    this.remedy = options.remedy ?? null
  }
}

/** One line for the operator of a process that cannot start: what is wrong, and what to do. */
export function toAdvice({ message, remedy }: StoreUnavailableError): string {
  const unknown =
    'See that the disk under DATA_DIR, or the server of DATABASE_URL, is there, takes writes and has free space'
  return `${message}. ${remedy ?? unknown}`
}

/**
 * Node's `tls` refuses the server's certificate: of an unknown issuer, of another name, or out of its time.
 */
export function isCertificateRefusal(error: Error): boolean {
  const refusals = /^(?:CERT_|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT|UNABLE_TO_|ERR_TLS_CERT_)/
  return refusals.test(errorCode(error))
}
