/**
 * Stores the consents that a provider lists for one login: one connection per institution, with its accounts.
 * Everything is stored in one transaction, or nothing. When the user is being deleted meanwhile, nothing is
 * stored and the consents are ended.
 */
import type { By } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId, LoginId, UserId } from '#kernel/ids.ts'
import { newId } from '#kernel/ids.ts'
import type { DiscoveredConnection } from '#providers/port.ts'
import { LoginTakenError, OwnerGoneError } from '#store/failure.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import type { StoreRows } from '#store/ports/store.ts'
import { holdConnections, type LeavingConnection, reconcile } from './discovery/reconcile.ts'
import { saveDiscovered, settleStatus, updateConnection } from './discovery/save-discovery.ts'
import { endUnsavedConsents } from './end-consent.ts'
import { withinBounds } from './held-bounds.ts'
import type { ActionOptions, SaveOptions } from './options.ts'

export interface Adoption {
  readonly by: By
  readonly userId: UserId
  readonly provider: Provider
  /** The connection whose renewal the person asked for; absent or null: they asked for none. */
  readonly renews?: ConnectionId | null
  /** Which consents that have no connection are linked; absent: all of them. */
  readonly choice?: Choice
  /** Ends the consents when their user was deleted meanwhile. */
  readonly credentials: Pick<LoginRow, 'upstreamUserId' | 'secret'> & { readonly isOurs?: boolean }
  /** The login, saved or read in the transaction. @throws OwnerGoneError */
  readonly login: (tx: StoreRows) => Promise<LoginRow>
  /**
   * Further changes of the same transaction. False: nothing was linked that the audit does not have already.
   */
  readonly also?: (tx: StoreRows, adopted: readonly AdoptedConsent[]) => Promise<boolean>
}

export interface Choice {
  isWanted(found: DiscoveredConnection): boolean
  /** Judges one whose connection is being removed, given those that are wanted. */
  isWantedAgain(leaving: LeavingConnection, news: readonly DiscoveredConnection[]): boolean
}

const everything: Choice = { isWanted: () => true, isWantedAgain: () => true }

export interface AdoptedConsent {
  readonly id: ConnectionId
  readonly found: DiscoveredConnection
  /** The connection was made now; otherwise it existed. */
  readonly isNew: boolean
}

/**
 * Saves the login, its connections and the audit row in one transaction.
 * @throws ApiError `user_not_found`, `login_taken`, `too_many_connections`
 */
export async function adoptConsents(
  options: ActionOptions,
  { by, userId, provider, credentials, renews = null, choice = everything, ...steps }: Adoption,
  discovered: readonly DiscoveredConnection[],
): Promise<{ readonly login: LoginRow; readonly adopted: readonly AdoptedConsent[] }> {
  try {
    return await options.store.transact(async (tx) => {
      // This locks the user's row: a concurrent deletion waits for the end of the transaction.
      const login = await steps.login(tx)
      const listed = { discovered, renews, choice }
      const adopted = await withinBounds(tx, userId, () =>
        saveAll({ ...options, store: tx }, login, listed),
      )
      const isNews = (await steps.also?.(tx, adopted)) ?? true
      if (!isNews) return { login, adopted }
      await tx.audit({
        at: options.clock.now(),
        actor: by.actor,
        action: 'connections.link',
        userId,
        details: { provider, connectionIds: adopted.map(({ id }) => id) },
      })
      return { login, adopted }
    })
  } catch (error) {
    if (error instanceof LoginTakenError) throw apiError('login_taken', { cause: error })
    if (!(error instanceof OwnerGoneError)) throw error
    if ((await options.store.users.find(userId)) !== null) throw error
    // The user was deleted meanwhile, and that found no rows of these consents: they are ended here.
    await endUnsavedConsents(options, { ...toUnsaved(credentials), userId, provider }, discovered)
    throw apiError('user_not_found', { cause: error })
  }
}

/** A login without a row: its id is valid only for calls to the provider. */
export function toUnsaved({ upstreamUserId, secret, isOurs = false }: Adoption['credentials']) {
  return { id: newId<LoginId>(), version: 0, upstreamUserId, secret, isOurs }
}

interface Listed {
  readonly discovered: readonly DiscoveredConnection[]
  readonly renews: ConnectionId | null
  readonly choice: Choice
}

async function saveAll(
  options: SaveOptions,
  login: LoginRow,
  { discovered, renews, choice }: Listed,
): Promise<readonly AdoptedConsent[]> {
  const held = await holdConnections(options.store, login)
  const { known, unknown, leaving, absent } = reconcile(held, discovered, { renews })
  const wanted = unknown.filter((found) => choice.isWanted(found))
  const again = leaving.filter((one) => choice.isWantedAgain(one, wanted))
  const news = [...wanted, ...again.map(({ found }) => found)]
  const adopted: AdoptedConsent[] = []
  for (const pair of known) {
    await updateConnection(options, login, pair)
    adopted.push({ id: pair.row.id, found: pair.found, isNew: false })
  }
  for (const found of news) {
    const { id } = await saveDiscovered(options, login, found)
    adopted.push({ id, found, isNew: true })
  }
  for (const row of absent) await settleStatus(options, login, row, 'revoked')
  // Lists that were read before this one know nothing of it.
  if (news.length > 0 || known.some(({ isRenewed }) => isRenewed)) {
    await options.store.logins.noteConsents(login.id)
  }
  return adopted
}
