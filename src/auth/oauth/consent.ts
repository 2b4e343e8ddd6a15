/**
 * Connects the engine and the consent page: which request waits in this browser, and what the person decides.
 * It never grants more than was requested, and takes the person's identity from our own sign-in, not from the
 * engine.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'
import { z } from 'zod'
import type { Person } from '#contract/actor.ts'
import { parseInput } from '#contract/input.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { Store, StoreRows } from '#store/ports/store.ts'
import { isFreshSignIn } from '../fresh-sign-in.ts'
import { grantableScopes, type PlanSettings } from '../plans.ts'
import { allScopes, type Scope } from '../scopes.ts'
import type { AgentFacts } from './agents.ts'
import { judgeChoice } from './chosen-connections.ts'
import { lifetimes } from './lifetimes.ts'
import type { ConsentRequests, PendingConsent } from './port.ts'
import { describeRedirect, toShownName } from './redirect.ts'
import { runFor } from './requester.ts'
import { toRowId } from './row-id.ts'

export interface ConsentOptions {
  readonly engine: () => Promise<{
    readonly provider: Provider
    /** True when the engine refused the request; false for our own failures. */
    readonly isRefusal: (error: unknown) => boolean
  }>
  readonly resource: () => string
  readonly store: Pick<Store, 'oauth' | 'transact' | 'connections'>
  readonly clock: Clock
  readonly plans: PlanSettings
  readonly consentPath: string
  /** The browser's address, which limits count when a client's document has to be fetched again. */
  readonly addressOf: (request: IncomingMessage) => string
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>
type Client = NonNullable<Awaited<ReturnType<Provider['Client']['find']>>>

/** Grants of one person to one client that a document names: all its installations share that id. */
const maxGrantsPerDocument = 10

/** What the person selected; unknown names grant nothing. */
const AllowInput = z.strictObject({
  scopes: z.array(z.string('must be text')),
  connections: z.array(z.string('must be text')).optional(),
  offered: z.array(z.string('must be text')).default([]),
})

/** `allow` and `deny` throw when no request waits: call `find` first. */
export function makeConsentRequests(options: ConsentOptions): ConsentRequests {
  return {
    async find(request, response) {
      const waiting = await findWaiting(options, request, response)
      return waiting === null ? null : toPending(waiting.interaction, waiting.client)
    },
    async allow(request, response, { actor, signedInAt, plan, input }) {
      const { scopes: selected, connections: chosen, offered } = parseInput(AllowInput, input)
      if (!isFreshSignIn(signedInAt, options.clock.now())) return null
      const { interaction, client } = await demandWaiting(options, request, response)
      const asked = askedScopes(interaction).filter((scope) => selected.includes(scope))
      const scopes = grantableScopes(asked, plan, options.plans)
      if (scopes.length === 0) return finish(options, request, response, refusal)
      const connections = await judgeChoice(options.store, actor.userId, { chosen, offered })
      const pending = toPending(interaction, client)
      const grantId = await saveGrant(options, { pending, client, scopes, actor, connections })
      if (grantId === null) return null
      return finish(options, request, response, {
        login: {
          accountId: actor.userId,
          remember: false,
          ts: Math.floor(signedInAt / 1000),
        },
        consent: { grantId },
      })
    },
    async deny(request, response, { signedInAt }) {
      if (!isFreshSignIn(signedInAt, options.clock.now())) return null
      await demandWaiting(options, request, response)
      return finish(options, request, response, refusal)
    },
  }
}

const refusal = { error: 'access_denied', error_description: 'the person refused' }

interface Waiting {
  readonly interaction: Interaction
  readonly client: Client
}

async function findWaiting(
  options: ConsentOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Waiting | null> {
  const { provider, isRefusal } = await options.engine()
  try {
    const interaction = await provider.interactionDetails(request, response)
    // A second request in this browser replaced the cookie: the first one's page must not decide it.
    const named = uidInPath(request.url ?? '', options.consentPath)
    if (named !== null && named !== interaction.uid) return null
    const clientId = String(interaction.params.client_id)
    const client = await runFor(options.addressOf(request), () => provider.Client.find(clientId))
    return client === undefined ? null : { interaction, client }
  } catch (error) {
    if (isRefusal(error)) return null
    throw error
  }
}

async function demandWaiting(
  options: ConsentOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Waiting> {
  const waiting = await findWaiting(options, request, response)
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
 * A new decision replaces the earlier ones, also when two are made at once. A client that registered itself
 * is one installation, so its earlier grants are revoked; a client with a document keeps the grants of its
 * other installations, up to the limit.
 */
async function revokeFormer(
  tx: Pick<StoreRows, 'oauth'>,
  former: readonly Uint8Array[],
  client: Client,
): Promise<void> {
  const kept = client.clientId.startsWith('https:') ? maxGrantsPerDocument - 1 : 0
  for (const grantId of former.slice(kept)) await tx.oauth.deleteGrant(grantId)
}

/** Null when the session of the deciding person has ended meanwhile: then no grant is kept. */
async function saveGrant(
  { engine, resource, store, clock }: ConsentOptions,
  facts: {
    readonly pending: PendingConsent
    readonly client: Client
    readonly scopes: readonly Scope[]
    readonly actor: Person
    readonly connections: readonly ConnectionId[] | null
  },
): Promise<string | null> {
  const { provider } = await engine()
  const { pending, client, scopes, actor, connections } = facts
  const { userId, sessionId } = actor
  const grant = new provider.Grant({ accountId: userId, clientId: client.clientId })
  // The engine keeps scopes in two places and reads both.
  grant.addOIDCScope(scopes.join(' '))
  grant.addResourceScope(resource(), scopes.join(' '))
  const grantId = await grant.save()
  const now = clock.now()
  const { clientName, redirectHost } = pending
  const { clientId } = client
  const agent: AgentFacts = { grantId, clientId, clientName, redirectHost, scopes, connections }
  // The engine stores the grant row; marking it as this person's agent is one transaction with the audit row.
  const made = toRowId('Grant', grantId)
  const isKept = await store.transact(async (tx) => {
    // Locks the user, so that of two decisions at once the second one finds the first.
    const former = await tx.oauth.listAgentGrants(userId, client.clientId)
    const isSaved = await tx.oauth.saveWhile(sessionId, {
      model: 'Agent',
      id: toRowId('Agent', grantId),
      grantId: made,
      origin: null,
      payload: JSON.stringify(agent),
      createdAt: now,
      expiresAt: now + lifetimes.grant * 1000,
    })
    if (!isSaved) return false
    await revokeFormer(tx, former, client)
    await tx.audit({
      at: now,
      actor,
      action: 'agent.connected',
      userId,
      details: { clientId, scopes, clientName },
    })
    const matter = { kind: 'agent-connected', name: clientName, redirectHost } as const
    const key = `agent:${Buffer.from(made).toString('hex')}`
    await tx.mails.queue({ key, userId, matter, at: now })
    return true
  })
  if (isKept) return grantId
  await store.oauth.deleteGrant(made)
  return null
}

/** Only the path, so that the browser keeps the host name under which it reached us. */
async function finish(
  { engine }: ConsentOptions,
  request: IncomingMessage,
  response: ServerResponse,
  result: Parameters<Provider['interactionResult']>[2],
): Promise<string> {
  const options = { mergeWithLastSubmission: false }
  const { provider } = await engine()
  const url = new URL(await provider.interactionResult(request, response, result, options))
  return url.pathname + url.search
}
