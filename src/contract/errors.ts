/**
 * The one catalogue of errors (contract, Errors): name → status, public code or none, message. An ApiError
 * takes a name from it; public text and private cause never mix.
 */
import type { ErrorEnvelope } from './resources.ts'

interface ErrorEntry {
  readonly status: number
  readonly code: string | null
  readonly message: string
  /** When the error occurs, for the OpenAPI description. */
  readonly when: string
}

export const errorCatalogue = {
  invalid_params: {
    status: 400,
    code: 'invalid_params',
    message: 'Invalid request parameters',
    when: 'A parameter is missing or malformed; details name each one.',
  },
  invalid_dates: {
    status: 400,
    code: null,
    message: 'Invalid date parameters',
    when: 'A date is neither YYYY-MM-DD nor RFC 3339 with a timezone; details name each one.',
  },
  invalid_date_range: {
    status: 400,
    code: 'invalid_date_range',
    message: 'from must not be after to (a missing to counts as now)',
    when: 'from lies after to.',
  },
  from_too_old: {
    status: 400,
    code: 'from_too_old',
    message: 'from must not be more than 7 years in the past',
    when: 'from lies more than seven years back.',
  },
  wrong_endpoint_for_category: {
    status: 400,
    code: 'wrong_endpoint_for_category',
    message: 'This endpoint does not serve connections of this category',
    when: 'A banking endpoint was asked for a brokerage connection or account, or the other way round; the message names the right one.',
  },
  upstream_bad_request: {
    status: 400,
    code: 'upstream_bad_request',
    message: 'Upstream rejected request',
    when: 'The provider rejected the request, or the consent is gone; the message carries its words.',
  },
  too_many_accounts: {
    status: 400,
    code: 'too_many_accounts',
    message: 'At most 100 accountIds are allowed; split the request',
    when: 'More than 100 distinct accountIds.',
  },
  missing_authorization: {
    status: 401,
    code: 'missing_authorization',
    message: 'Authorization header is missing; send "Authorization: Bearer <API key>"',
    when: 'There is no Authorization header.',
  },
  invalid_token: {
    status: 401,
    code: 'invalid_token',
    message: 'The API key or access token is invalid, expired or revoked',
    when: 'The bearer token is not accepted.',
  },
  invalid_signature: {
    status: 401,
    code: 'invalid_signature',
    message: 'The signature of the webhook is missing or wrong',
    when: 'A webhook of a provider is not signed with the configured secret.',
  },
  plan_required: {
    status: 403,
    code: null,
    message: 'API access requires a Developer or Professional plan',
    when: 'The plan has no API access.',
  },
  professional_required: {
    status: 403,
    code: 'professional_required',
    message: 'Brokerage data requires an active Professional plan',
    when: 'The plan has no brokerage access.',
  },
  insufficient_scope: {
    status: 403,
    code: 'insufficient_scope',
    message: 'The access token lacks a scope that this operation needs',
    when: 'An OAuth token lacks the needed scope.',
  },
  key_lacks_scope: {
    status: 403,
    code: 'insufficient_scope',
    message: 'This key lacks the scope that this operation needs; use a key that has it',
    when: 'A narrow key lacks the scope of this operation.',
  },
  simplefin_forbidden: {
    status: 403,
    code: null,
    message: 'Forbidden',
    when: 'A setup token or the credentials of a program that reads SimpleFIN are not good, or not any more.',
  },
  foreign_host: {
    status: 403,
    code: null,
    message:
      'This server does not answer to that Host or Origin; see BASE_URL, MCP_URL and AUTH_URL',
    when: 'The Host or Origin header of an agent’s request does not name this server.',
  },
  not_found: {
    status: 404,
    code: 'not_found',
    message:
      'Unknown path or method; the paths are listed in /openapi.json and only GET is allowed',
    when: 'The path is unknown or the method is not GET.',
  },
  connection_not_found: {
    status: 404,
    code: 'connection_not_found',
    message: 'Connection not found; list yours with /v1/connections',
    when: 'There is no such connection of yours.',
  },
  account_not_found: {
    status: 404,
    code: 'account_not_found',
    message: 'Account not found on this connection; list yours with /v1/accounts',
    when: 'There is no such account of yours on the connection.',
  },
  accounts_not_found: {
    status: 404,
    code: null,
    message: 'One or more accounts were not found; list yours with /v1/accounts',
    when: 'One or more accountIds are no accounts of yours.',
  },
  consumer_not_found: {
    status: 404,
    code: 'consumer_not_found',
    message: 'Consumer of events not found; list them with `tributary consumers list`',
    when: 'There is no such consumer of events.',
  },
  invitation_not_found: {
    status: 404,
    code: 'invitation_not_found',
    message: 'No invitation of this address is open; list them with `tributary invitations list`',
    when: 'No invitation of this address can be used: it was used, withdrawn, has expired, or was never made.',
  },
  user_not_found: {
    status: 404,
    code: 'user_not_found',
    message: 'User not found; list them with `tributary users list`',
    when: 'There is no such user.',
  },
  key_not_found: {
    status: 404,
    code: 'key_not_found',
    message: 'Key not found; list them with `tributary keys list`',
    when: 'There is no such key.',
  },
  program_not_found: {
    status: 404,
    code: 'program_not_found',
    message: 'Program not found; list them with `tributary simplefin list`',
    when: 'There is no such program that reads SimpleFIN.',
  },
  webhook_not_found: {
    status: 404,
    code: 'webhook_not_found',
    message: 'Webhook endpoint not found; list them with `tributary webhooks list`',
    when: 'There is no such webhook endpoint.',
  },
  agent_not_found: {
    status: 404,
    code: 'agent_not_found',
    message: 'Agent not found; list them with `tributary agents list`',
    when: 'There is no such connected agent.',
  },
  session_not_found: {
    status: 404,
    code: 'session_not_found',
    message: 'Session not found; list them with `tributary sessions list`',
    when: 'There is no such signed-in browser.',
  },
  delivery_not_found: {
    status: 404,
    code: 'delivery_not_found',
    message: 'Delivery not found; list them with `tributary webhooks deliveries`',
    when: 'There is no such delivery.',
  },
  method_not_allowed: {
    status: 405,
    code: null,
    message: 'Method not allowed; use POST',
    when: 'The method is not allowed on this path.',
  },
  request_timeout: {
    status: 408,
    code: null,
    message: 'The request arrived too slowly',
    when: 'The body of a webhook of a provider took longer than five seconds.',
  },
  email_taken: {
    status: 409,
    code: 'email_taken',
    message: 'A user with this e-mail address exists already',
    when: 'The e-mail address is in use.',
  },
  sign_up_closed: {
    status: 409,
    code: 'sign_up_closed',
    message:
      'Nobody can sign up here (SIGN_UP is closed): make the account with `tributary users create`, or set SIGN_UP to invite',
    when: 'An invitation while sign-up is closed.',
  },
  login_mismatch: {
    status: 409,
    code: 'login_mismatch',
    message: 'These credentials belong to another person at the provider than the existing login',
    when: 'A reconnect came back with somebody else’s consent.',
  },
  login_taken: {
    status: 409,
    code: 'login_taken',
    message:
      'Another user has linked these credentials; a personal key belongs to one person, so unlink it there first',
    when: 'A personal key or token is linked that another user has linked.',
  },
  too_many_keys: {
    status: 409,
    code: 'too_many_keys',
    message: 'At most 20 active keys per user; revoke one first',
    when: 'The user has 20 active keys.',
  },
  too_many_connections: {
    status: 409,
    code: 'too_many_connections',
    message: 'At most 500 connections and 5,000 accounts per user; remove a connection first',
    when: 'With what the provider lists the user would have more than 500 connections or 5,000 accounts; nothing of it is stored.',
  },
  too_many_programs: {
    status: 409,
    code: 'too_many_programs',
    message: 'At most 50 programs per user; revoke one first',
    when: 'The user has 50 programs that read SimpleFIN.',
  },
  too_many_webhooks: {
    status: 409,
    code: 'too_many_webhooks',
    message: 'At most 20 webhook endpoints per user; remove one first',
    when: 'The user has 20 webhook endpoints.',
  },
  too_many_consumers: {
    status: 409,
    code: 'too_many_consumers',
    message:
      'At most 20 consumers of events per user; remove one on the page /events, or ask by the name of an existing one',
    when: 'The request names a consumer of events that would be the 21st of those that see the same, or the user’s 101st.',
  },
  webhook_disabled: {
    status: 409,
    code: 'webhook_disabled',
    message: 'The webhook endpoint is disabled; enable it first',
    when: 'The endpoint is disabled, so nothing is sent to it.',
  },
  payload_shredded: {
    status: 409,
    code: 'payload_shredded',
    message: 'The payload was destroyed when its retention ended (EVENT_RETENTION_HOURS)',
    when: 'A replay was asked of events whose payloads no longer exist.',
  },
  cursor_expired: {
    status: 410,
    code: 'cursor_expired',
    message:
      'Events after this cursor are no longer kept, or it is no longer valid; go on from the oldest cursor that is kept, which is in the details',
    when: 'Events after the cursor were destroyed when their retention ended, the service has begun to recognise rows anew, a backup was restored, or the encryption key that signed the cursor was replaced; the details have the oldest cursor that is kept.',
  },
  body_too_large: {
    status: 413,
    code: 'body_too_large',
    message: 'Request body over 16 KiB',
    when: 'The request body is larger than 16 KiB.',
  },
  rate_limited: {
    status: 429,
    code: null,
    message: 'Too many requests',
    when: 'The rate limit is exceeded; Retry-After says when to try again.',
  },
  too_many_concurrent: {
    status: 429,
    code: null,
    message: 'Too many concurrent requests',
    when: 'Too many heavy requests of this key are in flight.',
  },
  client_disconnected: {
    status: 499,
    code: 'client_disconnected',
    message: 'The client went away before the answer',
    when: 'The client aborted; only logs see it.',
  },
  internal: {
    status: 500,
    code: null,
    message: 'Internal error; quote the X-Request-Id when you report it',
    when: 'A bug in this service.',
  },
  balances_not_available: {
    status: 501,
    code: null,
    message: 'Balances are not yet available for provider:',
    when: 'The provider of a requested account has no balances.',
  },
  provider_unavailable: {
    status: 503,
    code: null,
    message: 'The provider is temporarily unavailable; retry later',
    when: 'The provider did not answer, or not readably.',
  },
  upstream_breaker_open: {
    status: 503,
    code: 'upstream_breaker_open',
    message: 'The provider keeps failing for this connection; retry after the cooldown',
    when: 'Three failures within a minute; Retry-After gives the remaining cooldown.',
  },
  service_unavailable: {
    status: 503,
    code: null,
    message: 'The service is temporarily unavailable; retry later',
    when: 'Our own store does not answer, or this process is stopping.',
  },
  provider_not_configured: {
    status: 503,
    code: null,
    message: 'This provider is not configured on this server',
    when: 'The operator has not set the credentials of the provider.',
  },
  sync_failed: {
    status: 503,
    code: 'sync_failed',
    message: 'The sync failed',
    when: 'Operators alone: a sync that they asked for ended without a result; the message says why.',
  },
  provider_refuses_us: {
    status: 503,
    code: 'provider_refuses_us',
    message: 'The provider refuses this installation’s own credentials',
    when: 'Operators alone: the credentials of the installation are wrong at the provider.',
  },
} as const satisfies Record<string, ErrorEntry>

export type ErrorName = keyof typeof errorCatalogue

export interface ErrorOptions {
  /** Replaces the catalogue's message; must be safe to show to callers. */
  readonly message?: string
  /** One line per problem; an empty list is omitted. */
  readonly details?: readonly string[]
  readonly retryAfterSeconds?: number
  /** For the log only. */
  readonly cause?: unknown
}

/** An error for callers: everything except `cause` may be shown. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly entry: ErrorName
  readonly status: number
  readonly code: string | null
  readonly details: readonly string[] | null
  readonly retryAfterSeconds: number | null

  constructor(entry: ErrorName, options: ErrorOptions) {
    super(options.message ?? errorCatalogue[entry].message, { cause: options.cause })
    this.entry = entry
    this.status = errorCatalogue[entry].status
    this.code = errorCatalogue[entry].code
    const details = options.details ?? []
    this.details = details.length === 0 ? null : details
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
  }
}

/** Makes the error of this name, for the caller to throw. */
export function apiError(entry: ErrorName, options: ErrorOptions = {}): ApiError {
  return new ApiError(entry, options)
}

/** The public body: unset `code` and `details` are omitted, never null (contract, Error envelope). */
export function toEnvelope(error: ApiError): ErrorEnvelope {
  return {
    error: {
      message: error.message,
      ...(error.code === null ? {} : { code: error.code }),
      ...(error.details === null ? {} : { details: [...error.details] }),
    },
  }
}
