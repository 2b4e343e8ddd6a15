/**
 * Ends a link that was begun in a browser: uses the state once, lets the adapter read the return, and reads
 * the consents from the provider. Nothing in the address is trusted but the state; whoever is in another
 * browser cannot use it.
 */
import { type By, mayActFor, type Person } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import type { SessionId } from '#kernel/ids.ts'
import type { Identity } from '#providers/credentials.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { Linking, LinkingReturn, ReturnRequest } from '#providers/linking.ts'
import type { CallContext, Login } from '#providers/login.ts'
import { OwnerGoneError } from '#store/failure.ts'
import { openLogin } from '#store/open-login.ts'
import type { LinkingRow } from '#store/ports/linkings.ts'
import type { LoginRow, NewLogin } from '#store/ports/logins.ts'
import type { StoreRows } from '#store/ports/store.ts'
import {
  type AskOptions,
  askProvider,
  getAdapter,
  limitTime,
  toConnectionRef,
  toLogin,
} from '../ask-provider.ts'
import { endUnsavedLogin } from '../end-consent.ts'
import { forgetReadings } from '../forget-readings.ts'
import type { ActionOptions } from '../options.ts'
import { turnAt } from '../turns.ts'
import { type ClaimedLogin, listKnown } from './claimed-login.ts'
import { endLeft, forgetLeft, keepLeft, keepLeftIn } from './left-logins.ts'
import {
  hashState,
  isState,
  type LinkingState,
  toLinkingName,
  toReturnUrl,
} from './linking-attempt.ts'
import { failLinking } from './linking-failed.ts'
import { readState } from './linking-state.ts'
import { readConsents } from './read-consents.ts'

export interface LinkingArrival {
  readonly provider: Provider
  /** The state as it stood in the address. */
  readonly state: string
  readonly query: URLSearchParams
  /** The origin to which the browser returned. */
  readonly baseUrl: string
  /** Other sessions of the person that began links in the same browser. */
  readonly begunIn?: readonly SessionId[]
}

/** A return that ends without a consent is a result, not a failure. */
export type Arrival = LinkingState | { readonly kind: 'unknown' | 'expired' | 'other_session' }

/**
 * It waits no longer than a moment: what takes longer goes on, and the link's page says what has become of
 * it.
 * @throws ApiError `provider_not_configured`, `user_not_found` when the user was deleted meanwhile.
 */
export type FinishLinking = (by: By<Person>, arrival: LinkingArrival) => Promise<Arrival>

export function makeFinishLinking(options: ActionOptions): FinishLinking {
  return async (by, arrival) => {
    const { linking } = getAdapter(options.adapters, arrival.provider)
    if (linking === undefined) throw apiError('provider_not_configured')
    const claimed = await claim(options, by, arrival)
    if ('kind' in claimed) return claimed
    const { attempt, isFirst } = claimed
    if (isFirst) {
      const read = (stop: AbortSignal) =>
        options.queue.take(turnAt(attempt), () => {
          const askOptions = limitTime(options, { priority: 'user', stop, person: by.person })
          return finish(options, { by, arrival, linking, attempt, askOptions })
        })
      await options.late.begin(`linking ${toLinkingName(attempt.id)}`, read)
    }
    return readState(options, attempt.id)
  }
}

interface Claimed {
  readonly attempt: LinkingRow
  /** False: the same return came before. */
  readonly isFirst: boolean
}

/** Uses the state; a result of its own when it cannot be used. */
async function claim(
  { store, clock }: ActionOptions,
  by: By<Person>,
  { provider, state, begunIn = [] }: LinkingArrival,
): Promise<Claimed | Extract<Arrival, { readonly kind: 'unknown' | 'expired' | 'other_session' }>> {
  const id = isState(state) ? hashState(state) : null
  const attempt = id === null ? null : await store.linkings.find(id)
  // Another user's state does not exist for this one.
  if (attempt === null || attempt.provider !== provider || !mayActFor(by, attempt.userId)) {
    return { kind: 'unknown' }
  }
  if (attempt.usedAt !== null) return { attempt, isFirst: false }
  const at = clock.now()
  if (attempt.expiresAt <= at) return { kind: 'expired' }
  const { sessionId } = attempt
  const mayEnd = sessionId === by.actor.sessionId || begunIn.includes(sessionId)
  if (!mayEnd) return { kind: 'other_session' }
  // False: the same return arrived twice at the same time.
  return { attempt, isFirst: await store.linkings.claim(attempt.id, { sessionId, at }) }
}

interface Arrived {
  readonly by: By<Person>
  readonly arrival: LinkingArrival
  readonly linking: Linking
  readonly attempt: LinkingRow
  readonly askOptions: AskOptions
}

async function finish(options: ActionOptions, arrived: Arrived): Promise<void> {
  const { by, attempt, askOptions } = arrived
  const known = attempt.loginId === null ? null : await openLogin(options.store, attempt.loginId)
  const login = known === 'damaged' ? null : known
  const { result, opened } = await readReturn(options, arrived, login)
  const failed =
    result.kind === 'agreed' && (await isOther(options, attempt, result.identity))
      ? ({ kind: 'failed', reason: 'different_account', code: null } as const)
      : result
  if (failed.kind === 'failed') {
    await failLinking(options, by, { attempt, ...failed })
    if (opened !== null) await endLeft(options, opened, askOptions)
    return
  }
  const { saved, kept } = await saveLogin(options, arrived, {
    identity: failed.identity,
    opened,
  })
  await readConsents(options, by, { attempt, login: saved }, askOptions)
  // Once the new one works, as far as that can be known.
  if (kept !== null) await endLeft(options, kept, askOptions)
}

interface ReadReturn {
  readonly result: LinkingReturn
  /** What it opened, which is stored already; null: nothing. */
  readonly opened: ClaimedLogin | null
}

/** What the adapter makes of the return. No answer of the provider is a result too: the state is used. */
async function readReturn(
  options: ActionOptions,
  { by, arrival, linking, attempt, askOptions }: Arrived,
  login: LoginRow | null,
): Promise<ReadReturn> {
  const { provider, baseUrl, state } = arrival
  const query = new URLSearchParams(arrival.query)
  query.delete('state')
  const renewed =
    attempt.connectionId === null
      ? null
      : await options.store.connections.get(attempt.userId, attempt.connectionId)
  let opened: ClaimedLogin | null = null
  const request: ReturnRequest = {
    login: login === null ? null : toLogin(login),
    query,
    returnUrl: toReturnUrl(baseUrl, { provider, stateIn: linking.stateIn }, state),
    renews: renewed === null ? null : toConnectionRef(renewed),
    begun: { state, userId: attempt.userId, institutionId: attempt.institutionId },
    known: await listKnown(options, attempt.userId, provider),
    async keep(secret) {
      opened = await keepLeft(options, by, { userId: attempt.userId, provider, secret })
    },
  }
  try {
    const finish = (call: CallContext) => linking.finish(request, call)
    return { result: await askProvider(provider, askOptions, finish), opened }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    const { kind, detail } = error.failure
    const reason = kind === 'misconfigured' ? 'misconfigured' : 'unavailable'
    return { result: { kind: 'failed', reason, code: `${kind}: ${detail}` }, opened }
  }
}

/** True when a renewal brought another person's login than the connection's; nothing of it is stored then. */
async function isOther(
  { store }: ActionOptions,
  { connectionId, loginId }: LinkingRow,
  { upstreamUserId }: Identity,
): Promise<boolean> {
  if (connectionId === null || loginId === null) return false
  const known = await store.logins.find(loginId)
  return known !== null && known.upstreamUserId !== upstreamUserId
}

/**
 * The login that this return replaces the secret of, as it is now that no other return can replace it too;
 * null: none, or its secret does not open. @throws OwnerGoneError
 */
async function holdFormer(tx: StoreRows, named: NewLogin): Promise<Login | null> {
  const id = await tx.logins.holdNamed(named)
  const row = id === null ? null : await openLogin(tx, id)
  return row === null || row === 'damaged' || row.secret === named.secret ? null : toLogin(row)
}

interface Agreed {
  readonly identity: Identity
  readonly opened: ClaimedLogin | null
}

interface SavedLogin {
  readonly saved: LoginRow
  /** What the former secret opened, which is to end; null: nothing of it remains. */
  readonly kept: ClaimedLogin | null
}

/**
 * Stores the login with its newest secret before anything is read with it: a secret may be given only once.
 * What was read with the former one is deleted.
 */
async function saveLogin(
  options: ActionOptions,
  { by, arrival, linking, attempt }: Arrived,
  { identity, opened }: Agreed,
): Promise<SavedLogin> {
  const { userId } = attempt
  const { provider } = arrival
  const { upstreamUserId, secret } = identity
  // Where it was made before the page was opened it is stored already.
  const isOurs = linking.register === undefined
  const named = { userId, provider, upstreamUserId, secret, isOurs }
  try {
    const { former, ...result } = await options.store.transact(async (tx) => {
      const replaced = await holdFormer(tx, named)
      const left = replaced === null ? null : (linking.leftBy?.(replaced) ?? null)
      const kept =
        left === null ? null : await keepLeftIn(tx, options, by, { userId, provider, secret: left })
      const login = await tx.logins.save(named)
      if (opened !== null) await forgetLeft(tx, opened)
      await tx.linkings.setLogin(attempt.id, login.id)
      await tx.linkings.note(attempt.id, 'waiting')
      await tx.audit({
        at: options.clock.now(),
        actor: by.actor,
        action: 'connections.finish-linking',
        userId,
        details: { provider, outcome: 'agreed' },
      })
      return { saved: login, kept, former: replaced }
    })
    if (former !== null) await forgetReadings(options, userId, former)
    return result
  } catch (error) {
    if (!(error instanceof OwnerGoneError)) throw error
    await endUnsavedLogin(options, named)
    throw apiError('user_not_found', { cause: error })
  }
}
