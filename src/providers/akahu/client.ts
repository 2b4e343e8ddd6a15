/**
 * Akahu's HTTP: which credentials go with which endpoint, and what a refusal means. It returns bodies as bytes; what is
 * in them is read by `accounts.ts` and `pages.ts`. Tokens never leave it in a route, a detail or a log.
 */
import type { Clock } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type { CallContext, UpstreamReport } from '../port.ts'
import { makeUpstream } from '../upstream.ts'
import { type Audience, toFailure } from './refusals.ts'

export interface AkahuOptions {
  /** Includes the version, e.g. `https://api.akahu.io/v1`. */
  readonly baseUrl: string
  readonly appToken: string
  readonly appSecret: string
  /** One provider call in all. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly report: UpstreamReport
}

export interface AkahuRequest {
  readonly method: 'GET' | 'DELETE'
  /** A template for metrics: no ids, no query. */
  readonly route: string
  /** Path below the base URL with its query. */
  readonly target: string
}

export interface AkahuClient {
  /** Asks with a user's token. `account`: the path names one account, whose 404 may mean that it was moved. */
  asUser(
    userToken: string,
    request: AkahuRequest,
    call: CallContext,
    audience?: Exclude<Audience, 'app'>,
  ): Promise<Uint8Array>
  /** Asks with the app's own credentials; a refusal of them is the operator's to mend. */
  asApp(request: AkahuRequest, call: CallContext): Promise<Uint8Array>
  close(): Promise<void>
}

/** Opens the pool. Every method throws UpstreamError, or the signal's own reason. */
export function makeClient(options: AkahuOptions): AkahuClient {
  const { appToken, appSecret, clock, report } = options
  const upstream = makeUpstream({
    provider: 'akahu',
    baseUrl: options.baseUrl,
    timeoutMs: options.timeoutMs,
    report,
  })
  const basic = Buffer.from(`${appToken}:${appSecret}`).toString('base64')

  async function send(
    request: AkahuRequest,
    headers: Readonly<Record<string, string>>,
    audience: Audience,
    call: CallContext,
    secrets: readonly string[],
  ): Promise<Uint8Array> {
    const response = await upstream.send({ ...request, headers }, call)
    if (response.status >= 200 && response.status < 300) return response.body
    const failure = toFailure(response, audience, { nowMs: clock.now(), secrets })
    if (failure.kind === 'misconfigured') {
      report.alert({ provider: 'akahu', detail: `${request.route}: ${failure.detail}` })
    }
    throw new UpstreamError('akahu', failure)
  }

  return {
    asUser: (userToken, request, call, audience = 'user') =>
      send(
        request,
        { authorization: `Bearer ${userToken}`, 'x-akahu-id': appToken },
        audience,
        call,
        [userToken, appToken, appSecret],
      ),
    asApp: (request, call) =>
      send(request, { authorization: `Basic ${basic}` }, 'app', call, [basic, appToken, appSecret]),
    close: () => upstream.close(),
  }
}
