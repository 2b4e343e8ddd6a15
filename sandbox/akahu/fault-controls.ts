/**
 * The sandbox commands at Akahu: future rows are pending until their time, a broken login is INACTIVE, an
 * expired consent is an invalid token, a withdrawn one leaves the token without its logins.
 */
import type { Clock } from '#kernel/time.ts'
import {
  chooseAccount,
  FaultControlError,
  findPerson,
  type NewRow,
  type OwnAppControls,
  type RowChange,
  type SendingFaultControls,
  type TouchedRow,
} from '../fault-controls.ts'
import { authorisationPath } from './authorise.ts'
import { type AkahuPeople, makeDemoPeople } from './demo.ts'
import { toUserToken } from './factories.ts'
import { type AkahuAccount, type AkahuPerson, bringUpToDate } from './people.ts'
import { toPersonalTokens } from './personal-app.ts'
import { digest } from './rows.ts'
import { makeWebhookControls } from './webhook-controls.ts'
import { type AkahuWebhooks, tellAccount } from './webhooks.ts'
import { refusal } from './wire.ts'

interface Bench {
  readonly people: AkahuPeople
  readonly clock: Clock
  readonly seed: string
  readonly webhooks: AkahuWebhooks
  /** Accounts whose consent was withdrawn, restored when it is renewed. */
  readonly withdrawn: Map<string, AkahuAccount[]>
  /** How many rows were added so far. */
  added: number
}

export function makeFaultControls(
  options: Pick<Bench, 'people' | 'clock' | 'seed' | 'webhooks'>,
): SendingFaultControls {
  const bench: Bench = { ...options, withdrawn: new Map(), added: 0 }
  const { people, clock, seed, webhooks } = options
  const setStatus = (name: string, status: AkahuAccount['status']) => {
    const person = findPerson(people, name)
    for (const account of person.accounts) {
      account.status = status
      const fields = { item_id: account._id, updated_fields: ['status'] }
      tellAccount(webhooks, person, 'UPDATE', fields)
    }
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
        const person = findPerson(people, name)
        person.userToken = null
        person.personal.userToken = null
      },
      revoke(name) {
        const person = findPerson(people, name)
        const gone = bench.withdrawn.get(name) ?? []
        bench.withdrawn.set(name, [...gone, ...person.accounts])
        for (const { _id } of person.accounts) {
          tellAccount(webhooks, person, 'DELETE', { item_id: _id })
        }
        person.accounts = []
      },
      renew(name) {
        const person = findPerson(people, name)
        person.userToken = toUserToken(name)
        person.personal.userToken = toPersonalTokens(name).userToken
        const restored = bench.withdrawn.get(name) ?? []
        person.accounts = [...person.accounts, ...restored]
        bench.withdrawn.delete(name)
        for (const { _id } of restored) tellAccount(webhooks, person, 'CREATE', { item_id: _id })
        setStatus(name, 'ACTIVE')
      },
    },
    ownApp: makeOwnAppControls(people),
    webhooks: makeWebhookControls(people, webhooks),
    refusal(status, retryAfterSeconds) {
      const reply = refusal(status, `Told to answer ${status}`)
      if (retryAfterSeconds === null) return reply
      return { ...reply, headers: { 'retry-after': String(retryAfterSeconds) } }
    },
    isApiCall: ({ path }) => path !== '/v1/token' && path !== authorisationPath,
    reset() {
      bench.withdrawn.clear()
      Object.assign(people, makeDemoPeople(seed, clock))
    },
  }
}

/** The sandbox commands about personal apps; the full app is not changed. */
function makeOwnAppControls(people: AkahuPeople): OwnAppControls {
  const appOf = (name: string) => findPerson(people, name).personal
  return {
    withdrawPermission: (name) => void appOf(name).off.add('transactions'),
    grantPermission: (name) => appOf(name).off.clear(),
    bar(name) {
      appOf(name).isBarred = true
    },
    admit(name) {
      appOf(name).isBarred = false
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
  // A pending row has no id, and nothing is reported of it.
  if (row.at <= clock.now()) {
    const fields = { item_id: account._id, new_transactions: 1, new_transaction_ids: [id] }
    bench.webhooks.send(person, { type: 'TRANSACTION', code: 'DEFAULT_UPDATE', fields })
  }
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
  throw new FaultControlError(
    change.row === null ? 'this account has no row yet' : `there is no row ${change.row}`,
  )
}

function newest(rows: readonly AkahuAccount['rows'][number][]) {
  return rows.toSorted((left, right) => (left.date < right.date ? 1 : -1))[0]
}
