/**
 * Configures the protocol engine for exactly one use: authorization code with PKCE for public clients, opaque
 * tokens for one resource. It owns the engine's configuration and no rule of ours; every other feature is
 * switched off.
 */
import { generateKeyPairSync } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { AdapterFactory, Configuration, interactionPolicy, Provider } from 'oidc-provider'
import { allScopes } from '../scopes.ts'
import { type OAuthRefusal, pagePolicy, type RenderRefusal } from './answers.ts'
import { type OAuthOrigins, paths, toResource } from './discovery.ts'
import { lifetimes } from './lifetimes.ts'
import { toShownName } from './redirect.ts'
import { type ReachedBound, reachedBound } from './requester.ts'

export type EngineModule = typeof import('oidc-provider')

export interface EngineOptions {
  readonly origins: OAuthOrigins
  readonly adapter: AdapterFactory
  /** Signs the engine's cookies. */
  readonly cookieKey: string
  readonly userExists: (accountId: string) => Promise<boolean>
  /** Fetches a client-id metadata document; must go through the address guard. */
  readonly fetch: (url: string) => Promise<Response>
  readonly mayFetch: (clientId: string) => Promise<boolean>
  /** Path of the consent page; the request's uid is appended. */
  readonly consentPath: string
  readonly onFailure: (error: unknown) => void
  /** A request was refused because too many wait. */
  readonly onReachedBound: (bound: ReachedBound) => void
  /**
   * True when the person who is signed in in the browser has consented to this client: only then may an error
   * redirect to its address.
   */
  readonly hasConsent: (request: IncomingMessage, clientId: string) => Promise<boolean>
  readonly renderRefusal: RenderRefusal
  /** The connections that a person chose for a grant; null: every one. */
  /** Throws the engine's refusal when it is not known what the person allowed. */
  readonly chosenConnections: (grantId: string) => Promise<readonly string[] | null>
  /** A code or refresh token was used twice and the engine revoked its grant. */
  readonly onReuse: (clientId: string) => void
}

/** The largest metadata document accepted; the draft recommends 5 kB. */
export const maxDocumentBytes = 5 * 1024

/** Loads the engine. Its warning about runtimes without long-term support is suppressed: ours is pinned. */
export async function loadEngine(): Promise<EngineModule> {
  const { warn } = console
  console.warn = (...words: unknown[]) => {
    if (!String(words[0]).includes('Unsupported runtime')) warn(...words)
  }
  try {
    return await import('oidc-provider')
  } finally {
    console.warn = warn
  }
}

export function makeEngine(module: EngineModule, options: EngineOptions): Provider {
  const provider = new module.Provider(options.origins.auth, configure(module, options))
  // The request's head is rebuilt by us (see replayRequest), so the engine may trust its host and scheme.
  provider.proxy = true
  // Its browser session is not kept, so its cookie is not sent: the consent page uses our own sign-in.
  const session = new RegExp(`^${provider.cookieName('session')}(?:\\.sig)?=`)
  provider.use(async (ctx, next) => {
    await next()
    const cookies = [ctx.res.getHeader('set-cookie') ?? []].flat().map(String)
    const kept = cookies.filter((cookie) => !session.test(cookie))
    if (kept.length > 0) ctx.res.setHeader('set-cookie', kept)
    else ctx.res.removeHeader('set-cookie')
  })
  provider.use(async (ctx, next) => {
    await next()
    await keepHere(ctx, options)
  })
  // Errors that none of the engine's handlers catch; its types list only its own events.
  const emitter: EventEmitter = provider
  emitter.on('error', (error: unknown, ctx?: { readonly req: IncomingMessage }) => {
    // A broken connection is not our failure, but the engine reports it like one.
    if (ctx?.req.socket.errored !== error) options.onFailure(error)
  })
  provider.on('grant.revoked', ({ oidc }) => {
    // At the token endpoint the engine revokes only because of reuse; elsewhere revocation was requested.
    if (oidc.route === 'token') options.onReuse(oidc.client?.clientId ?? '')
  })
  provider.on('server_error', (ctx, error: unknown) => {
    if (ctx.status === 503) ctx.set('retry-after', '5')
    options.onFailure(error)
  })
  return provider
}

type Context = Parameters<Parameters<Provider['use']>[0]>[0]

function showRefusal(ctx: Context, { renderRefusal }: EngineOptions, refusal: OAuthRefusal): void {
  ctx.set('content-security-policy', pagePolicy)
  ctx.type = 'html'
  ctx.body = renderRefusal(refusal, toShownName(ctx.oidc?.client?.clientName))
}

/** Retry-After when too many requests wait: they end within ten minutes, most within one. */
const retryAfterSeconds = 60

/**
 * Prevents the first step of an authorization from redirecting a browser, without asking anybody, to an
 * address that a client registered for itself, unless the browser's own person consented to that client (RFC
 * 9700 §4.11.2). Otherwise the error is shown as a page.
 */
async function keepHere(ctx: Context, options: EngineOptions): Promise<void> {
  if (ctx.path !== paths.authorization) return
  const bound = reachedBound()
  if (bound !== null) {
    options.onReachedBound(bound)
    ctx.status = 429
    ctx.remove('location')
    ctx.set('retry-after', String(retryAfterSeconds))
    return showRefusal(ctx, options, { error: 'temporarily_unavailable' })
  }
  const location = ctx.res.getHeader('location')
  if (typeof location !== 'string' || location.startsWith(`${options.consentPath}/`)) return
  const clientId = ctx.oidc.client?.clientId
  const known =
    clientId === undefined ? false : await options.hasConsent(ctx.req, clientId).catch(unavailable)
  if (known === true) return
  ctx.status = known === 'unavailable' ? 503 : 400
  ctx.remove('location')
  showRefusal(
    ctx,
    options,
    known === 'unavailable' ? { error: 'server_error' } : readRefusal(location),
  )

  function unavailable(error: unknown): 'unavailable' {
    options.onFailure(error)
    ctx.set('retry-after', '5')
    return 'unavailable'
  }
}

/** The error that the redirect would have carried to the client. */
function readRefusal(location: string): OAuthRefusal {
  const { search, hash } = new URL(location)
  const answer = new URLSearchParams(hash === '' ? search : hash.slice(1))
  const description = answer.get('error_description')
  return {
    error: answer.get('error') ?? 'invalid_request',
    ...(description === null ? {} : { error_description: description }),
  }
}

function configure(module: EngineModule, options: EngineOptions): Configuration {
  return {
    adapter: options.adapter,
    clientAuthMethods: ['none'],
    clientDefaults: {
      // Many MCP clients send no type; their redirects are loopback addresses and private-use schemes.
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      id_token_signed_response_alg: 'ES256',
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clockTolerance: 0,
    cookies: makeCookies(options),
    expiresWithSession: async () => false,
    // Stored in the token's row; clients never see it.
    extraTokenClaims: async (_ctx, token) => ({
      connections: 'grantId' in token ? await options.chosenConnections(token.grantId ?? '') : [],
    }),
    features: makeFeatures(module, options),
    fetch: (input) => options.fetch(String(input)),
    fetchResponseBodyLimits: { 'client_id metadata document': maxDocumentBytes },
    findAccount: async (_ctx, accountId) =>
      (await options.userExists(accountId))
        ? { accountId, claims: async () => ({ sub: accountId }) }
        : undefined,
    interactions: {
      policy: makePolicy(module),
      // A path, so that the browser keeps its host when this machine has several names.
      url: async (_ctx, interaction) => `${options.consentPath}/${interaction.uid}`,
    },
    // Many MCP clients never request `offline_access`: without this they would sign in every 15 minutes.
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    jwks: { keys: [makeUnusedKey()] },
    loadExistingGrant: async (ctx) => {
      const grantId = ctx.oidc.result?.consent?.grantId
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId)
    },
    pkce: { required: () => true },
    renderError: async (ctx, out) => {
      const asked = ctx.accepts('html', 'json')
      const refusal = { ...out } as unknown as OAuthRefusal
      if (asked === 'json') ctx.body = refusal
      else showRefusal(ctx, options, refusal)
    },
    responseTypes: ['code'],
    revokeGrantPolicy: () => true,
    rotateRefreshToken: true,
    routes: paths,
    scopes: [...allScopes, 'offline_access'],
    ttl: {
      AccessToken: lifetimes.accessToken,
      AuthorizationCode: lifetimes.code,
      Grant: lifetimes.grant,
      IdToken: lifetimes.code,
      Interaction: lifetimes.interaction,
      RefreshToken: (ctx) =>
        ctx?.oidc.entities.RotatedRefreshToken?.remainingTTL ?? lifetimes.refreshToken,
      Session: lifetimes.interaction,
    },
  }
}

function makeFeatures(module: EngineModule, options: EngineOptions): Configuration['features'] {
  const resource = toResource(options.origins)
  const off = { enabled: false }
  return {
    clientIdMetadataDocument: {
      enabled: true,
      // The draft may change: with another version of it the engine refuses to start.
      ack: 'draft-02',
      allowFetch: (_ctx, clientId) => options.mayFetch(clientId),
      cacheDuration: { min: 300, max: 3600 },
    },
    devInteractions: off,
    dPoP: off,
    pushedAuthorizationRequests: off,
    registration: { enabled: true, issueRegistrationAccessToken: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: async () => resource,
      useGrantedResource: async () => true,
      getResourceServerInfo: async (_ctx, indicator) => {
        if (indicator !== resource) throw new module.errors.InvalidTarget()
        return {
          scope: allScopes.join(' '),
          audience: resource,
          accessTokenFormat: 'opaque',
          accessTokenTTL: lifetimes.accessToken,
        }
      },
    },
    revocation: {
      enabled: true,
      // Another client's token is treated as one that does not exist (RFC 7009 §2.1, §2.2).
      allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
    },
    rpInitiatedLogout: off,
    userinfo: off,
  }
}

/** Every request needs a person's decision; an earlier visit of the browser decides nothing. */
function makePolicy({ interactionPolicy }: EngineModule): interactionPolicy.DefaultPolicy {
  const { base, Check, Prompt } = interactionPolicy
  const policy = base()
  policy.clear()
  policy.add(new Prompt({ name: 'login', requestable: true }))
  policy.add(
    new Prompt(
      { name: 'consent', requestable: true },
      new Check(
        'not_decided',
        'a person has to decide',
        'consent_required',
        // The person can have been deleted between the decision and the redirect back.
        (ctx) => ctx.oidc.result?.consent === undefined || ctx.oidc.grant === undefined,
      ),
    ),
  )
  return policy
}

function makeCookies({ origins, cookieKey }: EngineOptions): Configuration['cookies'] {
  const secure = origins.auth.startsWith('https:')
  const attributes = { httpOnly: true, sameSite: 'lax', secure, signed: true, path: '/' } as const
  return {
    keys: [cookieKey],
    long: attributes,
    names: {
      interaction: secure ? '__Host-oauth_request' : 'oauth_request',
      // The engine limits this cookie to its path, which `__Host-` does not allow.
      resume: secure ? '__Secure-oauth_resume' : 'oauth_resume',
      session: secure ? '__Host-oauth_session' : 'oauth_session',
    },
    short: attributes,
  }
}

/**
 * The engine requires a signing key for ID tokens, which are never issued: this key exists in memory only.
 */
function makeUnusedKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }
}
