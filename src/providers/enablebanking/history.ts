/**
 * All rows of an account that its bank gives. In the first hour after the consent that is everything, later
 * what the bank allows: a period that it refuses is narrowed, and how many days it gave is remembered.
 */
import { addDays, dayMs, getZone, minuteMs, toMicros, toMillis } from '#kernel/time.ts'
import type { Login } from '../port.ts'
import { type Asked, askBank } from './ask-bank.ts'
import { applicationOf, type Reach } from './consent.ts'
import { malformed, periodCodes, RefusedError, unavailable } from './failures.ts'
import { joinPages } from './join-pages.ts'
import type { PsuHeaders } from './psu-headers.ts'
import { type KeptRows, keepRows } from './rows.ts'
import { type KeptAccount, sessionOf } from './secret.ts'
import { RowsBody, readBody } from './wire.ts'

/** Banks give all they have for about an hour after the consent; we stop a little earlier. */
const firstHourMs = 55 * minuteMs
const beginning = '2000-01-01'
/** What banks give later is mostly 90 days, of some 89; where no border is named, fewer are tried. */
const usualDays = 89
const fewerDays = [usualDays, 60, 30] as const
/** A border nearer than this is none: a refusal may tell its own time, or the end of the period. */
const leastDays = 7
/** How long the border is kept, below the longest timer (24.8 days); a renewal forgets it. */
const borderLifeMs = 20 * dayMs
/** How many times a period is narrowed in one reading; each time is a call. */
const maxNarrowed = 4

/** Bounds of one walk: more is a bank that never ends. */
const maxPages = 1000
const maxRows = 200_000
const maxWalkMs = 10 * minuteMs

const utc = getZone('UTC')

const nameBorder = (login: Login, { id }: KeptAccount) => {
  return { name: `border:${id}`, login, maxAgeMs: borderLifeMs }
}

/** From which day on, and how. */
interface Reachback {
  readonly from: string
  /** Everything the bank has. */
  readonly isWhole: boolean
}

/**
 * The border is kept only once the bank has given rows within it.
 * @throws UpstreamError `rejected` where the bank refuses every period.
 */
export async function readHistory(asked: Asked): Promise<KeptRows> {
  const { reach, account } = asked
  let back = await chooseReachback(asked)
  for (let narrowed = 0; ; narrowed += 1) {
    // Counted before the walk, which may go on over midnight.
    const days = countDays(back.from, todayOf(reach))
    const next = await readOrNarrow(asked, back)
    if ('sent' in next) {
      if (narrowed > 0 && back.from !== beginning) await keepBorder(asked, days)
      return keepRows(next.sent, account.holder, reach.note)
    }
    if (next.back === null || narrowed === maxNarrowed) throw next.error
    back = next.back
  }
}

type Narrowed =
  | { readonly sent: readonly unknown[] }
  | { readonly back: Reachback | null; readonly error: RefusedError }

async function readOrNarrow(asked: Asked, back: Reachback): Promise<Narrowed> {
  try {
    return { sent: await askBank(asked, (uid, headers) => walk(asked, { uid, headers, back })) }
  } catch (error) {
    if (!(error instanceof RefusedError) || !isPeriodRefused(error, back)) throw error
    return { back: narrow(asked, back, error.days), error }
  }
}

/** Banks that do not give everything refuse it in other words, too. */
const isPeriodRefused = ({ code, failure }: RefusedError, { from }: Reachback): boolean =>
  periodCodes.has(code) ||
  (from === beginning && failure.kind === 'rejected' && failure.status !== 403)

async function chooseReachback({ reach, login, account }: Asked): Promise<Reachback> {
  const now = reach.clock.now()
  const { authorizedAt } = sessionOf(login).session
  const age = authorizedAt === null ? firstHourMs : now - authorizedAt
  const border = await reach.readings.peek(nameBorder(login, account))
  if (border === null && age >= 0 && age < firstHourMs) return { from: beginning, isWhole: true }
  const known = border === null ? usualDays : Number(Buffer.from(border.body).toString('utf8'))
  return daysBack(reach, Math.min(known, usualDays))
}

/** The earliest day that the bank named and that is later than what it refused; else fewer days. */
function narrow({ reach }: Asked, refused: Reachback, named: RefusedError['days']) {
  const today = todayOf(reach)
  const latest = addDays(today, -leastDays)
  const [border] = named.filter((day) => day > refused.from && day <= latest).toSorted()
  if (border !== undefined) return { from: border, isWhole: false }
  // Some banks have everything for an hour, and no `longest`.
  if (refused.isWhole) return { from: beginning, isWhole: false }
  const days = countDays(refused.from, today)
  const fewer = fewerDays.find((one) => one < days)
  return fewer === undefined ? null : daysBack(reach, fewer)
}

const daysBack = (reach: Reach, days: number): Reachback => {
  return { from: addDays(todayOf(reach), -days), isWhole: false }
}

const countDays = (from: string, to: string): number =>
  Math.round((toMillis(utc.startOfDay(to)) - toMillis(utc.startOfDay(from))) / dayMs)

/** As a number of days: the day itself would be too far back tomorrow. */
async function keepBorder({ reach, login, account }: Asked, days: number): Promise<void> {
  await reach.readings.keep(nameBorder(login, account), Buffer.from(String(days)))
}

const todayOf = ({ clock }: Reach): string => utc.dayOf(toMicros(clock.now()))

const endless = () => unavailable('the bank’s list does not end')

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
  const sent: (readonly unknown[])[] = []
  let rows = 0
  const keys = new Set<string>()
  for (let key: string | null = null, pages = 0; ; pages += 1) {
    if (pages === maxPages || performance.now() - begun > maxWalkMs) throw endless()
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
      isCountedByDay: true,
    } as const
    const body = readBody(RowsBody, await reach.client.send(application, request, call))
    sent.push(body.transactions)
    rows += body.transactions.length
    if (rows > maxRows) throw endless()
    if (!body.continuation_key) {
      const joined = await joinPages(sent)
      if (joined.length < rows) reach.note('a page repeats rows of an earlier one')
      return joined
    }
    key = body.continuation_key
    if (keys.has(key)) throw malformed('the bank repeats the key of a page')
    keys.add(key)
  }
}
