/**
 * Akahu's HTTP: which credentials go with which endpoint, and what a refusal means. It returns bodies as bytes; what is
 * in them is read by `accounts.ts` and `pages.ts`. Tokens never leave it in a route, a detail or a log.
 */
import type { Clock } from '#kernel/time.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import type { CallContext, ProbeReply, UpstreamReport } from '../port.ts'
import { readServerTime } from '../server-time.ts'
import { makeUpstream, type UpstreamResponse } from '../upstream.ts'
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
  /** Whether Akahu is there and accepts the app's credentials. */
  probe(call: CallContext): Promise<ProbeReply>
  close(): Promise<void>
}

/** The list of institutions: it needs the app's credentials and nobody's token. */
const probeRequest: AkahuRequest = {
  method: 'GET',
  route: '/connections',
  target: '/connections',
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
    const failure = judge(response, request, audience, secrets)
    if (failure === null) return response.body
    throw new UpstreamError('akahu', failure)
  }

  function judge(
    response: UpstreamResponse,
    { route }: AkahuRequest,
    audience: Audience,
    secrets: readonly string[],
  ): UpstreamFailure | null {
    if (response.status >= 200 && response.status < 300) return null
    const failure = toFailure(response, audience, { nowMs: clock.now(), secrets })
    if (failure.kind === 'misconfigured') {
      report.alert({ provider: 'akahu', detail: `${route}: ${failure.detail}` })
    }
    return failure
  }

  const asAppHeaders = { authorization: `Basic ${basic}` }
  const appSecrets = [basic, appToken, appSecret]

  return {
    asUser: (userToken, request, call, audience = 'user') =>
      send(
        request,
        { authorization: `Bearer ${userToken}`, 'x-akahu-id': appToken },
        audience,
        call,
        [userToken, appToken, appSecret],
      ),
    asApp: (request, call) => send(request, asAppHeaders, 'app', call, appSecrets),
    async probe(call) {
      const response = await upstream.send({ ...probeRequest, headers: asAppHeaders }, call)
      const failure = judge(response, probeRequest, 'app', appSecrets)
      return { theirTimeMs: readServerTime(response.headers), failure }
    },
    close: () => upstream.close(),
  }
}
