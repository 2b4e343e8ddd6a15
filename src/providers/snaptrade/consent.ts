/**
 * Checks the consent after a refusal or an empty answer. SnapTrade keeps answering 200 from its cache for a
 * disabled connection, and with empty lists while the first sync runs; only the connection shows the real
 * state (docs/providers/snaptrade.md, Errors and limits; reading R20b).
 */
import { type UpstreamId, upstreamId } from '#kernel/ids.ts'
import { isPart } from '../empty-answer.ts'
import { consentGone, loginDisabled, UpstreamError } from '../failure.ts'
import type { AccountRef, CallContext, EmptyAnswer, Login } from '../port.ts'
import type { SnapTradeClient } from './client.ts'
import { fail, loseLogin } from './failures.ts'
import type { Asker } from './keys.ts'
import { isListed } from './map-connection.ts'
import type { ReadyAccounts } from './ready-accounts.ts'
import { type WireAccount, WireAccounts, WireAuthorizations } from './wire.ts'

export interface Question {
  readonly client: SnapTradeClient
  readonly asker: Asker
  readonly login: Login
  readonly connectionId: string
  readonly call: CallContext
}

/** The status of a provider's refusal, or null for any other error. */
export function rejectedStatus(error: unknown): number | null {
  const failure = error instanceof UpstreamError ? error.failure : null
  return failure?.kind === 'rejected' ? failure.status : null
}

/**
 * Converts a refusal of the user outside any connection: 401 means that id or secret are no longer valid
 * (reading R20). Refusals of a personal key are converted before (`failures.ts`).
 */
export function toLoginFailure(error: unknown): unknown {
  if (!(error instanceof UpstreamError) || rejectedStatus(error) !== 401) return error
  return loseLogin(error.failure.detail)
}

const gone = 'SnapTrade no longer knows this account'

const loseConnection = () => fail({ kind: 'consent_lost', becomes: 'revoked', detail: consentGone })

/** The consent is active, but the broker's login behind it was disabled (reading R20b). */
const disableConnection = () =>
  fail({ kind: 'consent_lost', becomes: 'invalidated', detail: loginDisabled })

/**
 * Throws `consent_lost` when the connection is gone or disabled, or its user's secret is no longer valid. It
 * reads the list that discovery uses, because a 404 for one connection could be about the path.
 */
async function checkConnection({ client, asker, connectionId, call }: Question): Promise<void> {
  const authorizations = await listAuthorizations(client, asker, call)
  const own = authorizations.find(({ id }) => id === connectionId)
  if (own === undefined) throw loseConnection()
  if (own.disabled === true) throw disableConnection()
}

/** Connections that are not disabled. A disabled one serves its cache, so rows do not prove it active. */
export async function listAlive(
  client: SnapTradeClient,
  asker: Asker,
  call: CallContext,
): Promise<readonly UpstreamId[]> {
  const authorizations = await listAuthorizations(client, asker, call)
  return authorizations.flatMap(({ id, disabled }) => (disabled === true ? [] : [upstreamId(id)]))
}

async function listAuthorizations(client: SnapTradeClient, asker: Asker, call: CallContext) {
  try {
    return await client.fetchParsed(WireAuthorizations, { route: '/authorizations' }, asker, call)
  } catch (error) {
    throw toLoginFailure(error)
  }
}

/**
 * Finds the reason why reading an account was refused: 401 and 403 may be a lost consent, 404 a lost
 * connection or a missing account. Always throws; a refusal that the connection does not explain is thrown
 * unchanged, with SnapTrade's message (reading R20).
 */
export async function explainRefusal(
  error: unknown,
  question: Question,
  account: AccountRef,
): Promise<never> {
  const failure = error instanceof UpstreamError ? error.failure : null
  if (failure?.kind === 'preparing') throw fail({ ...failure, of: nameAccounts([account]) })
  // On a 402 SnapTrade itself names the connection as disabled; a refused personal key has its own words.
  if (failure?.kind === 'consent_lost' && failure.wholeLogin !== true) {
    throw fail({ ...failure, detail: loginDisabled })
  }
  if (failure?.kind !== 'rejected' || ![401, 403, 404].includes(failure.status)) throw error
  await checkConnection(question)
  if (failure.status !== 404) throw error
  throw fail({ kind: 'account_gone', detail: failure.detail })
}

/**
 * Resolves when an empty read of a connection can be trusted, otherwise throws the reason: the consent is
 * lost, a requested account is missing or was never synced, or its brokerage does not share what it holds.
 * Without accounts only the connection is checked.
 */
export async function confirmEmpty(
  question: Question,
  asked: EmptyAnswer | undefined,
  ready: ReadyAccounts,
): Promise<void> {
  const { client, asker, login, connectionId, call } = question
  const listAccounts = () => client.fetchParsed(WireAccounts, { route: '/accounts' }, asker, call)
  if (asked !== undefined && isPart(asked)) {
    if (ready.hasAll(login, asked)) return
    const failure = findFailure(await listAccounts(), asked)
    if (failure === null) return ready.add(login, asked)
    // A lost consent is the reason for what is not ready, too.
    await checkConnection(question)
    throw failure
  }
  await checkConnection(question)
  const known = await listAccounts()
  if (asked === undefined || asked.accounts.length === 0) {
    return checkFirstSync(known.filter(({ brokerage_authorization: of }) => of === connectionId))
  }
  const failure = findFailure(known, asked)
  if (failure !== null) throw failure
}

/** Why the emptiness of the accounts cannot be trusted; null when it can. Names all that share it. */
function findFailure(
  all: readonly WireAccount[],
  { what, accounts, among }: EmptyAnswer,
): UpstreamError | null {
  const known = new Map<string, WireAccount>(all.map((account) => [account.id, account]))
  const namesOf = (is: (account: WireAccount) => boolean) => {
    const isSuch = ({ upstreamId: id }: AccountRef) => {
      const account = known.get(id)
      return account !== undefined && is(account)
    }
    return accounts.some(isSuch) ? nameAccounts(among.filter(isSuch)) : null
  }
  if (accounts.some(({ upstreamId: id }) => !known.has(id))) {
    return fail({ kind: 'account_gone', detail: gone })
  }
  // A closed account may never have been synced, and no sync is coming.
  const unsynced = namesOf((account) => isListed(account) && !isSynced(account, what))
  if (unsynced !== null) {
    const detail = `the first sync of ${what} has not finished`
    return fail({ kind: 'preparing', detail, of: unsynced })
  }
  const unshared = namesOf(
    ({ sync_status }) =>
      what === 'holdings' && sync_status?.holdings?.holdings_unavailable === true,
  )
  if (unshared === null) return null
  const detail = `the brokerage does not share the holdings of ${unshared}; ask for other accounts`
  return fail({ kind: 'rejected', status: 422, detail })
}

/** Throws `preparing` for a connection without stored accounts while no account has finished a first sync. */
function checkFirstSync(own: readonly WireAccount[]): void {
  // A closed account may never have been synced, and is not shown anyway.
  if (!own.some(isListed)) return
  if (own.some((account) => isSynced(account, 'holdings') || isSynced(account, 'transactions'))) {
    return
  }
  throw fail({ kind: 'preparing', detail: 'the first sync of the connection has not finished' })
}

/** An account without sync information counts as synced. */
function isSynced(account: WireAccount, what: EmptyAnswer['what']): boolean {
  return account.sync_status?.[what]?.initial_sync_completed !== false
}

const maxNamed = 5

/** `the account "Margin" (id)`: the name that people know and the id for the next request. */
function nameAccounts(accounts: readonly AccountRef[]): string {
  const names = accounts.slice(0, maxNamed).map(({ name, id }) => `"${name.slice(0, 80)}" (${id})`)
  const more = accounts.length > maxNamed ? ` and ${accounts.length - maxNamed} more` : ''
  return `the account${accounts.length === 1 ? '' : 's'} ${names.join(', ')}${more}`
}
