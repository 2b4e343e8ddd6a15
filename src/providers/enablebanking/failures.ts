/**
 * Converts answers of Enable Banking to upstream failures (docs/providers/enable-banking.md, Errors; reading
 * R20). The code in `error` decides: 401 is a refused token and an ended session alike. Pure. It lets no
 * secret through: messages are cleaned and cut.
 */
import { hideNumberShapes } from '#kernel/account-numbers.ts'
import { readRetryAfter } from '#kernel/retry-after.ts'
import { parseDay } from '#kernel/time.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import { readRefusalBody, toDetail } from '../refusal-body.ts'
import type { UpstreamResponse } from '../upstream.ts'

/** A refusal with the code that the callers branch on. */
export class RefusedError extends UpstreamError {
  /** In capitals, as `error` has it; empty: the answer has none. */
  readonly code: string
  /** Days in its detail (`YYYY-MM-DD`): of a refused period one may be the earliest that the bank allows. */
  readonly days: readonly string[]

  constructor(failure: UpstreamFailure, said: Pick<Said, 'code' | 'days'>) {
    super('enablebanking', failure)
    this.code = said.code
    this.days = said.days
  }
}

export const consentEnded =
  'the consent at the bank has ended; renew the connection, and the bank asks for it again'
const bankAsks =
  'the bank asks for something at its own site or app; do it there, then renew the connection'

/** The whole login has one session. */
const lost: ReadonlyMap<string, readonly ['invalidated' | 'revoked', string]> = new Map([
  ['EXPIRED_SESSION', ['invalidated', consentEnded]],
  ['CLOSED_SESSION', ['invalidated', consentEnded]],
  ['SESSION_DOES_NOT_EXIST', ['invalidated', consentEnded]],
  ['WRONG_SESSION_STATUS', ['invalidated', consentEnded]],
  ['REVOKED_SESSION', ['revoked', consentEnded]],
  ['ASPSP_PSU_ACTION_REQUIRED', ['invalidated', bankAsks]],
])

export const periodCodes: ReadonlySet<string> = new Set([
  'WRONG_TRANSACTIONS_PERIOD',
  'DATE_FROM_IN_FUTURE',
  'WRONG_DATE_INTERVAL',
  'PERIOD_INVALID',
])
export const goneCodes: ReadonlySet<string> = new Set([
  'ACCOUNT_DOES_NOT_EXIST',
  'INVALID_ACCOUNT_ID',
])
/** Faults of a request that we made: they are reported to operators as well. */
export const ourFaults: ReadonlySet<string> = new Set([
  'PSU_HEADER_NOT_PROVIDED',
  'PSU_HEADER_INVALID',
  'WRONG_REQUEST_PARAMETERS',
  'WRONG_ASPSP_PROVIDED',
])
const rejected: ReadonlySet<string> = new Set([
  ...periodCodes,
  ...ourFaults,
  'ACCESS_DENIED',
  'ASPSP_ACCOUNT_NOT_ACCESSIBLE',
  'ALREADY_AUTHORIZED',
  'AUTHORIZATION_NOT_PROVIDED',
  'EXPIRED_AUTHORIZATION_CODE',
  'WRONG_AUTHORIZATION_CODE',
  'NO_ACCOUNTS_ADDED',
  'WRONG_CREDENTIALS_PROVIDED',
  'TRANSACTION_DOES_NOT_EXIST',
])

/** A bank's own limit; no wait is told, and the provider says to go on after six hours. */
const bankLimitSeconds = 21_600
/** The wait after any other 429. */
const otherLimitSeconds = 60

interface Said {
  readonly code: string
  readonly message: string
  readonly days: readonly string[]
}

/** @throws RefusedError for every answer but 200. */
export function demandOk(response: UpstreamResponse, nowMs: number): Uint8Array {
  if (response.status >= 200 && response.status < 300) return response.body
  const said = readSaid(response.body)
  throw new RefusedError(toFailure(response, said, nowMs), said)
}

function toFailure(response: UpstreamResponse, said: Said, nowMs: number): UpstreamFailure {
  const { status, headers } = response
  const { code } = said
  const detail = said.message === '' ? `the provider answered ${status}` : said.message
  const ended = lost.get(code)
  if (ended !== undefined) {
    const [becomes, words] = ended
    return { kind: 'consent_lost', becomes, wholeLogin: true, detail: words }
  }
  if (goneCodes.has(code)) return { kind: 'account_gone', detail }
  if (status === 429) {
    const usual = code === 'ASPSP_RATE_LIMIT_EXCEEDED' ? bankLimitSeconds : otherLimitSeconds
    return { kind: 'throttled', retryAfterSeconds: readRetryAfter(headers, nowMs) ?? usual, detail }
  }
  if (code === 'WRONG_CONTINUATION_KEY') {
    return { kind: 'unavailable', status, detail: 'the bank cannot go on with its list' }
  }
  if (status >= 500 || status === 408 || code === 'ASPSP_ERROR' || code === 'ASPSP_TIMEOUT') {
    return { kind: 'unavailable', status, detail }
  }
  if (status < 400) return { kind: 'malformed', detail: `an unexpected status ${status}` }
  if (rejected.has(code)) return { kind: 'rejected', status, detail }
  if (status === 401 || status === 403 || code === 'REDIRECT_URI_NOT_ALLOWED') {
    return { kind: 'misconfigured', status, detail: `${detail} (${toAdvice(code)})` }
  }
  return { kind: 'rejected', status, detail }
}

const toAdvice = (code: string): string =>
  code === 'REDIRECT_URI_NOT_ALLOWED'
    ? 'add {BASE_URL}/providers/enablebanking/callback to the redirect URLs of the application'
    : 'the application’s id and private key, whether it is active, and the clock of this machine'

const dayPattern = /(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)/g

function readSaid(body: Uint8Array): Said {
  const { message, error, code, detail } = readRefusalBody(body)
  const inner: Record<string, unknown> = typeof detail === 'object' ? { ...detail } : {}
  const codes = [error, code, inner.error, inner.code]
  const named = codes.find((one) => typeof one === 'string' && /^[A-Z_]{3,60}$/.test(one))
  const days = detail === undefined ? null : JSON.stringify(detail).match(dayPattern)
  return {
    code: typeof named === 'string' ? named : '',
    message: clean(typeof message === 'string' ? message : ''),
    days: days?.filter((one) => parseDay(one) !== null) ?? [],
  }
}

/** Without tokens, keys, numbers and control characters. */
function clean(text: string): string {
  const plain = text
    .replace(/\beyJ[\w.-]+/g, '[secret]')
    .replace(/-----BEGIN[\s\S]*/g, '[secret]')
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
  return toDetail(hideNumberShapes(plain))
}

/** A body, or one of its rows, that cannot be read (reading R23). */
export function malformed(detail: string, cause?: unknown): UpstreamError {
  return new UpstreamError('enablebanking', { kind: 'malformed', detail }, cause)
}

export function unavailable(detail: string, cause?: unknown): UpstreamError {
  return new UpstreamError('enablebanking', { kind: 'unavailable', status: null, detail }, cause)
}

/** What a person gave cannot be used. */
export function refused(detail: string, cause?: unknown): UpstreamError {
  const failure = { kind: 'rejected', status: 400, isPersonal: true, detail } as const
  return new UpstreamError('enablebanking', failure, cause)
}

export function ended(becomes: 'invalidated' | 'revoked', detail = consentEnded): UpstreamError {
  const failure = { kind: 'consent_lost', becomes, wholeLogin: true, detail } as const
  return new UpstreamError('enablebanking', failure)
}
