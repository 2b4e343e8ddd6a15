/**
 * Ends one consent at its provider, as a step of deleting it here. A consent that no longer exists, or
 * credentials that are no longer valid, count as ended. When the provider cannot be called the reason is
 * returned, and the connection has to wait. Without the login's secret the provider can never be called: the
 * consent is abandoned, and the deletion continues.
 */
import { type ConnectionId, type LoginId, newId } from '#kernel/ids.ts'
import type { RevokeOptions } from '#providers/credentials.ts'
import { UpstreamError, type UpstreamFailure } from '#providers/failure.ts'
import type { Linking } from '#providers/linking.ts'
import type { ConnectionRef, DiscoveredConnection } from '#providers/port.ts'
import { openLogin } from '#store/open-login.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import { type AskOptions, askProvider, limitTime, toLogin } from './ask-provider.ts'
import { findLinkingLogins, isLeft } from './linking/linking-login.ts'
import type { ActionOptions } from './options.ts'

export type EndOfConsent =
  | { readonly kind: 'ended' }
  /** `failure` null: the provider is not configured. */
  | {
      readonly kind: 'pending'
      readonly failure: UpstreamFailure['kind'] | null
      readonly detail: string
    }
  /** It may remain at the provider, and waiting would not help. */
  | { readonly kind: 'abandoned'; readonly detail: string }

/** `last`: no other connection of ours uses its login. Failures of the provider are returned, not thrown. */
export async function endConsent(
  options: ActionOptions,
  { row, last }: { readonly row: ConnectionRow; readonly last: boolean },
  askOptions: AskOptions,
): Promise<EndOfConsent> {
  if (options.adapters[row.provider] === undefined) return notConfigured
  const login = await openLogin(options.store, row.loginId)
  // The login was deleted together with its connections.
  if (login === null) return { kind: 'ended' }
  if (login === 'damaged') {
    return { kind: 'abandoned', detail: 'the secret of its login does not open' }
  }
  const { id, upstreamId, endsAtProvider: isAsked } = row
  return revoke(options, login, { id, upstreamId, last, isAsked }, askOptions)
}

/**
 * Ends the consents that linking found when their user was deleted meanwhile: they have no rows, so nothing
 * else would end them. Consents that the provider does not end are reported.
 */
export async function endUnsavedConsents(
  options: ActionOptions,
  login: LoginRow,
  discovered: readonly DiscoveredConnection[],
): Promise<void> {
  const askOptions = limitTime(options, { priority: 'user' })
  for (const [index, { upstreamId }] of discovered.entries()) {
    const last = index === discovered.length - 1
    const consent = { id: newId<ConnectionId>(), upstreamId, last, isAsked: false }
    const end = await revoke(options, login, consent, askOptions)
    options.report.deletion({
      provider: login.provider,
      connectionId: null,
      outcome: end.kind === 'ended' ? 'done' : 'abandoned',
      detail: end.kind === 'ended' ? '' : end.detail,
    })
  }
}

/**
 * Ends a login at its provider that has no connection of ours, where the provider has a call for it. Failures
 * are reported: nothing waits for them, because our row goes in any case.
 */
export async function endUnsavedLogin(
  options: ActionOptions,
  login: Pick<LoginRow, 'userId' | 'provider' | 'upstreamUserId' | 'secret'>,
): Promise<void> {
  const row = { ...login, id: newId<LoginId>(), version: 0, isOurs: true }
  await endEmptyLogin(options, row, limitTime(options, { priority: 'user' }))
}

/**
 * As `endUnsavedLogin`, for a login that has a row; the provider's failure, or null. A login that existed at
 * the provider before it was linked here stays there, and so does a consent that another login may have too.
 */
export async function endEmptyLogin(
  options: ActionOptions,
  login: LoginRow,
  askOptions: AskOptions,
): Promise<UpstreamFailure | null> {
  const { provider } = login
  const adapter = options.adapters[provider]
  const { endLogin, linking } = adapter ?? {}
  if (adapter === undefined || endLogin === undefined) return null
  if (linking?.register !== undefined && !login.isOurs) return null
  if (linking?.sharesConsent && isLeft(login) && (await hasOther(options, login, linking))) {
    return null
  }
  const about = { provider, connectionId: null } as const
  try {
    await askProvider(provider, askOptions, (call) => endLogin.call(adapter, toLogin(login), call))
    options.report.deletion({ ...about, outcome: 'done', detail: '' })
    return null
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    options.report.deletion({ ...about, outcome: 'abandoned', detail: error.failure.detail })
    return error.failure
  }
}

/** Whether the person has another login of this installation there that works, as far as is known. */
async function hasOther(
  { store }: ActionOptions,
  { userId, provider }: LoginRow,
  linking: Linking,
): Promise<boolean> {
  const others = await findLinkingLogins({ store }, { userId, provider, linking, renewed: null })
  return others.some(({ row }) => row !== null && row.secret !== null)
}

const notConfigured = {
  kind: 'pending',
  failure: null,
  detail: 'the provider is not configured',
} as const

async function revoke(
  options: ActionOptions,
  login: LoginRow,
  { last, isAsked, ...ids }: Pick<ConnectionRef, 'id' | 'upstreamId'> & RevokeOptions,
  askOptions: AskOptions,
): Promise<EndOfConsent> {
  const adapter = options.adapters[login.provider]
  if (adapter === undefined) return notConfigured
  // Adapters have no status `deleting`; for revoking, the status does not matter.
  const connection = { ...ids, status: 'revoked' } as const
  try {
    await askProvider(login.provider, askOptions, (call) =>
      adapter.revoke(toLogin(login), connection, { last, isAsked }, call),
    )
    return { kind: 'ended' }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    const { kind, detail } = error.failure
    return kind === 'consent_lost' ? { kind: 'ended' } : { kind: 'pending', failure: kind, detail }
  }
}
