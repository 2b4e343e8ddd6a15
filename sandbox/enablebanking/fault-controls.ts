/**
 * The sandbox commands at Enable Banking: a consent that expires or is withdrawn is a session that has ended,
 * and a broken login is a bank that asks for its person. There are no webhooks.
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
import { demoApplication } from './applications.ts'
import { makeDemoPeople } from './demo.ts'
import { type BankAccount, type BankPeople, type BankPerson, dayOf, startOf } from './people.ts'
import { refuse } from './site.ts'

export function makeFaultControls(options: {
  readonly people: BankPeople
  readonly clock: Clock
  readonly seed: string
  /** As a client names the login of a bank's customer. */
  readonly nameLogin: (applicationId: string, person: BankPerson) => string
}): FaultControls {
  const { people, clock, seed, nameLogin } = options
  let added = 0
  return {
    upstreamUserId: (name) => nameLogin(demoApplication.id, findPerson(people, name)),
    addRow(name, row) {
      added += 1
      return addRow(findPerson(people, name), row, `ADDED${added}`)
    },
    changeRow: (name, change) => changeRow(findPerson(people, name), change, clock.now()),
    login: {
      breakIt(name) {
        findPerson(people, name).needsAction = true
      },
      mend(name) {
        delete findPerson(people, name).needsAction
      },
    },
    consent: {
      expire(name) {
        findPerson(people, name).ended = { error: 'EXPIRED_SESSION' }
      },
      revoke(name) {
        findPerson(people, name).ended = { error: 'REVOKED_SESSION' }
      },
      renew(name) {
        delete findPerson(people, name).ended
      },
    },
    webhooks: null,
    refusal(status, retryAfterSeconds) {
      const reply = refuse(status, status === 429 ? 'ASPSP_RATE_LIMIT_EXCEEDED' : 'ASPSP_ERROR')
      if (retryAfterSeconds === null) return reply
      return { ...reply, headers: { 'retry-after': String(retryAfterSeconds) } }
    },
    isApiCall: ({ path }) => path.startsWith('/accounts/'),
    reset() {
      Object.assign(people, makeDemoPeople(seed, clock))
    },
  }
}

const namesOf = ({ details, product, iban, hash }: BankAccount) => [
  details ?? product ?? iban ?? hash,
  iban,
  hash,
]

function addRow(person: BankPerson, row: NewRow, id: string): TouchedRow {
  const account = chooseAccount(person.accounts, row.account, namesOf)
  const { amount, description, at } = row
  account.rows.push({ id, bookedAt: startOf(dayOf(at)), settlesAt: at, amount, description })
  return { id, account: String(namesOf(account)[0]) }
}

function changeRow(person: BankPerson, change: RowChange, now: number): TouchedRow {
  const among =
    change.row === null
      ? [chooseAccount(person.accounts, change.account, namesOf)]
      : person.accounts
  for (const account of among) {
    const booked = account.rows.filter(({ bookedAt }) => bookedAt <= now)
    const newest = booked.toSorted((one, other) => other.bookedAt - one.bookedAt)[0]
    const row = change.row === null ? newest : account.rows.find(({ id }) => id === change.row)
    if (row === undefined) continue
    if (change.amount !== null) row.amount = change.amount
    if (change.description !== null) row.description = change.description
    if (change.at !== null) row.bookedAt = startOf(dayOf(change.at))
    return { id: row.id, account: String(namesOf(account)[0]) }
  }
  throw new FaultControlError(
    change.row === null ? 'this account has no row yet' : `there is no row ${change.row}`,
  )
}
