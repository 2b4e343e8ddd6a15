/**
 * Assembles the authorization server (edge, engine, store) and the ports that other rooms use. It opens no
 * listener, renders no page and runs nothing in the background (`sweep.ts` deletes what is over).
 */

import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { apiError } from '#contract/errors.ts'
import type { WindowStore } from '#fast/port.ts'
import { toAddressGroup } from '#kernel/addresses.ts'
import { parseUuid, type UserId } from '#kernel/ids.ts'
import { lazily } from '#kernel/lazily.ts'
import { type Clock, minuteMs } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'
import type { PlanSettings } from '../plans.ts'
import { makeAdapterFactory } from './adapter.ts'
import { makeAgents } from './agents.ts'
import type { RenderRefusal } from './answers.ts'
import { findChosenConnections } from './chosen-connections.ts'
import { makeClientDocuments } from './client-documents.ts'
import { makeConsentRequests } from './consent.ts'
import { type OAuthOrigins, toResource } from './discovery.ts'
import { makeEdge, type OAuthLimits, ownsRequest } from './edge.ts'
import { type EngineModule, loadEngine, makeEngine } from './engine.ts'
import { toOriginDigest } from './origin.ts'
import type { Agents, ConsentRequests, OAuthRecord, TokenReader } from './port.ts'
import { noteReachedBound, type ReachedBound, requesterAddress } from './requester.ts'
import { makeTokenReader } from './tokens.ts'

export interface OAuthReport {
  /** An internal failure; the client received `server_error`. */
  failed(error: unknown): void
  /** A code or refresh token was used twice; its whole grant was revoked. */
  reused(clientId: string): void
  request(record: OAuthRecord): void
  /** A request was refused because too many wait for a person: of its address, or in all. */
  pendingRefused(bound: ReachedBound): void
}

export interface OAuthOptions {
  readonly store: Store
  /** Read at every request: with port 0 the origins are known only after the listener is open. */
  readonly origins: () => OAuthOrigins
  readonly clock: Clock
  readonly windows: WindowStore
  readonly limits: OAuthLimits
  /** The client's address behind trusted proxies. */
  readonly addressOf: (request: IncomingMessage) => string
  /** Who is signed in in the browser; null: nobody. */
  readonly findPerson: (request: IncomingMessage) => Promise<UserId | null>
  /** Reads a body whole, within its limit; an error when the client has disconnected. */
  readonly readBody: (request: IncomingMessage) => Promise<Uint8Array | 'too_large' | Error>
  /** 32 bytes used for nothing else: signs cookies, keys the fingerprints of addresses. */
  readonly secret: Uint8Array
  /** Fetches a client's document: https, public addresses, no redirects, bounded in size and time. */
  readonly fetchDocument: (url: string) => Promise<Response>
  /** Path of the consent page, e.g. `/consent`; a request's uid is appended. */
  readonly consentPath: string
  readonly plans: PlanSettings
  /** Renders the page that a person sees when a request cannot continue. */
  readonly renderRefusal: RenderRefusal
  readonly report: OAuthReport
  /** Throws when code that is loaded late is no longer this process's own; absent: it is not looked at. */
  readonly checkCode?: () => void
}

export interface OAuth {
  /** Whether `handler` answers it; `path` is without its query. */
  owns(method: string | undefined, path: string): boolean
  handler(request: IncomingMessage, response: ServerResponse): void
  readonly renderRefusal: RenderRefusal
  readonly tokens: TokenReader
  readonly consent: ConsentRequests
  readonly agents: Agents
}

/** How many client documents one address may make us fetch in a minute. */
const fetchesPerMinute = 20

/** Assembles the server. The first request that needs it loads its engine: many have no agents. */
export function makeOAuth(options: OAuthOptions): OAuth {
  const { store, origins, clock, report } = options
  const engine = lazily(async () => buildEngine(await loadOwnEngine(options), options))
  const addressOf = (request: IncomingMessage) => toAddressGroup(options.addressOf(request))
  const resource = () => toResource(origins())
  return {
    owns: ownsRequest,
    renderRefusal: options.renderRefusal,
    handler: makeEdge({
      ...options,
      addressOf,
      engine: async (request, response) => (await engine()).serve(request, response),
      onFailure: report.failed,
      observe: report.request,
    }),
    tokens: makeTokenReader({ store: store.oauth, clock, resource, onDamaged: report.failed }),
    consent: makeConsentRequests({
      engine,
      addressOf,
      resource,
      store,
      clock,
      consentPath: options.consentPath,
      plans: options.plans,
    }),
    agents: makeAgents({ store, clock }),
  }
}

/**
 * @throws ApiError `service_unavailable` when its files are gone or were replaced, until the service is
 *   restarted.
 */
async function loadOwnEngine({ checkCode }: OAuthOptions): Promise<EngineModule> {
  try {
    checkCode?.()
    return await loadEngine()
  } catch (cause) {
    throw apiError('service_unavailable', { retryAfterSeconds: 5, cause })
  }
}

function buildEngine(module: EngineModule, options: OAuthOptions) {
  const { store, clock, windows, report } = options
  const documents = makeClientDocuments(options.fetchDocument, clock)
  const cookieKey = createHmac('sha256', options.secret).update('cookies').digest('base64url')
  const provider = makeEngine(module, {
    origins: options.origins(),
    adapter: makeAdapterFactory({
      store: store.oauth,
      forStranger: store.forStranger,
      clock,
      origin: () => {
        const address = requesterAddress()
        return address === null ? null : toOriginDigest(address, options.secret)
      },
      tooManyPending: () => new module.errors.TemporarilyUnavailable('too many requests wait'),
      alreadyUsed: () => new module.errors.InvalidGrant('already used'),
      onReuse: (payload) => report.reused(payload.clientId ?? ''),
      onDamaged: report.failed,
    }),
    onReuse: report.reused,
    onReachedBound: report.pendingRefused,
    async hasConsent(request, clientId) {
      const userId = await options.findPerson(request)
      return userId !== null && store.oauth.hasGrant(userId, clientId)
    },
    renderRefusal: options.renderRefusal,
    async chosenConnections(grantId) {
      const facts = { store: store.oauth, onDamaged: report.failed }
      const chosen = await findChosenConnections(facts, grantId)
      if (chosen === undefined)
        throw new module.errors.InvalidGrant('what was allowed is not known')
      return chosen
    },
    cookieKey,
    userExists: async (accountId) => {
      const userId = parseUuid<UserId>(accountId)
      return userId !== null && (await store.users.findAccess(userId)) !== null
    },
    fetch: documents.fetch,
    async mayFetch(clientId) {
      if (documents.isKnown(clientId)) return true
      const key = `oauth:fetch:${requesterAddress() ?? 'page'}` as const
      const { allowed } = await windows.take(key, fetchesPerMinute, minuteMs)
      if (!allowed) noteReachedBound('documents')
      return allowed
    },
    consentPath: options.consentPath,
    onFailure: report.failed,
  })
  return {
    provider,
    serve: provider.callback(),
    // When the engine refuses (no cookie, an expired request, an unknown client), there is nothing to decide.
    isRefusal: (error: unknown) => error instanceof module.errors.OIDCProviderError,
  }
}
