/**
 * The protocol engine, set up for exactly one thing: authorization code with PKCE for public clients, opaque tokens for
 * one resource. It owns the engine's configuration and nothing of the house; everything else of it is switched off.
 */
import { generateKeyPairSync } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import type { AdapterFactory, Configuration, interactionPolicy, Provider } from 'oidc-provider'
import { allScopes } from '../scopes.ts'
import { type Refusal, renderRefusal } from './answers.ts'
import { type OAuthOrigins, paths, toResource } from './discovery.ts'
import { lifetimes } from './lifetimes.ts'

export type EngineModule = typeof import('oidc-provider')

export interface EngineDeps {
  readonly origins: OAuthOrigins
  readonly adapter: AdapterFactory
  /** Signs the engine's cookies. */
  readonly cookieKey: string
  readonly userExists: (accountId: string) => Promise<boolean>
  /** Gets a client-id metadata document; only through the address guard. */
  readonly fetch: (url: string) => Promise<Response>
  readonly mayFetch: () => Promise<boolean>
  /** Path of the consent page; the request's uid follows it. */
  readonly consentPath: string
  readonly onFailure: (error: unknown) => void
  /** The engine met a code or refresh token that was redeemed before, and revoked its grant. */
  readonly onReuse: (clientId: string) => void
}

/** The largest metadata document; the draft recommends 5 kB. */
export const maxDocumentBytes = 5 * 1024

/** Loads the engine. It calls every runtime without a long-term name unsupported; ours is pinned, so that line is kept back. */
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

/** Makes the engine for these origins. */
export function makeEngine(module: EngineModule, deps: EngineDeps): Provider {
  const provider = new module.Provider(deps.origins.auth, configure(module, deps))
  // The head that it reads is ours (see replayRequest), so it may trust what that says of host and scheme.
  provider.proxy = true
  // Its browser session is not kept, so its cookie stays at home: whoever decides is signed in with us.
  const session = new RegExp(`^${provider.cookieName('session')}(?:\\.sig)?=`)
  provider.use(async (ctx, next) => {
    await next()
    const cookies = [ctx.res.getHeader('set-cookie') ?? []].flat().map(String)
    const kept = cookies.filter((cookie) => !session.test(cookie))
    if (kept.length > 0) ctx.res.setHeader('set-cookie', kept)
    else ctx.res.removeHeader('set-cookie')
  })
  // What escapes every handler of the engine; its types know only its own events.
  const emitter: EventEmitter = provider
  emitter.on('error', (error: unknown) => deps.onFailure(error))
  provider.on('grant.revoked', ({ oidc }) => {
    // By the token endpoint it revokes for reuse alone; elsewhere it was asked to.
    if (oidc.route === 'token') deps.onReuse(oidc.client?.clientId ?? '')
  })
  provider.on('server_error', (ctx, error: unknown) => {
    if (ctx.status === 503) ctx.set('retry-after', '5')
    deps.onFailure(error)
  })
  return provider
}

function configure(module: EngineModule, deps: EngineDeps): Configuration {
  return {
    adapter: deps.adapter,
    clientAuthMethods: ['none'],
    clientDefaults: {
      // Clients of 2025 name no type; theirs are loopback addresses and schemes of their own.
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      id_token_signed_response_alg: 'ES256',
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clockTolerance: 0,
    cookies: makeCookies(deps),
    expiresWithSession: async () => false,
    features: makeFeatures(module, deps),
    fetch: (input) => deps.fetch(String(input)),
    fetchResponseBodyLimits: { 'client_id metadata document': maxDocumentBytes },
    findAccount: async (_ctx, accountId) =>
      (await deps.userExists(accountId))
        ? { accountId, claims: async () => ({ sub: accountId }) }
        : undefined,
    interactions: {
      policy: makePolicy(module),
      // A path, so that the browser stays where it is when this machine has several names.
      url: async (_ctx, interaction) => `${deps.consentPath}/${interaction.uid}`,
    },
    // Agents of 2025 never ask for offline_access, and to sign in every quarter of an hour is no use to anybody.
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    jwks: { keys: [makeUnusedKey()] },
    loadExistingGrant: async (ctx) => {
      const grantId = ctx.oidc.result?.consent?.grantId
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId)
    },
    pkce: { required: () => true },
    renderError: async (ctx, out) => {
      const asked = ctx.accepts('html', 'json')
      const refusal = { ...out } as unknown as Refusal
      ctx.type = asked === 'json' ? 'json' : 'html'
      ctx.body = asked === 'json' ? refusal : renderRefusal(refusal)
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

function makeFeatures(module: EngineModule, deps: EngineDeps): Configuration['features'] {
  const resource = toResource(deps.origins)
  const off = { enabled: false }
  return {
    clientIdMetadataDocument: {
      enabled: true,
      // A draft: another version of it shall refuse to start, not surprise.
      ack: 'draft-02',
      allowFetch: () => deps.mayFetch(),
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
      // Somebody else's token is treated as one that does not exist (RFC 7009 §2.1, §2.2).
      allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
    },
    rpInitiatedLogout: off,
    userinfo: off,
  }
}

/** Every request goes to a person; nothing is decided by a browser that was here before. */
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
        // Or the person was deleted between the decision and the way back.
        (ctx) => ctx.oidc.result?.consent === undefined || ctx.oidc.grant === undefined,
      ),
    ),
  )
  return policy
}

function makeCookies({ origins, cookieKey }: EngineDeps): Configuration['cookies'] {
  const secure = origins.auth.startsWith('https:')
  const attributes = { httpOnly: true, sameSite: 'lax', secure, signed: true, path: '/' } as const
  return {
    keys: [cookieKey],
    long: attributes,
    names: {
      interaction: secure ? '__Host-oauth_request' : 'oauth_request',
      // The engine binds this one to its path, which `__Host-` does not allow.
      resume: secure ? '__Secure-oauth_resume' : 'oauth_resume',
      session: secure ? '__Host-oauth_session' : 'oauth_session',
    },
    short: attributes,
  }
}

/** The engine insists on a key for ID tokens, which are never made: this one dies with the process. */
function makeUnusedKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }
}
