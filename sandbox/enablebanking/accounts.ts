/**
 * Calls to the banks of the Enable Banking emulator: four a day for each account without its person, all
 * history for an hour, 90 days later, pages of ten with keys that stand for their other parameters.
 */
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { applyRowFaults } from '../row-faults.ts'
import { bankLimit } from './demo.ts'
import { type BankAccount, type BankPerson, dayMs, dayOf, isPendingAt } from './people.ts'
import { type BankSession, toUid } from './sessions.ts'
import { refuse, type Site } from './site.ts'
import { toAccountResource, toBalances, toTransaction } from './wire.ts'

interface Asked {
  readonly sessions: readonly BankSession[]
  readonly uid: string
  /** `balances`, `transactions` or `details`. */
  readonly what: string
}

export async function answerAccount(
  request: EmulatorRequest,
  site: Site,
  { sessions, uid, what }: Asked,
): Promise<EmulatorReply> {
  for (const session of sessions) {
    const account = session.person.accounts.find(({ hash }) => toUid(session, hash) === uid)
    if (account !== undefined) return answerOwn(request, site, { session, account, uid, what })
  }
  return refuse(404, 'ACCOUNT_DOES_NOT_EXIST')
}

interface Own {
  readonly session: BankSession
  readonly account: BankAccount
  readonly uid: string
  readonly what: string
}

async function answerOwn(
  request: EmulatorRequest,
  site: Site,
  { session, account, uid, what }: Own,
): Promise<EmulatorReply> {
  const { person } = session
  const now = site.clock.now()
  if (session.status !== 'AUTHORIZED') return refuse(401, 'CLOSED_SESSION')
  if (session.validUntil <= now) return refuse(401, 'EXPIRED_SESSION')
  if (person.ended !== undefined) return refuse(401, person.ended.error)
  if (account.isHidden === true) return refuse(403, 'ASPSP_ACCOUNT_NOT_ACCESSIBLE')
  if (person.needsAction === true) return refuse(403, 'ASPSP_PSU_ACTION_REQUIRED')
  const headers = judgeHeaders(request, person)
  if (headers === 'missing') return refuse(400, 'PSU_HEADER_NOT_PROVIDED')
  const isFirst = !request.query.has('continuation_key')
  if (headers === 'none' && isFirst && !site.counts.count(account.hash)) return bankLimit
  if (what === 'details') return { status: 200, body: toAccountResource(account, uid) }
  if (what === 'balances') return { status: 200, body: toBalances(account, now) }
  if (what !== 'transactions') return refuse(404, 'WRONG_REQUEST_PARAMETERS')
  return (await applyRowFaults(person)) ?? listRows(request, site, session, account)
}

/** Headers of the person: all that the bank needs, or none at all. */
function judgeHeaders(
  { headers }: EmulatorRequest,
  { habits }: BankPerson,
): 'all' | 'none' | 'missing' {
  const isAny = Object.keys(headers).some((name) => name.startsWith('psu-'))
  if (!isAny) return 'none'
  const needed = (habits.requiredHeaders ?? ['psu-ip-address']).map((name) => name.toLowerCase())
  return needed.every((name) => headers[name] !== undefined) ? 'all' : 'missing'
}

const fullHistoryMs = 3_600_000
const usualDays = 90
const knownParameters = new Set([
  'date_from',
  'date_to',
  'strategy',
  'continuation_key',
  'transaction_status',
])

function listRows(
  { query, rawQuery }: EmulatorRequest,
  { clock, pageSize }: Site,
  { person, authorisedAt, id }: BankSession,
  account: BankAccount,
): EmulatorReply {
  const now = clock.now()
  const today = dayOf(now)
  const strange = [...query.keys()].find((name) => !knownParameters.has(name))
  if (strange !== undefined) return refuse(422, 'WRONG_REQUEST_PARAMETERS', strange)
  const from = query.get('date_from')
  const to = query.get('date_to')
  const isWhole = query.get('strategy') === 'longest'
  if (to !== null && from === null) return refuse(422, 'DATE_TO_WITHOUT_DATE_FROM')
  if (from !== null && from > today) return refuse(422, 'DATE_FROM_IN_FUTURE')
  const isYoung = now - authorisedAt < fullHistoryMs
  const border = isYoung ? '1970-01-01' : dayOf(now - usualDays * dayMs)
  if (!isWhole && (from ?? border) < border) return refusePeriod(person, border)
  // Such a bank takes `longest` for an error of the period, too.
  if (isWhole && person.habits.period !== 'usual') return refusePeriod(person, border)
  const first = from !== null && from > border ? from : border
  const last = to !== null && to < today ? to : today
  const listed = account.rows
    .filter(({ bookedAt, settlesAt }) => bookedAt <= now || settlesAt !== undefined)
    .filter(({ bookedAt }) => {
      const day = dayOf(bookedAt)
      return day >= first && day <= last
    })
    .toSorted((one, other) => other.bookedAt - one.bookedAt || (one.id < other.id ? 1 : -1))
  const others = [...new URLSearchParams(rawQuery)].filter(([name]) => name !== 'continuation_key')
  const same = JSON.stringify([id, account.hash, others.toSorted()])
  const place = readKey(query.get('continuation_key'), same)
  if (place === null) return refuse(422, 'WRONG_CONTINUATION_KEY')
  const isEmpty = person.habits.hasEmptyPage === true && place.isEmpty
  const rows = isEmpty ? [] : listed.slice(place.at, place.at + pageSize)
  const at = place.at + rows.length
  // The empty page comes after the first one.
  const next = { at, isEmpty: !isEmpty && place.at === 0, same }
  return {
    status: 200,
    body: {
      transactions: rows.map((row) =>
        toTransaction(person, account, row, { now, place: () => placeInDay(account, row, now) }),
      ),
      continuation_key:
        at < listed.length ? Buffer.from(JSON.stringify(next)).toString('base64url') : null,
    },
  }
}

function refusePeriod({ habits }: BankPerson, border: string): EmulatorReply {
  if (habits.period === 'bare') {
    return {
      status: 422,
      body: { code: 'PERIOD_INVALID', detail: 'dateFrom=invalid', message: 'Period invalid' },
    }
  }
  const detail = habits.period === 'detail' ? { date_from: border } : null
  return refuse(422, 'WRONG_TRANSACTIONS_PERIOD', detail)
}

interface Place {
  readonly at: number
  readonly isEmpty: boolean
}

/** Null: the key is of another session, or of other parameters. */
function readKey(key: string | null, same: string): Place | null {
  if (key === null) return { at: 0, isEmpty: false }
  try {
    const read = JSON.parse(Buffer.from(key, 'base64url').toString()) as Place & { same: string }
    return read.same === same ? read : null
  } catch {
    return null
  }
}

/** An inserted row moves the ids of the others. */
function placeInDay({ rows }: BankAccount, row: { id: string; bookedAt: number }, now: number) {
  const ofDay = rows.filter((one) => one.bookedAt === row.bookedAt && !isPendingAt(one, now))
  return (
    ofDay
      .toSorted((one, other) => (one.id < other.id ? -1 : 1))
      .findIndex((one) => one.id === row.id) + 1
  )
}
