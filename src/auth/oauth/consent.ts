/**
 * The desk between the engine and the consent page: what waits for this browser's person, and what becomes of it. It
 * never grants what was not asked for, and takes the person's word from the house's own sign-in, not from the engine.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'
import type { Clock } from '#kernel/time.ts'
import type { OAuthStore } from '#store/oauth-port.ts'
import { allScopes, type Scope } from '../scopes.ts'
import type { AgentFacts } from './agents.ts'
import { lifetimes } from './lifetimes.ts'
import type { ConsentDesk, PendingConsent } from './port.ts'
import { describeRedirect, toShownName } from './redirect.ts'
import { runFor } from './requester.ts'
import { toRowId } from './row-id.ts'

export interface ConsentDeps {
  readonly engine: () => Provider
  readonly resource: () => string
  readonly store: OAuthStore
  readonly clock: Clock
  readonly consentPath: string
  /** True for what the engine says no to; false for failures of ours. */
  readonly isRefusal: (error: unknown) => boolean
  /** The browser's address, which counts when a client's document has to be fetched again. */
  readonly addressOf: (request: IncomingMessage) => string
  readonly onAllowed: (consent: {
    readonly userId: string
    readonly clientId: string
    readonly scopes: readonly Scope[]
  }) => Promise<void>
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>
type Client = NonNullable<Awaited<ReturnType<Provider['Client']['find']>>>

/** Grants of one person to one client that identifies itself by a document: its installations share that name. */
const maxGrantsPerDocument = 10

/** Makes the desk. Its `allow` and `deny` throw when there is nothing to decide: ask `find` first. */
export function makeConsentDesk(deps: ConsentDeps): ConsentDesk {
  return {
    async find(request, response) {
      const waiting = await findWaiting(deps, request, response)
      return waiting === null ? null : toPending(waiting.interaction, waiting.client)
    },
    async allow(request, response, decision) {
      const { interaction, client } = await demandWaiting(deps, request, response)
      const asked = askedScopes(interaction)
      const scopes = asked.filter((scope) => decision.scopes.includes(scope))
      if (scopes.length === 0) return finish(deps, request, response, refusal)
      const pending = toPending(interaction, client)
      await revokeFormer(deps, decision.userId, client)
      const grantId = await saveGrant(deps, { pending, client, scopes, userId: decision.userId })
      if (grantId === null) return finish(deps, request, response, refusal)
      await deps.onAllowed({ userId: decision.userId, clientId: client.clientId, scopes })
      return finish(deps, request, response, {
        login: {
          accountId: decision.userId,
          remember: false,
          ts: Math.floor(decision.signedInAt / 1000),
        },
        consent: { grantId },
      })
    },
    async deny(request, response) {
      await demandWaiting(deps, request, response)
      return finish(deps, request, response, refusal)
    },
  }
}

const refusal = { error: 'access_denied', error_description: 'the person refused' }

interface Waiting {
  readonly interaction: Interaction
  readonly client: Client
}

async function findWaiting(
  deps: ConsentDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Waiting | null> {
  const provider = deps.engine()
  try {
    const interaction = await provider.interactionDetails(request, response)
    // A second request in this browser has taken the cookie over: the page of the first must not decide for it.
    const named = uidInPath(request.url ?? '', deps.consentPath)
    if (named !== null && named !== interaction.uid) return null
    const clientId = String(interaction.params.client_id)
    const client = await runFor(deps.addressOf(request), () => provider.Client.find(clientId))
    return client === undefined ? null : { interaction, client }
  } catch (error) {
    if (deps.isRefusal(error)) return null
    throw error
  }
}

async function demandWaiting(
  deps: ConsentDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Waiting> {
  const waiting = await findWaiting(deps, request, response)
  if (waiting === null) throw new Error('no request for consent waits in this browser')
  return waiting
}

function uidInPath(url: string, consentPath: string): string | null {
  const [path = ''] = url.split('?')
  return path.startsWith(`${consentPath}/`) ? path.slice(consentPath.length + 1) : null
}

function askedScopes({ params }: Interaction): readonly Scope[] {
  const asked = String(params.scope ?? '').split(' ')
  return allScopes.filter((scope) => asked.includes(scope))
}

function toPending(interaction: Interaction, client: Client): PendingConsent {
  const redirect = describeRedirect(String(interaction.params.redirect_uri))
  return {
    uid: interaction.uid,
    clientName: toShownName(client.clientName) ?? redirect.host,
    redirectHost: redirect.host,
    scopes: askedScopes(interaction),
    formAction: redirect.formAction,
  }
}

/**
 * What the person says now replaces what they said before. A client that registered itself is one installation, so its
 * former grants go; of a client with a document the other installations stay, up to a bound.
 */
async function revokeFormer(
  { store }: ConsentDeps,
  userId: Parameters<OAuthStore['listGrants']>[0],
  client: Client,
): Promise<void> {
  const former = await store.listGrants(userId, client.clientId)
  const kept = client.clientId.startsWith('https:') ? maxGrantsPerDocument - 1 : 0
  for (const grantId of former.slice(kept)) await store.deleteGrant(grantId)
}

/** Null when the person was deleted meanwhile. */
async function saveGrant(
  { engine, resource, store, clock }: ConsentDeps,
  facts: {
    readonly pending: PendingConsent
    readonly client: Client
    readonly scopes: readonly Scope[]
    readonly userId: string
  },
): Promise<string | null> {
  const provider = engine()
  const { pending, client, scopes, userId } = facts
  const grant = new provider.Grant({ accountId: userId, clientId: client.clientId })
  // The engine keeps scopes in two places and wants them in both.
  grant.addOIDCScope(scopes.join(' '))
  grant.addResourceScope(resource(), scopes.join(' '))
  const grantId = await grant.save()
  const now = clock.now()
  const { clientName, redirectHost } = pending
  const agent: AgentFacts = { grantId, clientName, redirectHost, scopes }
  const isKept = await store.save({
    model: 'Agent',
    id: toRowId('Agent', grantId),
    grantId: toRowId('Grant', grantId),
    origin: null,
    payload: JSON.stringify(agent),
    createdAt: now,
    expiresAt: now + lifetimes.grant * 1000,
  })
  return isKept ? grantId : null
}

/** The path alone, so that the browser stays at the name that it knows us by. */
async function finish(
  { engine }: ConsentDeps,
  request: IncomingMessage,
  response: ServerResponse,
  result: Parameters<Provider['interactionResult']>[2],
): Promise<string> {
  const options = { mergeWithLastSubmission: false }
  const url = new URL(await engine().interactionResult(request, response, result, options))
  return url.pathname + url.search
}
