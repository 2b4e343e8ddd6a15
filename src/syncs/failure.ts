/**
 * Why a sync run failed: a code and a sentence for the owner, stored with the run. The sentence is written
 * here or by an adapter, never by a provider, so that it contains no money data. An operator who requested
 * the run gets the same reason as an error of the catalogue.
 */
import { ApiError, apiError, type ErrorName } from '#contract/errors.ts'
import { unreachable } from '#kernel/unreachable.ts'
import {
  consentGone,
  loginDisabled,
  UpstreamError,
  type UpstreamFailure,
} from '#providers/failure.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import { LedgerFormatError } from './ledger-code.ts'

/** Each code with the error of the catalogue for an operator. */
const codes = {
  consent_lost: 'upstream_bad_request',
  rejected: 'upstream_bad_request',
  account_gone: 'provider_unavailable',
  unavailable: 'provider_unavailable',
  throttled: 'provider_unavailable',
  unreadable: 'provider_unavailable',
  misconfigured: 'provider_unavailable',
  preparing: 'provider_unavailable',
  not_configured: 'provider_not_configured',
  too_many: 'sync_failed',
  too_large: 'sync_failed',
  too_long: 'sync_failed',
  ledger_unreadable: 'sync_failed',
  interrupted: 'service_unavailable',
  store_unavailable: 'service_unavailable',
  internal: 'internal',
} as const satisfies Readonly<Record<string, ErrorName>>

export type SyncFailureCode = keyof typeof codes

/** The code of a run that was stored; null: another version of this service stored it. */
export function parseFailureCode(code: string): SyncFailureCode | null {
  return Object.hasOwn(codes, code) ? (code as SyncFailureCode) : null
}

export interface SyncFailure {
  readonly code: SyncFailureCode
  readonly message: string
  /** The provider's own wait; null: its answer has none. */
  readonly retryAfterSeconds: number | null
}

/** Thrown by a run for a reason of its own. */
export class SyncError extends Error {
  override readonly name = 'SyncError'
  readonly code: SyncFailureCode

  constructor(code: SyncFailureCode, message: string) {
    super(message)
    this.code = code
  }
}

const interrupted = 'The sync was interrupted and runs again'
/** The owner cannot correct it, and the operator's message names variables. */
export const notConfigured = 'The provider is not configured on this server'
const failedHere = 'The sync failed because of a mistake of this service; its log says more'

/** The failure to store for an error that a run threw. */
export function toFailure(error: unknown): SyncFailure {
  if (error instanceof SyncError) return fail(error.code, error.message)
  if (error instanceof LedgerFormatError) {
    return fail('ledger_unreadable', 'What earlier syncs remembered cannot be read')
  }
  if (error instanceof UpstreamError) return fromUpstream(error.failure)
  if (error instanceof ApiError) {
    if (error.cause instanceof UpstreamError) return fromUpstream(error.cause.failure)
    if (error.entry === 'provider_not_configured') return fail('not_configured', notConfigured)
    if (error.entry === 'too_many_connections') return fail('too_many', error.message)
    // Only a newer version knows the provider: the run is one for a process of that version.
    if (error.entry === 'service_unavailable') return interruption
  }
  if (error instanceof StoreUnavailableError) {
    return fail('store_unavailable', 'The database of this service was unavailable')
  }
  return fail('internal', failedHere)
}

/** The failure of a run that its process stopped. */
export const interruption: SyncFailure = fail('interrupted', interrupted)

function fail(
  code: SyncFailureCode,
  message: string,
  retryAfterSeconds: number | null = null,
): SyncFailure {
  return { code, message, retryAfterSeconds }
}

function fromUpstream(failure: UpstreamFailure): SyncFailure {
  switch (failure.kind) {
    case 'consent_lost':
      return fail('consent_lost', failure.detail === loginDisabled ? loginDisabled : consentGone)
    case 'rejected':
      return fail('rejected', `The provider rejected the request (HTTP ${failure.status})`)
    case 'account_gone':
      return fail('account_gone', 'An account is no longer at the provider under its former id')
    case 'unavailable':
      return fail('unavailable', 'The provider is temporarily unavailable')
    case 'throttled':
      return fail('throttled', 'The provider limits our requests', failure.retryAfterSeconds)
    case 'malformed':
      return fail('unreadable', `The provider sent data that cannot be read: ${failure.detail}`)
    case 'misconfigured':
      return fail('misconfigured', 'The provider refuses the credentials of this installation')
    case 'preparing':
      return fail('preparing', 'The provider is still preparing the data')
    default:
      return unreachable(failure)
  }
}

/** The error for the operator who requested a run that failed, in this process or another. */
export function toSyncApiError(failure: {
  readonly code: string
  readonly message: string
}): ApiError {
  const code = parseFailureCode(failure.code)
  const entry = code === null ? 'sync_failed' : codes[code]
  return apiError(entry, { message: `The sync failed: ${failure.message}` })
}
