/**
 * Writes down what a provider told of one link. An update touches only what differs, so that a refresh without news
 * leaves cached answers alone, and never brings back a connection that was removed meanwhile.
 */
import type { Provider } from '#contract/resources.ts'
import { parseInstant } from '#kernel/time.ts'
import type { DiscoveredConnection } from '#providers/port.ts'
import type { ConnectionRow, LoginRow } from '#store/port.ts'
import type { ActionDeps } from './deps.ts'

/** Makes the connection, or updates the one that stands under the same upstream id. */
export async function saveDiscovered(
  { store, clock }: ActionDeps,
  login: LoginRow,
  found: DiscoveredConnection,
): Promise<ConnectionRow> {
  const now = clock.now()
  const row = await store.connections.save({
    userId: login.userId,
    loginId: login.id,
    provider: login.provider,
    upstreamId: found.upstreamId,
    institutionId: found.institutionId,
    institutionName: found.institutionName,
    institutionLogo: found.institutionLogo,
    status: found.status,
    lastRefreshedAt: refreshedAt(found, now),
    createdAt: now,
  })
  await saveAccounts(store, row, found.accounts)
  return row
}

/** Brings a known connection up to date. */
export async function updateConnection(
  { store, clock }: ActionDeps,
  row: ConnectionRow,
  found: DiscoveredConnection,
): Promise<void> {
  const { connections } = store
  await connections.repoint(row.id, found.upstreamId)
  if (hasNewInstitution(row, found)) {
    const present = await connections.find(row.id)
    // `save` would make a second connection beside one that is being deleted.
    if (present === null || present.status === 'deleting') return
    await connections.save({
      ...row,
      upstreamId: found.upstreamId,
      institutionId: found.institutionId,
      institutionName: found.institutionName,
      institutionLogo: found.institutionLogo,
      status: found.status,
    })
  }
  await connections.setStatus(row.id, found.status)
  const at = refreshedAt(found, clock.now())
  if (at !== null) await connections.setRefreshed(row.id, at)
  await saveAccounts(store, row, found.accounts)
}

/** Reading R24b: the currency of an account that none is told of. */
const defaultCurrencies: Readonly<Record<Provider, string>> = {
  fiskil: 'AUD',
  akahu: 'NZD',
  snaptrade: 'USD',
}

/** Null accounts: what we have stays. A currency that was not told this time stays too. */
async function saveAccounts(
  store: ActionDeps['store'],
  row: ConnectionRow,
  accounts: DiscoveredConnection['accounts'],
): Promise<void> {
  if (accounts === null) return
  const held = await store.accounts.listByConnection(row.userId, row.id)
  const currencies = new Map(held.map(({ upstreamId, currency }) => [upstreamId, currency]))
  const told = accounts.map((account) => ({
    ...account,
    currency:
      account.currency ?? currencies.get(account.upstreamId) ?? defaultCurrencies[row.provider],
  }))
  await store.accounts.replace(row.id, told)
}

function hasNewInstitution(row: ConnectionRow, found: DiscoveredConnection): boolean {
  return (
    row.institutionId !== found.institutionId ||
    row.institutionName !== found.institutionName ||
    row.institutionLogo !== found.institutionLogo
  )
}

/**
 * When the provider last refreshed the link, in milliseconds. Where it does not say, our own successful reading of the
 * accounts of a living link counts (providers/fiskil: `lastRefreshedAt`).
 */
function refreshedAt(found: DiscoveredConnection, now: number): number | null {
  if (found.lastRefreshedAt !== null) {
    const at = parseInstant(found.lastRefreshedAt)
    if (at === null) throw new Error('an adapter told a time that is no ISO 8601 instant')
    return Math.floor(at / 1000)
  }
  return found.status === 'active' && found.accounts !== null ? now : null
}
