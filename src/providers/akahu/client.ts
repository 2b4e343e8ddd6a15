/**
 * Akahu's HTTP: which credentials each endpoint needs, and what a refusal means. It returns bodies as bytes;
 * `accounts.ts` and `reader.ts` parse them. Tokens never appear in a route, a detail or a log.
 */
import assert from 'node:assert/strict'
import { z } from 'zod'
import type { Clock } from '#kernel/time.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import type { CallContext, ProbeReply, UpstreamReport } from '../port.ts'
import { readServerTime } from '../server-time.ts'
import { makeUpstream, type UpstreamResponse } from '../upstream.ts'
import { type Audience, toFailure } from './failures.ts'
import type { UserTokens } from './tokens.ts'

export interface AkahuOptions {
  /** Includes the version, e.g. `https://api.akahu.io/v1`. */
  readonly baseUrl: string
  /** Akahu's authorisation page, without a query. */
  readonly oauthUrl: string
  /** Null: people link with apps of their own only. */
  readonly appToken: string | null
  /** Null: a personal app, which has none. */
  readonly appSecret: string | null
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

export interface CodeExchange {
  readonly code: string
  /** As it was when the code was requested. */
  readonly redirectUri: string
}

export interface ExchangeAnswer {
  readonly body: Uint8Array
  /** Null for a 2xx answer. */
  readonly failure: UpstreamFailure | null
}

export interface AkahuClient {
  readonly appToken: string | null
  /** It is a full app, which has a secret. */
  readonly isFull: boolean
  /** Whether the tokens are of a personal app, with its own token. Null: of a full app that is not set up. */
  isPersonal(tokens: UserTokens): boolean | null
  /**
   * Sends a request for a person. `account`: the path names one account, so a 404 may mean that it was moved.
   * Throws `misconfigured` without a call when the tokens are of a full app and none is configured.
   */
  asUser(
    tokens: UserTokens,
    request: AkahuRequest,
    call: CallContext,
    audience?: Exclude<Audience, 'app'>,
  ): Promise<Uint8Array>
  /** Sends a request with a full app's own credentials; only the operator can fix a refusal of them. */
  asApp(request: AkahuRequest, call: CallContext): Promise<Uint8Array>
  /** Sends a full app's code for a token (`POST /token`), once. A refusal is an answer without the code. */
  exchangeCode(exchange: CodeExchange, call: CallContext): Promise<ExchangeAnswer>
  /** Reports a refusal of our own app that its answer alone does not show. */
  alert(detail: string): void
  /** Checks that Akahu is reachable and accepts a full app. A personal app has nothing to check. */
  probe(call: CallContext): Promise<ProbeReply>
  close(): Promise<void>
}

/** The list of institutions needs the app's credentials but no user token. */
const asAppRequest = { method: 'GET', route: '/connections', target: '/connections' } as const
/** Sent without any credentials: that it is refused shows that Akahu is reachable. */
const bareRequest = { method: 'GET', route: '/me', target: '/me' } as const

/** On whose behalf a request is made. */
interface Standing {
  readonly headers: Readonly<Record<string, string>>
  readonly audience: Audience
  /** The request is made with a personal app, which the person manages. */
  readonly isPersonal: boolean
  /** Parts that are removed from an answer's text before it is logged. */
  readonly secrets: readonly string[]
}

const nobody: Standing = { headers: {}, audience: 'user', isPersonal: false, secrets: [] }

export const noAppDetail =
  'this login has no app token of its own, and no full app is set: set AKAHU_APP_TOKEN and AKAHU_APP_SECRET, or link again'
/** The caller cannot fix it, so it is not a lost consent. */
const noApp: UpstreamFailure = { kind: 'misconfigured', status: 401, detail: noAppDetail }

/** Opens the pool. Every method throws UpstreamError, or the signal's own reason. */
export function makeClient(options: AkahuOptions): AkahuClient {
  const { baseUrl, timeoutMs, appToken, appSecret, clock, report } = options
  const upstream = makeUpstream({ provider: 'akahu', baseUrl, timeoutMs, report })

  async function send(request: AkahuRequest, standing: Standing, call: CallContext) {
    const response = await upstream.send({ ...request, headers: standing.headers }, call)
    const failure = judge(response, request, standing)
    if (failure === null) return response.body
    throw new UpstreamError('akahu', failure)
  }

  function judge(
    response: UpstreamResponse,
    { route }: AkahuRequest,
    standing: Standing,
  ): UpstreamFailure | null {
    if (response.status >= 200 && response.status < 300) return null
    const failure = toFailure(response, { ...standing, nowMs: clock.now() })
    return reported(route, nameBase(failure, route))
  }

  /** The failure itself; one that only the operator can fix is an alert too. */
  function reported(route: string, failure: UpstreamFailure): UpstreamFailure {
    if (failure.kind === 'misconfigured') {
      report.alert({ provider: 'akahu', detail: `${route}: ${failure.detail}` })
    }
    return failure
  }

  return {
    appToken,
    isFull: appSecret !== null,
    isPersonal: (tokens) => isOfPersonalApp(tokens, options),
    async asUser(tokens, request, call, audience = 'user') {
      const { userToken } = tokens
      const app = tokens.appToken ?? (appSecret === null ? null : appToken)
      if (app === null) throw new UpstreamError('akahu', reported(request.route, noApp))
      const standing = {
        headers: { authorization: `Bearer ${userToken}`, 'x-akahu-id': app },
        audience,
        isPersonal: isOfPersonalApp(tokens, options) === true,
        secrets: [...listForms(userToken), ...listForms(app), appSecret ?? ''],
      }
      return send(request, standing, call)
    },
    asApp: (request, call) => send(request, toAppStanding(options), call),
    async exchangeCode(exchange, call) {
      const { request, standing } = toExchange(options, exchange)
      const response = await upstream.send({ ...request, headers: standing.headers }, call)
      return { body: response.body, failure: judge(response, request, standing) }
    },
    alert: (detail) => report.alert({ provider: 'akahu', detail }),
    async probe(call) {
      const isFull = appSecret !== null
      const request = isFull ? asAppRequest : bareRequest
      const standing = isFull ? toAppStanding(options) : nobody
      const response = await upstream.send({ ...request, headers: standing.headers }, call)
      const failure = judge(response, request, standing)
      return {
        theirTimeMs: readServerTime(response.headers),
        failure: isFull ? (failure ?? toOddity(response)) : toBareFailure(failure),
        // Nothing at Akahu proves an app token without a user token.
        ...(isFull || appToken === null
          ? {}
          : { note: 'answers; the app token is proved with a user token, when linking' }),
      }
    },
    close: () => upstream.close(),
  }
}

type Apps = Pick<AkahuOptions, 'appToken' | 'appSecret'>

function isOfPersonalApp(tokens: UserTokens, { appToken, appSecret }: Apps): boolean | null {
  if (tokens.appToken !== null) return true
  return appToken === null || appSecret === null ? null : false
}

/** What of a token may stand in a message: the whole, as a URL has it, and the part after its prefix. */
function listForms(token: string): readonly string[] {
  return [token, encodeURIComponent(token), token.replace(/^(?:user|app)_token_/, '')]
}

/** HTTP Basic, which a full app alone can use. */
function toAppStanding({ appToken, appSecret }: Apps): Standing {
  assert(appToken !== null && appSecret !== null, 'only a full app has credentials of its own')
  const basic = Buffer.from(`${appToken}:${appSecret}`).toString('base64')
  return {
    headers: { authorization: `Basic ${basic}` },
    audience: 'app',
    isPersonal: false,
    secrets: [basic, appToken, appSecret],
  }
}

/** The app's credentials are in the body, so the request has no header of its own. */
function toExchange(apps: Apps, { code, redirectUri }: CodeExchange) {
  const { appToken, appSecret } = apps
  assert(appToken !== null && appSecret !== null, 'only a full app exchanges codes')
  const json = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: appToken,
    client_secret: appSecret,
  }
  const request = { method: 'POST', route: '/token', target: '/token', json } as const
  const secrets = [code, encodeURIComponent(code), ...listForms(appToken), appSecret]
  const standing: Standing = { headers: {}, audience: 'app', isPersonal: false, secrets }
  return { request, standing }
}

/** A request without credentials must be refused for that; then Akahu is reachable. */
function toBareFailure(failure: UpstreamFailure | null): UpstreamFailure | null {
  switch (failure?.kind) {
    case undefined:
      return { kind: 'malformed', detail: 'a request without any token is accepted' }
    case 'rejected':
      return [400, 403].includes(failure.status) ? null : failure
    case 'consent_lost':
      return null
    default:
      return failure ?? null
  }
}

/** A page of another server has status 200 too. */
function toOddity({ body }: UpstreamResponse): UpstreamFailure | null {
  try {
    const answer: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    if (Succeeded.safeParse(answer).success) return null
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  return { kind: 'malformed', detail: 'what it answers is not of Akahu' }
}

const Succeeded = z.object({ success: z.literal(true) })

/** These paths hold no id: where they are not, all of Akahu is not. */
function nameBase(failure: UpstreamFailure, route: string): UpstreamFailure {
  if (failure.kind !== 'rejected' || failure.status !== 404) return failure
  if (!namesNothing.includes(route)) return failure
  return { ...failure, detail: `it has nothing at ${route}; ${versionMissing}` }
}

const namesNothing: readonly string[] = [asAppRequest.route, bareRequest.route]
const versionMissing = 'AKAHU_BASE_URL includes the version, https://api.akahu.io/v1'
