/**
 * Every connection of a SnapTrade user with its accounts: two calls, and one more for each account whose
 * currency is not known otherwise.
 */
import { UpstreamError } from '../failure.ts'
import type { CallContext, DiscoveredConnection } from '../port.ts'
import type { SnapTradeClient } from './client.ts'
import { toLoginFailure } from './consent.ts'
import type { Asker } from './keys.ts'
import { isListed, parseCode, toConnection } from './map-connection.ts'
import { type WireAccount, WireAccounts, WireAuthorizations, WireBalances } from './wire.ts'

/**
 * Concurrent balance requests, of the four that are allowed (docs/providers/snaptrade.md, Errors and limits).
 */
const maxInFlight = 4

export async function discoverConnections(
  client: SnapTradeClient,
  asker: Asker,
  call: CallContext,
): Promise<DiscoveredConnection[]> {
  try {
    const list = { route: '/authorizations' }
    const authorizations = await client.fetchParsed(WireAuthorizations, list, asker, call)
    if (authorizations.length === 0) return []
    const all = await client.fetchParsed(WireAccounts, { route: '/accounts' }, asker, call)
    const listed = all.filter(isListed)
    const accounts = await addCurrencies(listed, (id) => askCurrency(client, id, asker, call))
    return authorizations.map((authorization) =>
      toConnection(
        authorization,
        accounts.filter(({ account }) => account.brokerage_authorization === authorization.id),
      ),
    )
  } catch (error) {
    throw toLoginFailure(error)
  }
}

async function addCurrencies(
  accounts: readonly WireAccount[],
  ask: (accountId: string) => Promise<string | null>,
): Promise<{ account: WireAccount; currency: string | null }[]> {
  const known: { account: WireAccount; currency: string | null }[] = []
  for (let start = 0; start < accounts.length; start += maxInFlight) {
    const batch = accounts.slice(start, start + maxInFlight).map(async (account) => ({
      account,
      currency: parseCode(account.balance?.total?.currency) ?? (await ask(account.id)),
    }))
    known.push(...(await Promise.all(batch)))
  }
  return known
}

/** The account's first currency; null when it has none or the provider cannot answer. */
async function askCurrency(
  client: SnapTradeClient,
  id: string,
  asker: Asker,
  call: CallContext,
): Promise<string | null> {
  try {
    const request = { route: '/accounts/{id}/balances', id }
    const balances = await client.fetchParsed(WireBalances, request, asker, call)
    const codes = balances.map(({ currency }) => parseCode(currency?.code))
    return codes.find((code) => code !== null) ?? null
  } catch (error) {
    if (error instanceof UpstreamError) return null
    throw error
  }
}
