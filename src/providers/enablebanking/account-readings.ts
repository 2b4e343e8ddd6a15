/**
 * What a bank is asked about one account: its balances, and its rows to the end. A bank allows about four
 * calls a day without its person, so each reading is kept and serves everything for six hours (reading R36).
 * Later calls of a walk are part of the first one. Its failure keeps nothing.
 */
import { hash } from 'node:crypto'
import { addDays, getZone, type Millis, toMicros } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import { keepsReadings } from '../login.ts'
import type { CallContext, CallsLeft, Login } from '../port.ts'
import { applicationOf, type Reach, readOpenSession } from './consent.ts'
import { goneCodes, malformed, periodCodes, RefusedError, unavailable } from './failures.ts'
import { findUid } from './keep-session.ts'
import { writeKeptRows } from './kept-rows.ts'
import { type PsuHeaders, toPsuHeaders } from './psu-headers.ts'
import { type KeptRows, keepRows } from './rows.ts'
import { type KeptAccount, readSecret, sessionOf } from './secret.ts'
import { BalancesBody, RowsBody, readBody, type WireBalance } from './wire.ts'

/** R36. */
export const readingLifeMs = 6 * 3_600_000
/** Banks give all they have for about an hour after the consent; we stop a little earlier. */
const firstHourMs = 55 * 60_000
/** What banks give later is mostly 90 days, of some 89. */
const usualDays = 89
/** Where 89 are refused without a border. */
const fewDays = 30
const beginning = '2000-01-01'
/** How long a border that a bank named is kept, below the longest timer (24.8 days); a renewal forgets it. */
const borderLifeMs = 20 * 86_400_000

/** Bounds of one walk: more is a bank that never ends. */
const maxPages = 1000
const maxRows = 200_000
const maxWalkMs = 10 * 60_000

export interface Timed<Value> {
  readonly value: Value
  readonly readAt: Millis
}

const utc = getZone('UTC')

/** @throws UpstreamError `account_gone` for an account that the session does not have. */
export function keptAccountOf(login: Login, upstreamId: string): KeptAccount {
  const { session } = sessionOf(login)
  const found = session.accounts.find(({ id }) => id === upstreamId)
  if (found !== undefined) return found
  const detail = 'the consent does not have this account any more'
  throw new UpstreamError('enablebanking', { kind: 'account_gone', detail })
}

export async function readBalances(
  reach: Reach,
  login: Login,
  account: KeptAccount,
  call: CallContext,
): Promise<Timed<readonly WireBalance[]>> {
  const { body, readAt } = await reach.readings.get({
    ...nameBalances(login, account),
    call,
    read: (own) =>
      askBank({ reach, login, account, call: own }, async (uid, headers) => {
        const target = `/accounts/${encodeURIComponent(uid)}/balances`
        const request = {
          method: 'GET',
          route: '/accounts/{id}/balances',
          target,
          headers,
        } as const
        const bytes = await reach.client.send(applicationOf(reach, login), request, own)
        readBody(BalancesBody, bytes)
        return bytes
      }),
  })
  return { value: readBody(BalancesBody, body).balances, readAt }
}

/** The bytes of `kept-rows.ts`. */
export async function readRows(
  reach: Reach,
  login: Login,
  account: KeptAccount,
  call: CallContext,
): Promise<Timed<Uint8Array>> {
  const { body, readAt } = await reach.readings.get({
    ...nameRows(login, account),
    call,
    read: async (own) => writeKeptRows(await readHistory({ reach, login, account, call: own })),
  })
  return { value: body, readAt }
}

/** When data of the account were last read; null: nothing is kept. */
export async function findReadAt(
  { readings }: Reach,
  login: Login,
  account: KeptAccount,
): Promise<Millis | null> {
  const found = await readings.peek(nameBalances(login, account))
  return (found ?? (await readings.peek(nameRows(login, account))))?.readAt ?? null
}

const nameBalances = (login: Login, { id }: KeptAccount) => {
  return { name: `balances:${id}`, login, maxAgeMs: readingLifeMs }
}
const nameRows = (login: Login, { id }: KeptAccount) => {
  return { name: `rows:${id}`, login, maxAgeMs: readingLifeMs }
}
const nameBorder = (login: Login, { id }: KeptAccount) => {
  return { name: `border:${id}`, login, maxAgeMs: borderLifeMs }
}

/** Whose calls are counted together: of an account, over renewals. */
const nameCalls = ({ upstreamUserId }: Login, { id }: KeptAccount): string =>
  hash('sha256', `${upstreamUserId} ${id}`)

/** Of the account that has the fewest left; null: the login has none. */
export async function findCallsLeft({ throttle }: Reach, login: Login): Promise<CallsLeft | null> {
  const accounts = readSecret(login)?.session?.accounts ?? []
  const left = await Promise.all(accounts.map((one) => throttle.peek?.(nameCalls(login, one))))
  const [least = null] = left
    .filter((one) => one !== undefined)
    .toSorted((one, other) => one.left - other.left)
  return least
}

/** One account that is asked about. */
interface Asked {
  readonly reach: Reach
  readonly login: Login
  readonly account: KeptAccount
  readonly call: CallContext
}

type AskUid<Answer> = (uid: string, headers: PsuHeaders) => Promise<Answer>

/** Counts the call unless its person is present, and finds the account's id of this session. */
async function askBank<Answer>(asked: Asked, ask: AskUid<Answer>): Promise<Answer> {
  const { reach, login, account, call } = asked
  const uid = account.uid ?? (await askUid(asked))
  try {
    return await ask(uid, await pass(asked))
  } catch (error) {
    if (!(error instanceof RefusedError) || !goneCodes.has(error.code)) throw error
    // It may have another id now.
    const session = await readOpenSession(reach, login, call)
    const other = findUid(session, sessionOf(login).session.accounts, account)
    if (other === null || other === uid) throw error
    return ask(other, await pass(asked))
  }
}

async function askUid({ reach, login, account, call }: Asked): Promise<string> {
  const { accounts } = sessionOf(login).session
  const uid = findUid(await readOpenSession(reach, login, call), accounts, account)
  if (uid !== null) return uid
  const detail =
    'this account cannot be read: link it in the control panel of enablebanking.com, then renew the connection'
  throw new UpstreamError('enablebanking', { kind: 'rejected', status: 403, detail })
}

/** @throws UpstreamError `throttled` where the account's calls of this day are used up. */
async function pass({ reach, login, account, call }: Asked): Promise<PsuHeaders> {
  const headers = toPsuHeaders(call, sessionOf(login).bank.requiredHeaders)
  if (headers !== null) return headers
  const counted = await reach.throttle(call, nameCalls(login, account))
  if (counted.allowed) return {}
  const { retryAfterSeconds } = counted
  const whose = call.priority === 'user' ? 'the' : 'background work’s share of the'
  const hours = Math.ceil(retryAfterSeconds / 3600)
  const detail = `${whose} calls that the bank allows in a day without its person are used up; the next are allowed in ${hours} h`
  throw new UpstreamError('enablebanking', {
    kind: 'throttled',
    retryAfterSeconds,
    detail,
    isOwnBudget: true,
  })
}

/** From which day on, and how. */
interface Reachback {
  readonly from: string
  /** Everything the bank has. */
  readonly isWhole: boolean
}

/** All that the bank gives: narrowed once where it refuses the period, and remembered. */
async function readHistory(asked: Asked): Promise<KeptRows> {
  const { reach, account } = asked
  const first = await chooseReachback(asked)
  const read = (back: Reachback) =>
    askBank(asked, (uid, headers) => walk(asked, { uid, headers, back }))
  let sent: readonly unknown[]
  try {
    sent = await read(first)
  } catch (error) {
    if (!(error instanceof RefusedError) || !isPeriodRefused(error, first)) throw error
    const back = { from: narrow(asked, first, error.border), isWhole: false }
    sent = await read(back)
    await keepBorder(asked, back.from)
  }
  return keepRows(sent, account.holder, reach.note)
}

/** Banks that have no `longest` refuse it in other words, too. */
const isPeriodRefused = ({ code, failure }: RefusedError, { isWhole }: Reachback): boolean =>
  periodCodes.has(code) || (isWhole && failure.kind === 'rejected' && failure.status !== 403)

async function chooseReachback({ reach, login, account }: Asked): Promise<Reachback> {
  const now = reach.clock.now()
  const { authorizedAt } = sessionOf(login).session
  const age = authorizedAt === null ? firstHourMs : now - authorizedAt
  const border = await reach.readings.peek(nameBorder(login, account))
  if (border === null && age >= 0 && age < firstHourMs) return { from: beginning, isWhole: true }
  const usual = addDays(todayOf(reach), -usualDays)
  const known = border === null ? '' : Buffer.from(border.body).toString('utf8')
  return { from: known > usual ? known : usual, isWhole: false }
}

/** The day that the bank named, where it is later than what it refused; else fewer days. */
function narrow({ reach }: Asked, { from, isWhole }: Reachback, border: string | null): string {
  const today = todayOf(reach)
  if (border !== null && border > from && border <= today) return border
  return addDays(today, isWhole ? -usualDays : -fewDays)
}

async function keepBorder({ reach, login, account, call }: Asked, from: string): Promise<void> {
  const read = async () => Buffer.from(from)
  await reach.readings.get({ ...nameBorder(login, account), call: keepsReadings(call), read })
}

const todayOf = ({ clock }: Reach): string => utc.dayOf(toMicros(clock.now()))

interface Walk {
  readonly uid: string
  readonly headers: PsuHeaders
  readonly back: Reachback
}

/** Every page, until the bank gives no key: an empty page with a key is not the end. */
async function walk(asked: Asked, { uid, headers, back }: Walk): Promise<readonly unknown[]> {
  const { reach, login, call } = asked
  const application = applicationOf(reach, login)
  const begun = performance.now()
  const rows: unknown[] = []
  const keys = new Set<string>()
  for (let key: string | null = null, pages = 0; ; pages += 1) {
    if (pages === maxPages || rows.length > maxRows || performance.now() - begun > maxWalkMs) {
      throw unavailable('the bank’s list does not end')
    }
    const query = new URLSearchParams({
      date_from: back.from,
      ...(back.isWhole ? { strategy: 'longest' } : {}),
      // The other parameters are repeated as they were.
      ...(key === null ? {} : { continuation_key: key }),
    })
    const target = `/accounts/${encodeURIComponent(uid)}/transactions?${query}`
    const request = {
      method: 'GET',
      route: '/accounts/{id}/transactions',
      target,
      headers,
    } as const
    const body = readBody(RowsBody, await reach.client.send(application, request, call))
    for (const row of body.transactions) rows.push(row)
    if (!body.continuation_key) return rows
    key = body.continuation_key
    if (keys.has(key)) throw malformed('the bank repeats the key of a page')
    keys.add(key)
  }
}
