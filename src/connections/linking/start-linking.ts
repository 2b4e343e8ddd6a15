/**
 * Begins a link in a browser: makes the person's login at the provider where it needs one, stores the state,
 * and opens the provider's page. The consent itself is read when the browser returns (`finish-linking.ts`).
 */
import { type By, mayActFor, type Person } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId, LoginId, UserId } from '#kernel/ids.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import { hourMs } from '#kernel/time.ts'
import { UpstreamError } from '#providers/failure.ts'
import { toUpstreamApiError } from '#providers/guard.ts'
import type { Linking, LinkingRequest, LinkingUser } from '#providers/linking.ts'
import { OwnerGoneError } from '#store/failure.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { NewLogin } from '#store/ports/logins.ts'
import type { UserRow } from '#store/ports/users.ts'
import {
  type AskOptions,
  askProvider,
  getAdapter,
  limitTime,
  toConnectionRef,
  toLogin,
} from '../ask-provider.ts'
import { endUnsavedLogin } from '../end-consent.ts'
import { demandPlace } from '../held-bounds.ts'
import type { ActionOptions } from '../options.ts'
import { inTime, turnAt } from '../turns.ts'
import { hashState, linkingLifeMs, newState, toReturnUrl } from './linking-attempt.ts'
import { findLinkingLogins, type LinkingLogin } from './linking-login.ts'
import type { ListInstitutions } from './list-institutions.ts'

export interface LinkingStart {
  readonly userId: UserId
  readonly provider: Provider
  /** Null: chosen on the provider's page, or that of the connection. */
  readonly institutionId: string | null
  /** The connection whose consent is renewed; null: a new one. */
  readonly connectionId: ConnectionId | null
  /** The origin to which the browser returns. */
  readonly baseUrl: string
}

/** `address`: the provider's page. */
export type StartLinking = (
  by: By<Person>,
  start: LinkingStart,
) => Promise<{ readonly address: string }>

/** Per user; every one may make a login and a page at the provider. */
const starts = { most: 20, withinMs: hourMs }

/**
 * Makes the action.
 * @throws ApiError `user_not_found`, `connection_not_found`, `provider_not_configured`, `rate_limited`,
 *   `too_many_connections`; `invalid_params` for an institution that cannot be chosen, and for a connection
 *   by a key of the person's own; `provider_unavailable` when its turn does not come in time, other upstream
 *   failures by the mapping of `guard.ts`.
 */
export function makeStartLinking(
  options: ActionOptions,
  listInstitutions: ListInstitutions,
): StartLinking {
  return async (by, start) => {
    const { userId, provider } = start
    const user = mayActFor(by, userId) ? await options.store.users.find(userId) : null
    if (user === null) throw apiError('user_not_found')
    const { linking } = getAdapter(options.adapters, provider)
    if (linking === undefined) throw apiError('provider_not_configured')
    const askOptions = limitTime(options, { priority: 'user', person: by.person })
    const renewed = await findRenewed(options, start)
    if (renewed === null) await demandPlace(options.store, userId)
    // By country `begin` looks it up itself.
    if (renewed === null && linking.byCountry === undefined) {
      await demandInstitution(listInstitutions, start)
    }
    await countStart(options, userId)
    const open = () => begin(options, { by, start, linking, user, renewed, askOptions })
    try {
      // A renewal makes no login, and its connection keeps the one that it has.
      if (renewed !== null) return await open()
      return await inTime(options, { key: turnAt(start), kind: 'link' }, askOptions, open)
    } catch (error) {
      if (error instanceof UpstreamError) {
        throw isUnlisted(error, renewed) ? unlisted() : toUpstreamApiError(error)
      }
      if (error instanceof OwnerGoneError) throw apiError('user_not_found', { cause: error })
      throw error
    }
  }
}

/** Null: a new connection. @throws ApiError `connection_not_found` */
async function findRenewed(
  { store }: ActionOptions,
  { userId, provider, connectionId }: LinkingStart,
): Promise<ConnectionRow | null> {
  if (connectionId === null) return null
  const row = await store.connections.get(userId, connectionId)
  if (row === null || row.provider !== provider) throw apiError('connection_not_found')
  return row
}

/** @throws ApiError `invalid_params` */
async function demandInstitution(
  listInstitutions: ListInstitutions,
  { provider, institutionId }: LinkingStart,
): Promise<void> {
  if (institutionId === null) return
  const known = (await listInstitutions(provider))?.find(({ id }) => id === institutionId)
  if (known === undefined) throw unlisted()
  if (!known.isOpen) {
    throw apiError('invalid_params', { details: ['institution: takes no new links now'] })
  }
}

const unlisted = () =>
  apiError('invalid_params', { details: ['institution: is not one of the list'] })

/** `begin` refuses the institution that was chosen. */
const isUnlisted = ({ failure }: UpstreamError, renewed: ConnectionRow | null): boolean =>
  renewed === null && failure.kind === 'rejected' && failure.status === 404

async function countStart({ windows }: ActionOptions, userId: UserId): Promise<void> {
  const { allowed, resetMs } = await windows.take(`linking:${userId}`, starts.most, starts.withinMs)
  if (allowed) return
  throw apiError('rate_limited', {
    message: `More than ${starts.most} links were begun within an hour; wait a while`,
    retryAfterSeconds: toRetrySeconds(resetMs),
  })
}

interface Beginning {
  readonly by: By<Person>
  readonly start: LinkingStart
  readonly linking: Linking
  readonly user: UserRow
  readonly renewed: ConnectionRow | null
  readonly askOptions: AskOptions
}

async function begin(
  options: ActionOptions,
  beginning: Beginning,
): Promise<{ readonly address: string }> {
  const { start, linking, user, renewed } = beginning
  const wanted = { userId: user.id, provider: start.provider, linking, renewed }
  const lost = new Set<LoginId>()
  for (const known of await findLinkingLogins(options, wanted)) {
    try {
      return await openPage(options, beginning, known)
    } catch (error) {
      if (!isLost(error)) throw error
      if (renewed !== null) {
        throw apiError('upstream_bad_request', { message: lostLogin, cause: error })
      }
      // This login ends or has ended: another of the person takes its place, or one that is made.
      lost.add(known.id)
    }
  }
  if (linking.needsLogin === true) {
    throw apiError('invalid_params', { details: ['institution: give a key of your own first'] })
  }
  if (linking.register === undefined) return openPage(options, beginning, null)
  return registerAlone(options, beginning, async () => {
    const logins = await findLinkingLogins(options, wanted)
    // Another process may have made one since they were looked up.
    return openPage(options, beginning, logins.find(({ id }) => !lost.has(id)) ?? null)
  })
}

const lostLogin =
  'The provider no longer knows the login of this connection: link it as a new one, then remove this one'

/** The login is of no use to a link: another process removes its last connection, perhaps. */
class LoginEndsError extends Error {}

function isLost(error: unknown): boolean {
  if (error instanceof LoginEndsError) return true
  if (!(error instanceof UpstreamError) || error.failure.kind !== 'consent_lost') return false
  return error.failure.wholeLogin === true
}

/** @param known null: the person has no login there, and one is made where the provider needs it. */
async function openPage(
  options: ActionOptions,
  beginning: Beginning,
  known: LinkingLogin | null,
): Promise<{ readonly address: string }> {
  const { start, linking, user, renewed, askOptions } = beginning
  const { provider } = start
  const person: LinkingUser = { userId: user.id, email: user.email, name: user.name }
  const wanted = { userId: user.id, provider, linking, person, askOptions }
  const made = known === null ? await register(wanted) : null
  const state = newState()
  const login = await saveStart(options, beginning, { state, known, made })
  const request: LinkingRequest = {
    user: person,
    login: login?.row ? toLogin(login.row) : null,
    institutionId: renewed?.institutionId ?? start.institutionId,
    renews: renewed === null ? null : toConnectionRef(renewed),
    state,
    returnUrl: toReturnUrl(start.baseUrl, { provider, stateIn: linking.stateIn }, state),
  }
  return askProvider(provider, askOptions, (call) => linking.begin(request, call))
}

interface Registration {
  readonly userId: UserId
  readonly linking: Linking
  readonly provider: Provider
  readonly person: LinkingUser
  readonly askOptions: AskOptions
}

type MadeLogin = Omit<NewLogin, 'isExclusive'>

/** Keeps other processes from making a login of this person there, until one that is made here is stored. */
async function registerAlone<Page>(
  options: ActionOptions,
  { start: { provider }, user }: Beginning,
  open: () => Promise<Page>,
): Promise<Page> {
  const key = `link-register:${provider}:${user.id}` as const
  // Longer than the requests to the provider take together.
  const { allowed } = await options.windows.take(key, 1, 2 * options.timeoutMs)
  if (!allowed) {
    const message = 'This account is being set up at the provider by another page; try again'
    throw apiError('rate_limited', { message, retryAfterSeconds: 2 })
  }
  try {
    return await open()
  } finally {
    await options.windows.forget(key)
  }
}

/** Makes the login at the provider; null where the return brings it. Never repeated: each makes another. */
async function register({
  linking,
  userId,
  provider,
  person,
  askOptions,
}: Registration): Promise<MadeLogin | null> {
  const { register: make } = linking
  if (make === undefined) return null
  const { upstreamUserId, secret } = await askProvider(provider, askOptions, (call) =>
    make.call(linking, person, call),
  )
  return { userId, provider, upstreamUserId, secret, isOurs: true }
}

/** Stores a login that was made, the state, and the audit row, before the browser leaves. */
async function saveStart(
  options: ActionOptions,
  { by, start, linking, renewed }: Beginning,
  given: {
    readonly state: string
    readonly known: LinkingLogin | null
    readonly made: MadeLogin | null
  },
): Promise<LinkingLogin | null> {
  const { userId, provider } = start
  const { state, known, made } = given
  const now = options.clock.now()
  try {
    return await options.store.transact(async (tx) => {
      // One that only a person can give stays for the link: nothing could take its place.
      const isReplaceable = renewed === null && linking.needsLogin !== true
      if (known !== null && isReplaceable) {
        // From here on it begins to end only after the link is stored, which it sees then.
        const held = await tx.logins.hold(known.id)
        if (held?.isEnding !== false)
          throw new LoginEndsError('nothing uses the login, and it ends')
      }
      const row = made === null ? null : await tx.logins.save(made)
      const login = row === null ? known : { id: row.id, row }
      await tx.linkings.create({
        id: hashState(state),
        userId,
        sessionId: by.actor.sessionId,
        provider,
        loginId: login?.id ?? null,
        institutionId: renewed?.institutionId ?? start.institutionId,
        connectionId: renewed?.id ?? null,
        createdAt: now,
        expiresAt: now + linkingLifeMs,
      })
      await tx.audit({
        at: now,
        actor: by.actor,
        action: 'connections.start-linking',
        userId,
        details: { provider, renews: renewed?.id ?? null },
      })
      return login
    })
  } catch (error) {
    // The user was deleted meanwhile: their new login at the provider has no row that would end it.
    if (error instanceof OwnerGoneError && made !== null) await endUnsavedLogin(options, made)
    throw error
  }
}
