/**
 * Enable Banking's HTTP: requests of an application, and of a person who is present. Ids of sessions and
 * accounts, tokens and keys never appear in a route, a detail or a log.
 */
import type { Clock } from '#kernel/time.ts'
import type { Budget } from '../budget.ts'
import { UpstreamError } from '../failure.ts'
import type { CallContext, ProbeReply, UpstreamReport } from '../port.ts'
import type { Readings } from '../readings.ts'
import { readServerTime } from '../server-time.ts'
import { makeUpstream } from '../upstream.ts'
import { type Application, makeTokens } from './application.ts'
import { demandOk, ourFaults, RefusedError } from './failures.ts'
import { ApplicationBody, readBody } from './wire.ts'

export interface EnableBankingOptions {
  /** `https://api.enablebanking.com`; its paths have no prefix. */
  readonly baseUrl: string
  /** The application of this installation; null: people link with applications of their own only. */
  readonly applicationId: string | null
  /** PEM. */
  readonly privateKey: string | null
  /** Whose banks people choose from (ISO 3166-1 alpha-2); null: those of the application. */
  readonly countries: readonly string[] | null
  readonly timeoutMs: number
  readonly clock: Clock
  readonly report: UpstreamReport
  /** Consulted before every call to a bank without its person, for each account. */
  readonly accountThrottle: Budget
  readonly readings: Readings
}

export interface EnableBankingRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** For metrics: a template without ids and query. */
  readonly route: string
  readonly target: string
  readonly json?: unknown
  /** Headers about the person who is present (`psu-headers.ts`). */
  readonly headers?: Readonly<Record<string, string>>
  /** A call to a bank. */
  readonly isCountedByDay?: boolean
}

export interface EnableBankingClient {
  /** This installation's; null: it has none. */
  readonly application: Application | null
  /** @throws RefusedError for every answer but 2xx. */
  send(
    application: Application,
    request: EnableBankingRequest,
    call: CallContext,
  ): Promise<Uint8Array>
  probe(call: CallContext): Promise<ProbeReply>
  close(): Promise<void>
}

/** Opens the pool. Every method throws UpstreamError, or the signal's own reason. */
export function makeClient(options: EnableBankingOptions): EnableBankingClient {
  const { baseUrl, timeoutMs, report, clock, applicationId, privateKey } = options
  const upstream = makeUpstream({ provider: 'enablebanking', baseUrl, timeoutMs, report })
  const makeToken = makeTokens(clock)
  const application =
    applicationId === null || privateKey === null
      ? null
      : { id: applicationId, privateKey, isOwn: false }

  async function send(by: Application, request: EnableBankingRequest, call: CallContext) {
    const headers = { ...request.headers, authorization: `Bearer ${await makeToken(by)}` }
    const response = await upstream.send({ ...request, headers }, call)
    try {
      return demandOk(response, clock.now())
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error
      note(by, request.route, error)
      const { failure } = error
      if (!by.isOwn || failure.kind !== 'misconfigured') throw error
      throw new RefusedError({ ...failure, isPersonal: true }, error)
    }
  }

  function note({ isOwn }: Application, route: string, { failure, code }: RefusedError): void {
    // Only the person can repair an application of their own.
    if (failure.kind === 'misconfigured' && !isOwn) {
      report.alert({ provider: 'enablebanking', detail: `${route}: ${failure.detail}` })
    }
    if (ourFaults.has(code)) {
      report.oddity({ provider: 'enablebanking', what: `refused: ${code}` })
    }
  }

  return {
    application,
    send,
    async probe(call) {
      const request = { method: 'GET', route: '/application', target: '/application' } as const
      const headers =
        application === null ? {} : { authorization: `Bearer ${await makeToken(application)}` }
      const response = await upstream.send({ ...request, headers }, call)
      const theirTimeMs = readServerTime(response.headers)
      if (application === null) return { theirTimeMs, failure: judgeBare(response.status) }
      try {
        const told = readBody(ApplicationBody, demandOk(response, clock.now()))
        return { theirTimeMs, failure: null, ...describe(told) }
      } catch (error) {
        if (error instanceof UpstreamError) return { theirTimeMs, failure: error.failure }
        throw error
      }
    },
    close: () => upstream.close(),
  }
}

/** A request without a token must be refused for that; then the provider is reachable. */
function judgeBare(status: number): ProbeReply['failure'] {
  if (status === 401 || status === 403) return null
  const detail = `a request without a token was answered ${status}; ENABLEBANKING_BASE_URL has no path`
  return status >= 500
    ? { kind: 'unavailable', status, detail: `the provider answered ${status}` }
    : { kind: 'malformed', detail }
}

/** What the application says of itself: whether it can be used, and where it lets browsers return. */
function describe(told: ApplicationToldOf): Pick<ProbeReply, 'note' | 'nextStep' | 'returnUrls'> {
  const kind = (told.environment ?? 'unknown').toLowerCase()
  const returnUrls = told.redirect_urls ?? []
  if (told.active !== false) return { note: `the application (${kind}) is active`, returnUrls }
  return {
    note: `the application (${kind}) is not active yet`,
    nextStep:
      'Link an account in the control panel of enablebanking.com: the application is active then, and sees that account',
    returnUrls,
  }
}

type ApplicationToldOf = ReturnType<typeof ApplicationBody.parse>
