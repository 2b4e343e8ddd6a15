/**
 * One call to a bank about an account: counted unless its person is present, and made with the account's id
 * of this session, which another session changes.
 */
import type { ConnectionStatus } from '#contract/resources.ts'
import { demandAllowed } from '../budget.ts'
import { UpstreamError } from '../failure.ts'
import type { CallContext, CallsLeft, Login } from '../port.ts'
import { demandNoWait, keepWait, nameCalls } from './bank-wait.ts'
import { getOpenSession, type Reach, readOpenSession } from './consent.ts'
import { ended, goneCodes, RefusedError } from './failures.ts'
import { findUid } from './keep-session.ts'
import { type PsuHeaders, toPsuHeaders } from './psu-headers.ts'
import { type KeptAccount, readSecret, sessionOf } from './secret.ts'

/** One account that is asked about. */
export interface Asked {
  readonly reach: Reach
  readonly login: Login
  readonly account: KeptAccount
  readonly call: CallContext
  /** The connection's. Where it is `invalidated` the session is asked first, which no bank counts. */
  readonly status?: ConnectionStatus
}

type AskUid<Answer> = (uid: string, headers: PsuHeaders) => Promise<Answer>

/** Counts the call unless its person is present, and finds the account's id of this session. */
export async function askBank<Answer>(asked: Asked, ask: AskUid<Answer>): Promise<Answer> {
  const { reach, login, account, call, status } = asked
  const known = status === 'invalidated' ? null : account.uid
  const uid = known ?? (await askUid(asked))
  try {
    return await askOnce(asked, ask, uid)
  } catch (error) {
    if (!(error instanceof RefusedError) || !goneCodes.has(error.code)) throw error
    // It may have another id now.
    const session = await readOpenSession(reach, login, call)
    const other = findUid(session, sessionOf(login).session.accounts, account)
    if (other === null || other === uid) throw error
    return askOnce(asked, ask, other)
  }
}

async function askOnce<Answer>(asked: Asked, ask: AskUid<Answer>, uid: string): Promise<Answer> {
  const { reach, login, account } = asked
  try {
    return await ask(uid, await pass(asked))
  } catch (error) {
    if (error instanceof RefusedError) await keepWait(reach, login, account, error.failure)
    throw error
  }
}

async function askUid({ reach, login, account, call }: Asked): Promise<string> {
  const { accounts } = sessionOf(login).session
  const uid = findUid(await getOpenSession(reach, login, call), accounts, account) ?? account.uid
  if (uid !== null) return uid
  const detail =
    'this account cannot be read: link it in the control panel of enablebanking.com, then renew the connection'
  throw new UpstreamError('enablebanking', { kind: 'rejected', status: 403, detail })
}

/**
 * @throws UpstreamError where the account's calls of this day are used up: `throttled`, or `consent_lost` for
 *   a connection that is known to have ended.
 */
async function pass({ reach, login, account, call, status }: Asked): Promise<PsuHeaders> {
  const headers = toPsuHeaders(call, sessionOf(login).bank.requiredHeaders)
  if (headers !== null) return headers
  await demandNoWait(reach, login, account)
  const verdict = await reach.throttle(call, nameCalls(login, account))
  // The last that is known of it: renewing it helps now, and waiting for the next day does not.
  if (!verdict.allowed && status === 'invalidated') throw ended(status)
  const { priority } = call
  demandAllowed(verdict, { provider: 'enablebanking', priority }, (whose, hours) => {
    return `${whose} calls that the bank allows in a day without its person are used up; the next are allowed in ${hours} h`
  })
  return {}
}

/** The calls of the account that has the fewest left; null: the login has none. */
export async function findCallsLeft({ throttle }: Reach, login: Login): Promise<CallsLeft | null> {
  const accounts = readSecret(login)?.session?.accounts ?? []
  const left = await Promise.all(accounts.map((one) => throttle.peek?.(nameCalls(login, one))))
  const [least = null] = left
    .filter((one) => one !== undefined)
    .toSorted((one, other) => one.left - other.left)
  return least
}
