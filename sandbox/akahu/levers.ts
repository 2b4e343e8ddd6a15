/**
 * The sandbox commands at Akahu: rows of the future are pending until then, a broken login is INACTIVE, an expired
 * consent is a token that works no more, a withdrawn one leaves the token without its logins.
 */
import type { Clock } from '#kernel/time.ts'
import {
  chooseAccount,
  findPerson,
  LeverError,
  type Levers,
  type NewRow,
  type RowChange,
  type TouchedRow,
} from '../levers.ts'
import { makeDemoPeople } from './demo.ts'
import { toUserToken } from './making.ts'
import { type AkahuAccount, type AkahuPeople, type AkahuPerson, bringUpToDate } from './people.ts'
import { digest } from './rows.ts'
import { refusal } from './wire.ts'

interface Bench {
  readonly people: AkahuPeople
  readonly clock: Clock
  readonly seed: string
  /** Accounts whose consent was withdrawn, to come back when it is renewed. */
  readonly withdrawn: Map<string, AkahuAccount[]>
  /** How many rows were added so far. */
  added: number
}

export function makeLevers(options: Pick<Bench, 'people' | 'clock' | 'seed'>): Levers {
  const bench: Bench = { ...options, withdrawn: new Map(), added: 0 }
  const { people, clock, seed } = options
  const setStatus = (name: string, status: AkahuAccount['status']) => {
    for (const account of findPerson(people, name).accounts) account.status = status
  }
  return {
    upstreamUserId: (name) => findPerson(people, name).user._id,
    addRow: (name, row) => addRow(bench, findPerson(people, name), row),
    changeRow: (name, change) => changeRow(bench, findPerson(people, name), change),
    login: {
      breakIt: (name) => setStatus(name, 'INACTIVE'),
      mend: (name) => setStatus(name, 'ACTIVE'),
    },
    consent: {
      expire(name) {
        findPerson(people, name).userToken = null
      },
      revoke(name) {
        const person = findPerson(people, name)
        const gone = bench.withdrawn.get(name) ?? []
        bench.withdrawn.set(name, [...gone, ...person.accounts])
        person.accounts = []
      },
      renew(name) {
        const person = findPerson(people, name)
        person.userToken = toUserToken(name)
        person.accounts = [...person.accounts, ...(bench.withdrawn.get(name) ?? [])]
        bench.withdrawn.delete(name)
        setStatus(name, 'ACTIVE')
      },
    },
    refusal(status, retryAfterSeconds) {
      const reply = refusal(status, `Told to answer ${status}`)
      if (retryAfterSeconds === null) return reply
      return { ...reply, headers: { 'retry-after': String(retryAfterSeconds) } }
    },
    isApiCall: ({ path }) => path !== '/v1/token',
    reset() {
      bench.withdrawn.clear()
      Object.assign(people, makeDemoPeople(seed, clock))
    },
  }
}

const namesOf = ({ name, _id }: AkahuAccount) => [name, _id]

function addRow(bench: Bench, person: AkahuPerson, row: NewRow): TouchedRow {
  const { clock } = bench
  const account = chooseAccount(person.accounts, row.account, namesOf)
  bench.added += 1
  const now = new Date(clock.now()).toISOString()
  const id = `trans_${digest(`${bench.seed}|added|${bench.added}`)}`
  account.rows.push({
    _id: id,
    created_at: now,
    updated_at: now,
    date: new Date(row.at).toISOString(),
    description: row.description,
    amount: row.amount,
    type: row.amount.startsWith('-') ? 'DEBIT' : 'CREDIT',
    ...(row.at > clock.now() ? { seenFrom: now } : {}),
  })
  return { id, account: account.name }
}

function changeRow(bench: Bench, person: AkahuPerson, change: RowChange): TouchedRow {
  const now = new Date(bench.clock.now()).toISOString()
  bringUpToDate(person.accounts, bench.clock)
  const among =
    change.row === null
      ? [chooseAccount(person.accounts, change.account, namesOf)]
      : person.accounts
  for (const account of among) {
    const row =
      change.row === null
        ? newest(account.rows.filter(({ date }) => date <= now))
        : account.rows.find(({ _id }) => _id === change.row)
    if (row === undefined) continue
    row.updated_at = now
    if (change.amount !== null) row.amount = change.amount
    if (change.description !== null) row.description = change.description
    if (change.at !== null) row.date = new Date(change.at).toISOString()
    return { id: row._id, account: account.name }
  }
  throw new LeverError(
    change.row === null ? 'this account has no row yet' : `there is no row ${change.row}`,
  )
}

function newest(rows: readonly AkahuAccount['rows'][number][]) {
  return rows.toSorted((left, right) => (left.date < right.date ? 1 : -1))[0]
}
