/**
 * The one connection of a login with its accounts, from its session. A person who is present, at linking and
 * at their press, has the bank read anew with it: within the first hour that brings all it has.
 */
import { type UpstreamId, upstreamId } from '#kernel/ids.ts'
import { type Millis, toIso } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type { CallContext, DiscoveredConnection, Login } from '../port.ts'
import { findReadAt, readBalances, readRows } from './account-readings.ts'
import { type Reach, readOrEnded } from './consent.ts'
import { findUid } from './keep-session.ts'
import { findCurrency } from './learn-currency.ts'
import { toAccount, toConnection } from './map.ts'
import { type KeptAccount, readSecret, sessionOf } from './secret.ts'
import type { Session } from './wire.ts'

export async function discover(
  reach: Reach,
  login: Login,
  call: CallContext,
): Promise<readonly DiscoveredConnection[]> {
  // An application without a bank yet.
  if (readSecret(login)?.session === null) return []
  const open = sessionOf(login)
  const found = await readOrEnded(reach, login, call)
  const named = { upstreamId: login.upstreamUserId }
  if (typeof found === 'string') {
    const gone = { ...named, status: found, lastRefreshedAt: null, accounts: null }
    return [toConnection(open, gone)]
  }
  const kept = open.session.accounts
  const own = kept.filter((account) => isListed(found, kept, account))
  if (call.person !== undefined) await readNow(reach, login, own, call)
  const times = await Promise.all(own.map((account) => findReadAt(reach, login, account)))
  const known = times.filter((at): at is Millis => at !== null)
  const accounts = await Promise.all(
    own.map(async (account) =>
      toAccount(account, open.bank, await findCurrency(reach, login, account, call)),
    ),
  )
  return [
    toConnection(open, {
      ...named,
      status: 'active',
      lastRefreshedAt: known.length === 0 ? null : toIso(Math.min(...known)),
      accounts,
    }),
  ]
}

/** Without a bank call: the session alone is asked. */
export async function listAlive(
  reach: Reach,
  login: Login,
  call: CallContext,
): Promise<readonly UpstreamId[]> {
  if (readSecret(login)?.session === null) return []
  const found = await readOrEnded(reach, login, call)
  return typeof found === 'string' ? [] : [upstreamId(login.upstreamUserId)]
}

/** A session that names no accounts has all that it was opened with. */
function isListed(session: Session, kept: readonly KeptAccount[], account: KeptAccount): boolean {
  const { accounts_data: listed, accounts } = session
  if (!listed) return !accounts || account.uid === null || accounts.includes(account.uid)
  return findUid(session, kept, account) !== null || listed.some(({ uid }) => uid === account.uid)
}

/**
 * Balances are awaited; rows go on when the page has left. What fails is shown by whoever reads it next.
 */
async function readNow(
  reach: Reach,
  login: Login,
  accounts: readonly KeptAccount[],
  call: CallContext,
): Promise<void> {
  const noteFailure = (error: unknown) => {
    const kind = error instanceof UpstreamError ? error.failure.kind : 'aborted'
    reach.note(`not read while its person was present: ${kind}`)
  }
  for (const account of accounts) {
    void readRows({ reach, login, account, call }).catch(noteFailure)
  }
  await Promise.all(
    accounts.map((account) => readBalances({ reach, login, account, call }).catch(noteFailure)),
  )
  call.signal.throwIfAborted()
}
