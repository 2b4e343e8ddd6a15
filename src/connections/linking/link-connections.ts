/**
 * Adopts the consents that a person has given at a provider: one connection per institution, with its
 * accounts. Linking again updates existing connections and keeps their ids. Nothing is stored before the
 * provider has answered.
 */
import { type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { parseInput } from '#contract/input.ts'
import type { Provider } from '#contract/resources.ts'
import type { UserId } from '#kernel/ids.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { Credentials, Identity } from '#providers/credentials.ts'
import { UpstreamError } from '#providers/failure.ts'
import { toUpstreamApiError } from '#providers/guard.ts'
import { describeMisplaced } from '#providers/misplaced-key.ts'
import type { Adapter, DiscoveredConnection } from '#providers/port.ts'
import { LoginTakenError, OwnerGoneError } from '#store/failure.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { NewLogin } from '#store/ports/logins.ts'
import { adoptConsents, toUnsaved } from '../adopt-consents.ts'
import { type AskOptions, askProvider, getAdapter, limitTime, toLogin } from '../ask-provider.ts'
import { forgetReadings } from '../forget-readings.ts'
import { forgetListening, listenTo } from '../listen-to.ts'
import type { ActionOptions } from '../options.ts'
import { inTime, turnAt } from '../turns.ts'
import {
  type ClaimedLogin,
  endClaimed,
  findRenewedLogin,
  listKnown,
  makeSentClaims,
  saveClaimed,
} from './claimed-login.ts'
import { LinkInput } from './link-input.ts'

export type LinkConnections = (
  by: By,
  userId: UserId,
  input: unknown,
) => Promise<readonly ConnectionRow[]>

/**
 * Makes the action. It returns a connection for each consent of the provider, newest first.
 * @throws ApiError `user_not_found`, `provider_not_configured`; `invalid_params` for invalid input, and when
 *   the provider has no consent; `login_taken` for a personal key of somebody who is linked here;
 *   `too_many_connections`; `provider_unavailable` when its turn does not come in time, every other upstream
 *   failure by the mapping of `guard.ts`.
 */
export function makeLinkConnections(options: ActionOptions): LinkConnections {
  return async (by, userId, input) => {
    const credentials = parseCredentials(input)
    const { provider } = credentials
    if (!mayActFor(by, userId)) throw apiError('user_not_found')
    const askOptions = limitTime(options, { priority: 'user', person: by.person })
    const link = () => linkNow(options, by, { userId, credentials }, askOptions)
    const turn = { key: turnAt({ userId, provider }), kind: 'link' } as const
    const { connections, identity } = await inTime(options, turn, askOptions, link)
    if (identity.needsConsent === true) throw nothingToLink(provider, identity)
    return connections
  }
}

const nothingToLink = (provider: Provider, { ifNothing }: Identity) =>
  apiError('invalid_params', {
    message: `Nothing to link: ${provider} knows of no consent for these credentials`,
    details: [ifNothing ?? 'The person gives consent at the provider first; then link again.'],
  })

/** @throws ApiError `invalid_params` */
export function parseCredentials(input: unknown): Credentials {
  return parseInput(LinkInput, input)
}

interface Linked {
  readonly userId: UserId
  readonly credentials: Credentials
}

export interface LinkedByKey {
  readonly identity: Identity
  /** Newest first; empty only where the identity has no consent yet. */
  readonly connections: readonly ConnectionRow[]
}

/** The action itself, in its turn. @throws ApiError as it does. */
export async function linkNow(
  options: ActionOptions,
  by: By,
  { userId, credentials }: Linked,
  askOptions: AskOptions,
): Promise<LinkedByKey> {
  await demandUser(options, userId)
  const { identity, claimed, discovered } = await meet(
    options,
    by,
    { userId, credentials },
    askOptions,
  )
  const { provider } = credentials
  if (identity.needsConsent === true) return { identity, connections: [] }
  if (discovered.length === 0) throw nothingToLink(provider, identity)
  const renewed = await findRenewedLogin(options, userId, identity, discovered)
  const saved = toNewLogin(
    options,
    { userId, provider },
    renewed === null ? identity : { ...identity, upstreamUserId: renewed.upstreamUserId },
  )
  const { adopted, login } = await adoptConsents(
    options,
    { by, userId, provider, credentials: identity, login: (tx) => tx.logins.save(saved) },
    discovered,
  )
  const ids = new Set(adopted.map(({ id }) => id))
  if (claimed !== null) await endClaimed(options, claimed)
  if (renewed !== null && renewed.secret !== login.secret) {
    await forgetReadings(options, userId, renewed)
  }
  await forgetListening(options, login.id)
  await listenTo(options, login, askOptions)
  const rows = await options.store.connections.list(userId)
  // When the user is deleted meanwhile, that deletion ends the consents that were saved before.
  await demandUser(options, userId)
  return { identity, connections: rows.filter((row) => ids.has(row.id)) }
}

async function demandUser({ store }: ActionOptions, userId: UserId): Promise<void> {
  if ((await store.users.find(userId)) === null) throw apiError('user_not_found')
}

function toNewLogin(
  options: ActionOptions,
  owner: { readonly userId: UserId; readonly provider: Provider },
  { upstreamUserId, secret, isPersonal }: Identity,
): NewLogin {
  const isExclusive = isPersonal && options.sharesPersonalKeys !== true
  return { ...owner, upstreamUserId, secret, isExclusive }
}

interface Met {
  readonly identity: Identity
  /** Stored already, because its secret cannot be had again or waits for a consent; null: it is not. */
  readonly claimed: ClaimedLogin | null
  readonly discovered: readonly DiscoveredConnection[]
}

/** Whose credentials these are, and the connections behind them. */
async function meet(
  options: ActionOptions,
  by: By,
  { userId, credentials }: Linked,
  askOptions: AskOptions,
): Promise<Met> {
  const { provider, ...fields } = credentials
  const adapter = getAdapter(options.adapters, provider)
  refuseMisplaced(provider, fields)
  try {
    const known = await listKnown(options, userId, provider)
    return await askProvider(provider, askOptions, async (call) => {
      const sent = makeSentClaims(options, by, { userId, provider })
      const identity = await adapter.identify(credentials, call, known, sent)
      const login = toNewLogin(options, { userId, provider }, identity)
      const isKept = identity.isClaimed === true || identity.needsConsent === true
      const claimed = isKept ? await saveClaimed(options, by, login) : null
      const unsaved = claimed === null ? { ...toUnsaved(identity), userId } : toLogin(claimed.row)
      const discovered = await adapter.discover(unsaved, { ...call, isAnew: true })
      return { identity, claimed, discovered }
    })
  } catch (error) {
    if (error instanceof LoginTakenError) throw apiError('login_taken', { cause: error })
    if (error instanceof OwnerGoneError) throw apiError('user_not_found', { cause: error })
    if (!(error instanceof UpstreamError)) throw error
    throw toUpstreamApiError(await askWhoseFault(adapter, askOptions, error))
  }
}

/** A key of another provider is not sent to this one. @throws ApiError */
function refuseMisplaced(provider: Provider, fields: object): void {
  for (const [field, text] of Object.entries(fields)) {
    const what = describeMisplaced(provider, String(text))
    if (what === null) continue
    const { flag, onPage } = factsOf(provider).linkFields[field] ?? {}
    const detail = `${onPage?.label ?? `--${flag}`}: this is ${what}; copy the right one, alone`
    const failure = { kind: 'rejected', status: 400, isPersonal: true, detail } as const
    throw toUpstreamApiError(new UpstreamError(provider, failure))
  }
}

/**
 * Akahu answers the same for a wrong app token as for a refused user token. A call with our own credentials
 * alone shows which one it is, so that operators do not search for the mistake with the person.
 */
async function askWhoseFault(
  adapter: Adapter,
  askOptions: AskOptions,
  refusal: UpstreamError,
): Promise<UpstreamError> {
  const { provider, probe } = adapter
  const { kind } = refusal.failure
  const isPersonal = kind === 'rejected' && refusal.failure.isPersonal === true
  const isRefused = kind === 'rejected' || kind === 'consent_lost'
  if (!isRefused || isPersonal || probe === undefined) return refusal
  try {
    const { failure } = await askProvider(provider, askOptions, (call) => probe.call(adapter, call))
    if (failure?.kind !== 'misconfigured') return refusal
    return new UpstreamError(provider, failure, refusal)
  } catch (error) {
    // That call gave no further information, so the first refusal is used.
    if (error instanceof UpstreamError) return refusal
    throw error
  }
}
