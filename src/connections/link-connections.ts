/**
 * Adopts the consents that a person has given at a provider: one connection per institution, with its accounts.
 * Linking again updates existing connections and keeps their ids. Nothing is stored before the provider has answered;
 * then everything is stored in one transaction, or nothing. When the user is being deleted meanwhile, nothing is
 * stored and the consents are ended.
 */
import { type By, mayActFor } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { parseInput } from '#contract/input.ts'
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId, LoginId, UserId } from '#kernel/ids.ts'
import { newId } from '#kernel/ids.ts'
import type { Credentials, Identity } from '#providers/credentials.ts'
import { UpstreamError } from '#providers/failure.ts'
import { toApiError } from '#providers/guard.ts'
import type { Adapter, DiscoveredConnection } from '#providers/port.ts'
import { LoginTakenError, OwnerGoneError } from '#store/failure.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import { type AskOptions, askProvider, getAdapter } from './ask-provider.ts'
import type { ActionDeps, SaveDeps } from './deps.ts'
import { endUnsavedConsents } from './end-consent.ts'
import { LinkInput } from './link-input.ts'
import { forgetListening, listenTo } from './listen-to.ts'
import { holdConnections, reconcile } from './reconcile.ts'
import { saveDiscovered, settleStatus, updateConnection } from './save-discovery.ts'

export type LinkConnections = (
  by: By,
  userId: UserId,
  input: unknown,
) => Promise<readonly ConnectionRow[]>

/**
 * Makes the action. It returns a connection for each consent of the provider, newest first.
 * @throws ApiError `user_not_found`, `provider_not_configured`; `invalid_params` for invalid input, and when the provider
 * has no consent; `login_taken` for a personal key of somebody who is linked here; every upstream failure by the mapping of `guard.ts`.
 */
export function makeLinkConnections(deps: ActionDeps): LinkConnections {
  return async (by, userId, input) => {
    const credentials: Credentials = parseInput(LinkInput, input)
    if (!mayActFor(by, userId)) throw apiError('user_not_found')
    return deps.queue.take(userId, async () => {
      await demandUser(deps, userId)
      const { identity, discovered } = await meet(deps, credentials)
      if (discovered.length === 0) {
        throw apiError('invalid_params', {
          message: `Nothing to link: ${credentials.provider} knows of no consent for these credentials`,
          details: [
            identity.ifNothing ??
              'The person gives consent at the provider first; then link again.',
          ],
        })
      }
      const { ids, login } = await adopt(
        deps,
        { by, userId, provider: credentials.provider, identity },
        discovered,
      )
      await forgetListening(deps, login.id)
      await listenTo(deps, login)
      const rows = await deps.store.connections.list(userId)
      // When the user is deleted meanwhile, that deletion ends the consents that were saved before.
      await demandUser(deps, userId)
      return rows.filter((row) => ids.has(row.id))
    })
  }
}

async function demandUser({ store }: ActionDeps, userId: UserId): Promise<void> {
  if ((await store.users.find(userId)) === null) throw apiError('user_not_found')
}

interface Claim {
  readonly by: By
  readonly userId: UserId
  readonly provider: Provider
  readonly identity: Identity
}

/**
 * Saves the login, its connections and the audit row in one transaction; returns the login and our ids of the connections.
 * @throws ApiError `user_not_found`
 */
async function adopt(
  deps: ActionDeps,
  { by, userId, provider, identity }: Claim,
  discovered: readonly DiscoveredConnection[],
): Promise<{ readonly login: LoginRow; readonly ids: ReadonlySet<ConnectionId> }> {
  try {
    return await deps.store.transact(async (tx) => {
      // This locks the user's row: a concurrent deletion of the user or the login waits for the end of the
      // transaction.
      const { upstreamUserId, secret, isPersonal } = identity
      const isExclusive = isPersonal && deps.sharesPersonalKeys !== true
      const owner = { userId, provider, upstreamUserId }
      const login = await tx.logins.save({ ...owner, secret, isExclusive })
      const ids = await saveAll({ ...deps, store: tx }, login, discovered)
      await tx.audit({
        at: deps.clock.now(),
        actor: by.actor,
        action: 'connections.link',
        userId,
        subject: [provider, ...ids].join(' '),
      })
      return { login, ids }
    })
  } catch (error) {
    if (error instanceof LoginTakenError) throw apiError('login_taken', { cause: error })
    if (!(error instanceof OwnerGoneError)) throw error
    if ((await deps.store.users.find(userId)) !== null) throw error
    // The user was deleted during the provider call. That deletion found no rows of these consents, so they are ended
    // here.
    await endUnsavedConsents(deps, { ...unsaved(identity), userId, provider }, discovered)
    throw apiError('user_not_found', { cause: error })
  }
}

/** A login without a row: its id is valid only for calls to the provider. */
function unsaved({ upstreamUserId, secret }: Identity) {
  return { id: newId<LoginId>(), version: 0, upstreamUserId, secret }
}

async function saveAll(
  deps: SaveDeps,
  login: LoginRow,
  discovered: readonly DiscoveredConnection[],
): Promise<ReadonlySet<ConnectionId>> {
  const held = await holdConnections(deps.store, login)
  const { known, unknown, absent } = reconcile(held, discovered)
  const ids = new Set<ConnectionId>()
  for (const pair of known) {
    await updateConnection(deps, login, pair)
    ids.add(pair.row.id)
  }
  for (const found of unknown) ids.add((await saveDiscovered(deps, login, found)).id)
  for (const row of absent) await settleStatus(deps, login, row, 'revoked')
  return ids
}

/** Whose credentials these are, and the connections behind them. Nothing is stored yet. */
async function meet(
  deps: ActionDeps,
  credentials: Credentials,
): Promise<{
  readonly identity: Identity
  readonly discovered: readonly DiscoveredConnection[]
}> {
  const { provider } = credentials
  const adapter = getAdapter(deps.adapters, provider)
  const options = { timeoutMs: deps.timeoutMs, priority: 'user' } as const
  try {
    return await askProvider(provider, options, async (call) => {
      const identity = await adapter.identify(credentials, call)
      return { identity, discovered: await adapter.discover(unsaved(identity), call) }
    })
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    throw toApiError(await askWhoseFault(adapter, options, error))
  }
}

/**
 * Akahu answers the same for a wrong app token as for a refused user token. A call with our own credentials alone
 * shows which one it is, so that operators do not search for the mistake with the person.
 */
async function askWhoseFault(
  adapter: Adapter,
  options: AskOptions,
  refusal: UpstreamError,
): Promise<UpstreamError> {
  const { provider, probe } = adapter
  const { kind } = refusal.failure
  const isPersonal = kind === 'rejected' && refusal.failure.isPersonal === true
  const isRefused = kind === 'rejected' || kind === 'consent_lost'
  if (!isRefused || isPersonal || probe === undefined) return refusal
  try {
    const { failure } = await askProvider(provider, options, (call) => probe.call(adapter, call))
    if (failure?.kind !== 'misconfigured') return refusal
    return new UpstreamError(provider, failure, refusal)
  } catch (error) {
    // That call gave no further information, so the first refusal is used.
    if (error instanceof UpstreamError) return refusal
    throw error
  }
}
