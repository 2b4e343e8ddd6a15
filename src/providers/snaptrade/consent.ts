/**
 * Questions about the consent behind a refusal or an emptiness. SnapTrade goes on answering 200
 * from its cache for a disabled connection, and with empty lists while the first sync runs: only
 * the connection tells the truth (provider page §4, §8.11; reading R20b).
 */
import { consentGone, UpstreamError } from '../failure.ts'
import type { CallContext } from '../port.ts'
import type { SnapTradeClient, User } from './client.ts'
import { fail } from './failures.ts'
import { isListed } from './map-connection.ts'
import { type WireAccount, WireAccounts, WireAuthorizations } from './wire.ts'

export interface Question {
  readonly client: SnapTradeClient
  readonly user: User
  readonly connectionId: string
  readonly call: CallContext
}

/** The status of a refusal by the provider, or null when the error is something else. */
export function rejectedStatus(error: unknown): number | null {
  const failure = error instanceof UpstreamError ? error.failure : null
  return failure?.kind === 'rejected' ? failure.status : null
}

/**
 * A refusal of the user outside any connection: 401 means that id or secret work no more (reading
 * R20).
 */
export function toLoginFailure(error: unknown): unknown {
  if (!(error instanceof UpstreamError) || rejectedStatus(error) !== 401) return error
  return loseLogin(error.failure.detail)
}

/** One secret opens every connection of the person, so all of them are hit. */
export const loseLogin = (detail: string) =>
  fail({ kind: 'consent_lost', becomes: 'invalidated', wholeLogin: true, detail })

const loseAccount = () =>
  fail({ kind: 'account_gone', detail: 'SnapTrade no longer knows this account' })

/** In the words of reading R20b: whatever was asked, the way on is to reconnect. */
const loseConnection = () => fail({ kind: 'consent_lost', becomes: 'revoked', detail: consentGone })

/**
 * Throws `consent_lost` when the connection is gone, disabled, or its user's secret works no
 * more. It looks into the list that discovery reads too: a 404 for one connection might as well
 * tell of the path.
 */
async function checkConnection({ client, user, connectionId, call }: Question): Promise<void> {
  const request = { route: '/authorizations' }
  const authorizations = await client
    .fetchParsed(WireAuthorizations, request, user, call)
    .catch((error: unknown) => {
      throw toLoginFailure(error)
    })
  const own = authorizations.find(({ id }) => id === connectionId)
  if (own === undefined) throw loseConnection()
  if (own.disabled !== true) return
  throw fail({ kind: 'consent_lost', becomes: 'invalidated', detail: consentGone })
}

/**
 * What a refused read means: 401 and 403 may be lost consent, 404 a lost connection or an account
 * that went away. Always throws; a refusal that the connection does not explain stays what it
 * was.
 */
export async function explainRefusal(error: unknown, question: Question): Promise<never> {
  const status = rejectedStatus(error)
  if (status !== 401 && status !== 403 && status !== 404) throw error
  await checkConnection(question)
  if (status !== 404) throw error
  throw loseAccount()
}

/**
 * Believes that a read of a connection found nothing, or throws why it cannot: the consent is gone,
 * or no account there has been synced at all. An account that was read empty has answered for
 * itself already (`checkEmptyAccount`): what another account, or the other kind of data, still
 * waits for is no reason to doubt it.
 */
export async function checkEmptyConnection(question: Question): Promise<void> {
  await checkConnection(question)
  const accounts = await listAccounts(question)
  const own = accounts.filter(({ brokerage_authorization: of }) => of === question.connectionId)
  // A closed account may never have been synced, and is not shown anyway.
  if (!own.some(isListed)) return
  if (own.some((account) => isSynced(account, 'holdings') || isSynced(account, 'transactions'))) {
    return
  }
  throw fail({ kind: 'preparing', detail: 'the first sync of the connection has not finished' })
}

/** Believes that one account has no holdings or no activities, or throws why it cannot. */
export async function checkEmptyAccount(
  question: Question,
  accountId: string,
  what: 'holdings' | 'transactions',
): Promise<void> {
  const accounts = await listAccounts(question).catch((error: unknown) =>
    explainRefusal(error, question),
  )
  const account = accounts.find(({ id }) => id === accountId)
  if (account === undefined) {
    await checkConnection(question)
    throw loseAccount()
  }
  if (!isSynced(account, what)) {
    // A connection that broke before its first sync never gets there: waiting would not mend it.
    await checkConnection(question)
    throw fail({ kind: 'preparing', detail: `the first sync of ${what} has not finished` })
  }
  if (what === 'holdings' && account.sync_status?.holdings?.holdings_unavailable === true) {
    const detail = 'the brokerage does not share the holdings of this account, ask for others'
    throw fail({ kind: 'rejected', status: 422, detail })
  }
}

async function listAccounts({ client, user, call }: Question): Promise<readonly WireAccount[]> {
  return client.fetchParsed(WireAccounts, { route: '/accounts' }, user, call)
}

/** An account that does not tell of its first sync has nothing to wait for. */
function isSynced(account: WireAccount, what: 'holdings' | 'transactions'): boolean {
  return account.sync_status?.[what]?.initial_sync_completed !== false
}
