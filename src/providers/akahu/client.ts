/**
 * Akahu's HTTP: which credentials each endpoint needs, and what a refusal means. It returns bodies as bytes;
 * `accounts.ts` and `reader.ts` parse them. Tokens never appear in a route, a detail or a log.
 */
import type { Clock } from '#kernel/time.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import type { CallContext, ProbeReply, UpstreamReport } from '../port.ts'
import { readServerTime } from '../server-time.ts'
import { makeUpstream, type UpstreamResponse } from '../upstream.ts'
import { type Audience, toFailure } from './failures.ts'

export interface AkahuOptions {
  /** Includes the version, e.g. `https://api.akahu.io/v1`. */
  readonly baseUrl: string
  readonly appToken: string
  readonly appSecret: string
  /** Bounds one provider call as a whole. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly report: UpstreamReport
}

export interface AkahuRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** For metrics: a template without ids and query. */
  readonly route: string
  /** The path below the base URL, with its query. */
  readonly target: string
  /** Sent as JSON. */
  readonly json?: unknown
}

export interface AkahuClient {
  /**
   * Sends a request with a user's token. `account`: the path names one account, so a 404 may mean that it was moved.
   */
  asUser(
    userToken: string,
    request: AkahuRequest,
    call: CallContext,
    audience?: Exclude<Audience, 'app'>,
  ): Promise<Uint8Array>
  /** Sends a request with the app's own credentials; only the operator can fix a refusal of them. */
  asApp(request: AkahuRequest, call: CallContext): Promise<Uint8Array>
  /** Checks that Akahu is reachable and accepts the app's credentials. */
  probe(call: CallContext): Promise<ProbeReply>
  close(): Promise<void>
}

/** The list of institutions needs the app's credentials but no user token. */
const probeRequest: AkahuRequest = {
  method: 'GET',
  route: '/connections',
  target: '/connections',
}

/** On whose behalf a request is made. */
interface Standing {
  readonly headers: Readonly<Record<string, string>>
  readonly audience: Audience
  /** Parts that are removed from an answer's text before it is logged. */
  readonly secrets: readonly string[]
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
    { headers, audience, secrets }: Standing,
    call: CallContext,
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
    asUser(userToken, request, call, audience = 'user') {
      const headers = { authorization: `Bearer ${userToken}`, 'x-akahu-id': appToken }
      const secrets = [userToken, appToken, appSecret]
      return send(request, { headers, audience, secrets }, call)
    },
    asApp: (request, call) =>
      send(request, { headers: asAppHeaders, audience: 'app', secrets: appSecrets }, call),
    async probe(call) {
      const response = await upstream.send({ ...probeRequest, headers: asAppHeaders }, call)
      const failure = judge(response, probeRequest, 'app', appSecrets)
      return { theirTimeMs: readServerTime(response.headers), failure }
    },
    close: () => upstream.close(),
  }
}
