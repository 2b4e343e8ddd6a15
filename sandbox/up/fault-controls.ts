/**
 * The sandbox commands at Up: a row of the future is held until its time; a consent that expires or is
 * withdrawn is a token that is refused. There is no login to break, and Up sends no webhooks unless a client
 * asks for them.
 */
import type { Clock } from '#kernel/time.ts'
import {
  chooseAccount,
  FaultControlError,
  type FaultControls,
  findPerson,
  type NewRow,
  type RowChange,
  type TouchedRow,
} from '../fault-controls.ts'
import { makeDemoPeople } from './demo.ts'
import {
  bringUpToDate,
  statusAt,
  toToken,
  type UpAccount,
  type UpPeople,
  type UpPerson,
} from './people.ts'
import { makeRow, toUuid } from './rows.ts'
import { refusal } from './wire.ts'

interface Bench {
  readonly people: UpPeople
  readonly clock: Clock
  readonly seed: string
  /** How many rows were added so far. */
  added: number
}

export function makeFaultControls(options: Omit<Bench, 'added'>): FaultControls {
  const bench: Bench = { ...options, added: 0 }
  const { people, clock, seed } = options
  const endToken = (name: string) => {
    findPerson(people, name).token = null
  }
  return {
    upstreamUserId: (name) => findPerson(people, name).customerId,
    addRow: (name, row) => addRow(bench, findPerson(people, name), row),
    changeRow: (name, change) => changeRow(bench, findPerson(people, name), change),
    login: null,
    consent: {
      expire: endToken,
      revoke: endToken,
      renew(name) {
        findPerson(people, name).token = toToken(name)
      },
    },
    webhooks: null,
    refusal(status, retryAfterSeconds) {
      const reply = refusal(status, 'Sandbox', `Told to answer ${status}`)
      if (retryAfterSeconds === null) return reply
      return { ...reply, headers: { 'retry-after': String(retryAfterSeconds) } }
    },
    isApiCall: () => true,
    reset() {
      Object.assign(people, makeDemoPeople(seed, clock))
    },
  }
}

const namesOf = ({ displayName, id }: UpAccount) => [displayName, id]

function addRow(bench: Bench, person: UpPerson, row: NewRow): TouchedRow {
  const account = chooseAccount(person.accounts, row.account, namesOf)
  bench.added += 1
  const id = toUuid(`${bench.seed}|added|${bench.added}`)
  account.rows.push(
    makeRow({
      id,
      createdAt: Math.min(row.at, bench.clock.now()),
      settlesAt: row.at,
      amount: row.amount,
      description: row.description,
    }),
  )
  return { id, account: account.displayName }
}

function changeRow(bench: Bench, person: UpPerson, change: RowChange): TouchedRow {
  const now = bench.clock.now()
  bringUpToDate(person.accounts, bench.clock)
  const among =
    change.row === null
      ? [chooseAccount(person.accounts, change.account, namesOf)]
      : person.accounts
  for (const account of among) {
    const row =
      change.row === null
        ? newest(account.rows.filter((one) => statusAt(one, now) === 'SETTLED'))
        : account.rows.find(({ id }) => id === change.row)
    if (row === undefined) continue
    if (change.amount !== null) row.amount = change.amount
    if (change.description !== null) {
      row.description = change.description
      // What the network sent would still be shown instead.
      row.rawText = null
    }
    if (change.at !== null) row.createdAt = row.settlesAt = change.at
    return { id: row.id, account: account.displayName }
  }
  throw new FaultControlError(
    change.row === null ? 'this account has no row yet' : `there is no row ${change.row}`,
  )
}

function newest(rows: readonly UpAccount['rows'][number][]) {
  return rows.toSorted((left, right) => right.createdAt - left.createdAt)[0]
}
