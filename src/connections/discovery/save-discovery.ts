/**
 * Stores what a provider reported about one connection. Only differences are written, so that a refresh
 * without changes leaves cached answers valid. Omitted values stay as stored, a connection that was removed
 * meanwhile is not created again, and credentials that were replaced meanwhile change no status.
 */
import type { ConnectionStatus, Provider } from '#contract/resources.ts'
import { dayMs } from '#kernel/time.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { DiscoveredAccount, DiscoveredConnection } from '#providers/port.ts'
import { toShownText } from '#providers/shown-text.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import { getAdapter } from '../ask-provider.ts'
import type { SaveOptions } from '../options.ts'
import type { AssumedField, NewAccount } from './match-accounts.ts'
import { planAccounts } from './plan-accounts.ts'
import type { KnownConnection } from './reconcile.ts'
import { readProviderTime, readRefreshedAt } from './refreshed-at.ts'

/** Creates the connection, or updates the one with the same upstream id. @throws OwnerGoneError */
export async function saveDiscovered(
  options: SaveOptions,
  login: LoginRow,
  found: DiscoveredConnection,
): Promise<ConnectionRow> {
  const { store, clock } = options
  const refreshed = readRefreshedAt(getAdapter(options.adapters, login.provider), found, clock)
  const row = await store.connections.save({
    userId: login.userId,
    loginId: login.id,
    provider: login.provider,
    upstreamId: found.upstreamId,
    institutionId: found.institutionId,
    institutionName: toShownText(found.institutionName ?? found.institutionId),
    institutionLogo: found.institutionLogo,
    status: found.status,
    lastRefreshedAt: refreshed?.at ?? null,
    createdAt: clock.now(),
    consentExpiresAt: readConsentEnd(found),
  })
  await saveAccounts(options, row, found.accounts)
  return row
}

/** Providers list the accounts of a renewed consent within minutes; a bank that fails may take hours. */
const renewalMs = dayMs

/** Updates a known connection. The first accounts after a renewal may have new ids. */
export async function updateConnection(
  options: SaveOptions,
  login: LoginRow,
  { row, found, isRenewed }: KnownConnection,
): Promise<void> {
  const { connections } = options.store
  const isSame = row.institutionId === found.institutionId
  const known = isSame ? row : { institutionName: found.institutionId, institutionLogo: null }
  const renewal = { until: options.clock.now() + renewalMs }
  await connections.repoint(row.id, found.upstreamId, renewal)
  if (leavesFormer(login, { row, found })) {
    await connections.leaveFormer(row, options.clock.now())
  }
  if (isRenewed) await connections.noteRenewal(row.id, renewal)
  await connections.setConsentExpiry(row.id, readConsentEnd(found))
  await connections.setInstitution(row.id, {
    institutionId: found.institutionId,
    institutionName: toShownText(found.institutionName ?? known.institutionName),
    institutionLogo: found.institutionLogo ?? known.institutionLogo,
  })
  await settleStatus(options, login, row, found.status)
  const refreshed = readRefreshedAt(
    getAdapter(options.adapters, login.provider),
    found,
    options.clock,
  )
  if (refreshed !== null)
    await connections.setRefreshed(row.id, refreshed.at, { isReported: refreshed.isReported })
  await saveAccounts(options, row, found.accounts)
}

/**
 * Whether a consent that works took the place of one that goes on. At a login that was adopted, others may
 * use it.
 */
function leavesFormer(
  { provider, isOurs }: LoginRow,
  { row, found }: Pick<KnownConnection, 'row' | 'found'>,
): boolean {
  const isReplaced = row.upstreamId !== found.upstreamId && found.status === 'active'
  return isReplaced && isOurs && factsOf(provider).leavesFormerConsent === true
}

/** Null when the provider does not report it, as after the end of a consent that it no longer knows. */
function readConsentEnd({ consentExpiresAt = null }: DiscoveredConnection): number | null {
  return consentExpiresAt === null ? null : readProviderTime(consentExpiresAt)
}

/**
 * Sets the status that a discovery with these credentials found, whatever it was before. A later report of
 * the provider about an earlier time changes nothing.
 */
export function settleStatus(
  { store, clock }: Pick<SaveOptions, 'store' | 'clock'>,
  login: LoginRow,
  row: ConnectionRow,
  to: ConnectionStatus,
): Promise<void> {
  const from = ['active', 'invalidated', 'pending_mfa', 'revoked'] as const
  return store.connections.saveLearntStatus({
    login,
    connectionId: row.id,
    from,
    to,
    at: clock.now(),
  })
}

/** Null accounts: the stored ones stay. */
async function saveAccounts(
  { store, clock }: SaveOptions,
  row: ConnectionRow,
  accounts: DiscoveredConnection['accounts'],
): Promise<void> {
  if (accounts === null) return
  const listed = accounts.map((account) => toNewAccount(row.provider, account))
  const { hasUnstableIds = false } = factsOf(row.provider)
  const plan = planAccounts(listed, { hasUnstableIds })
  await store.accounts.replace(row.id, plan, { at: clock.now() })
}

function toNewAccount(provider: Provider, account: DiscoveredAccount): NewAccount {
  const assumed: AssumedField[] = [...(account.assumed ?? [])]
  if (account.accountNumber === null) assumed.push('accountNumber')
  if (account.currency === null) assumed.push('currency')
  const { defaultCurrency } = factsOf(provider)
  const name = toShownText(account.name)
  return { ...account, name, currency: account.currency ?? defaultCurrency, assumed }
}
