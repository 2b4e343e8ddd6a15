/**
 * The sandbox commands at SimpleFIN: a consent that expires or is withdrawn is an access that is disabled,
 * and a broken login is a bank that asks for its person. The protocol has no webhooks.
 */
import { hash } from 'node:crypto'
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
import type { SimplefinAccount, SimplefinPeople, SimplefinPerson } from './people.ts'
import { toId, toPassword, toUser } from './people.ts'

export function makeFaultControls(options: {
  readonly people: SimplefinPeople
  readonly clock: Clock
  readonly seed: string
  readonly base: () => string
}): FaultControls {
  const { people, clock, seed, base } = options
  let added = 0
  const disable = (name: string) => {
    findPerson(people, name).password = null
  }
  const setTrouble = (name: string, trouble: string | null) => {
    for (const connection of findPerson(people, name).connections) {
      if (trouble === null) delete connection.trouble
      else connection.trouble = trouble
    }
  }
  return {
    // As a client may tell logins apart: the server and the user name of the access URL.
    upstreamUserId: (name) => hash('sha256', `${base()} ${toUser(name)}`),
    addRow(name, row) {
      added += 1
      return addRow(findPerson(people, name), row, toId('TRN', `${seed} added ${added}`))
    },
    changeRow: (name, change) => changeRow(findPerson(people, name), change, clock.now()),
    login: {
      breakIt: (name) => setTrouble(name, 'con.auth'),
      mend: (name) => setTrouble(name, null),
    },
    consent: {
      expire: disable,
      revoke: disable,
      renew(name) {
        findPerson(people, name).password = toPassword(name)
      },
    },
    webhooks: null,
    refusal(status, retryAfterSeconds) {
      const reply = { status, body: { errors: [`Told to answer ${status}`], accounts: [] } }
      if (retryAfterSeconds === null) return reply
      return { ...reply, headers: { 'retry-after': String(retryAfterSeconds) } }
    },
    isApiCall: ({ path }) => path.endsWith('/accounts'),
    reset() {
      Object.assign(people, makeDemoPeople(seed, clock))
    },
  }
}

const accountsOf = ({ connections }: SimplefinPerson) =>
  connections.flatMap(({ accounts }) => accounts)
const namesOf = ({ name, id }: SimplefinAccount) => [name, id]

function addRow(person: SimplefinPerson, row: NewRow, id: string): TouchedRow {
  const account = chooseAccount(accountsOf(person), row.account, namesOf)
  const { amount, description, at } = row
  account.rows.push({ id, postedAt: at, settlesAt: at, amount, description })
  return { id, account: account.name }
}

function changeRow(person: SimplefinPerson, change: RowChange, now: number): TouchedRow {
  const among =
    change.row === null
      ? [chooseAccount(accountsOf(person), change.account, namesOf)]
      : accountsOf(person)
  for (const account of among) {
    const posted = account.rows.filter(({ postedAt }) => postedAt <= now)
    const newest = posted.toSorted((one, other) => other.postedAt - one.postedAt)[0]
    const row = change.row === null ? newest : account.rows.find(({ id }) => id === change.row)
    if (row === undefined) continue
    if (change.amount !== null) row.amount = change.amount
    if (change.description !== null) {
      row.description = change.description
      // The bank's own text would still be shown instead.
      delete row.memo
    }
    if (change.at !== null) row.postedAt = change.at
    return { id: row.id, account: account.name }
  }
  throw new FaultControlError(
    change.row === null ? 'this account has no row yet' : `there is no row ${change.row}`,
  )
}
