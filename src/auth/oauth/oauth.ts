/**
 * The authorization server put together: edge, engine, store, and what the rest of the house may ask of them. It opens
 * no listener and knows no page; whoever makes it closes it.
 */
import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'
import { toAddressGroup } from '#kernel/addresses.ts'
import { parseUuid, type UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { WindowStore } from '#store/kv-port.ts'
import type { Store } from '#store/port.ts'
import { makeAdapterFactory } from './adapter.ts'
import { makeAgents } from './agents.ts'
import { makeDocumentFetch } from './client-documents.ts'
import { makeConsentDesk } from './consent.ts'
import { type OAuthOrigins, toResource } from './discovery.ts'
import { makeEdge, type OAuthEvent, type OAuthLimits, routes } from './edge.ts'
import { type EngineModule, loadEngine, makeEngine } from './engine.ts'
import type { Agents, ConsentDesk, TokenReader } from './port.ts'
import { requesterAddress } from './requester.ts'
import { startSweep } from './sweep.ts'
import { makeTokenReader } from './tokens.ts'

export interface OAuthReport {
  /** Something of ours failed; the client was told `server_error`. */
  failed(error: unknown): void
  /** A code or refresh token came twice; everything of its grant was revoked. */
  reused(clientId: string): void
  request(event: OAuthEvent): void
  sweepFailed(error: unknown): void
}

export interface OAuthOptions {
  readonly store: Store
  /** Asked for at every request: with port 0 they are known late. */
  readonly origins: () => OAuthOrigins
  readonly clock: Clock
  readonly windows: WindowStore
  readonly limits: OAuthLimits
  /** The client's address behind trusted proxies. */
  readonly addressOf: (request: IncomingMessage) => string
  /** 32 bytes of their own: signs cookies, fingerprints addresses. */
  readonly secret: Uint8Array
  /** Gets a client's document: https, public addresses, no redirects, bounded in size and time. */
  readonly fetchDocument: (url: string) => Promise<Response>
  /** Path of the consent page, e.g. `/consent`: a request's uid follows it. */
  readonly consentPath: string
  readonly report: OAuthReport
}

export interface OAuth {
  /** Everything that `handler` answers; `:uid` stands for one segment. */
  readonly routes: typeof routes
  handler(request: IncomingMessage, response: ServerResponse): void
  readonly tokens: TokenReader
  readonly consent: ConsentDesk
  readonly agents: Agents
  /** Deletes what has expired, now; it is also done every ten minutes. */
  sweep(): Promise<void>
  close(): Promise<void>
}

/** Documents of clients that one address may make us fetch in a minute. */
const fetchesPerMinute = 20

/** Loads the engine and puts the server together. */
export async function makeOAuth(options: OAuthOptions): Promise<OAuth> {
  const { store, origins, clock, report } = options
  const module = await loadEngine()
  const engine = lazily(() => buildEngine(module, options))
  const serve = lazily(() => engine().callback())
  const addressOf = (request: IncomingMessage) => toAddressGroup(options.addressOf(request))
  const resource = () => toResource(origins())
  const audit = (userId: string, action: string, subject: string) =>
    store.audit({
      at: clock.now(),
      actor: 'user',
      action,
      userId: parseUuid<UserId>(userId),
      subject,
    })
  const sweep = startSweep({ store: store.oauth, clock, onFailure: report.sweepFailed })
  return {
    routes,
    handler: makeEdge({
      ...options,
      addressOf,
      engine: (request, response) => serve()(request, response),
      onFailure: report.failed,
      observe: report.request,
    }),
    tokens: makeTokenReader({ store: store.oauth, clock, resource }),
    consent: makeConsentDesk({
      engine,
      // What the engine refuses (no cookie, an expired request, a client that is gone) is nothing to decide.
      isRefusal: (error) => error instanceof module.errors.OIDCProviderError,
      addressOf,
      resource,
      store: store.oauth,
      clock,
      consentPath: options.consentPath,
      onAllowed: ({ userId, clientId, scopes }) =>
        audit(userId, 'agent.connected', `${clientId} ${scopes.join(' ')}`),
    }),
    agents: makeAgents({
      store: store.oauth,
      clock,
      onDisconnected: (userId, clientId) => audit(userId, 'agent.disconnected', clientId),
    }),
    sweep: sweep.run,
    close: sweep.stop,
  }
}

function buildEngine(module: EngineModule, options: OAuthOptions): Provider {
  const { store, clock, windows, report } = options
  const fingerprint = (address: string) =>
    new Uint8Array(createHmac('sha256', options.secret).update(`address:${address}`).digest())
  const cookieKey = createHmac('sha256', options.secret).update('cookies').digest('base64url')
  return makeEngine(module, {
    origins: options.origins(),
    adapter: makeAdapterFactory({
      store: store.oauth,
      clock,
      origin: () => {
        const address = requesterAddress()
        return address === null ? null : fingerprint(address)
      },
      alreadyUsed: () => new module.errors.InvalidGrant('already used'),
      onReuse: (payload) => report.reused(payload.clientId ?? ''),
    }),
    onReuse: report.reused,
    cookieKey,
    userExists: async (accountId) => {
      const userId = parseUuid<UserId>(accountId)
      return userId !== null && (await store.users.findAccess(userId)) !== null
    },
    fetch: makeDocumentFetch(options.fetchDocument),
    mayFetch: async () => {
      const key = `oauth:fetch:${requesterAddress() ?? 'page'}`
      return (await windows.take(key, fetchesPerMinute, 60_000)).allowed
    },
    consentPath: options.consentPath,
    onFailure: report.failed,
  })
}

/** Made at the first use and kept. */
function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
