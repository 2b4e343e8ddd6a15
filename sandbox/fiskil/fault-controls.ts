/**
 * The sandbox commands at Fiskil: rows are posted or pending by the clock, a consent expires, is withdrawn or
 * renewed. No command breaks a login: a person signs in at their bank once, and afterwards only the consent
 * exists.
 */
import type { Clock } from '#kernel/time.ts'
import type { EmulatorRequest } from '../emulator.ts'
import {
  chooseAccount,
  FaultControlError,
  findPerson,
  type NewRow,
  type RowChange,
  type SendingFaultControls,
  type TouchedRow,
} from '../fault-controls.ts'
import { dataError } from './answers.ts'
import { authPagePath } from './auth-page.ts'
import { makePeople, type People } from './people.ts'
import { type FiskilWebhooks, fiskilWebhookKinds } from './webhooks.ts'
import {
  addRow,
  growAccount,
  type SandboxAccount,
  type SandboxConsent,
  type SandboxPerson,
} from './world.ts'

interface Bench {
  readonly people: People
  readonly clock: Clock
  readonly seed: string
  readonly webhooks: FiskilWebhooks
  /** How many rows were added so far. */
  added: number
}

const yearMs = 365 * 86_400_000

export function makeFaultControls(options: Omit<Bench, 'added'>): SendingFaultControls {
  const bench: Bench = { ...options, added: 0 }
  const { people, clock, seed, webhooks } = options
  const consents = (name: string) => findPerson(people, name).consents
  const tell = (name: string, kind: string) => {
    const person = findPerson(people, name)
    webhooks.send(kind, { person, consents: person.consents })
  }
  return {
    upstreamUserId: (name) => findPerson(people, name).endUserId,
    addRow: (name, row) => addNewRow(bench, findPerson(people, name), row),
    changeRow: (name, change) => changeRow(bench, findPerson(people, name), change),
    login: null,
    consent: {
      expire(name) {
        for (const consent of consents(name)) consent.expiresAtMs = clock.now()
        tell(name, 'consent.revoked')
      },
      revoke(name) {
        for (const consent of consents(name)) {
          consent.active = false
          consent.terminationReason = 'Expired or Revoked'
        }
        tell(name, 'consent.revoked')
      },
      renew(name) {
        for (const consent of consents(name)) {
          consent.active = true
          consent.terminationReason = ''
          consent.expiresAtMs = clock.now() + yearMs
        }
        tell(name, 'consent.updated')
      },
    },
    webhooks: {
      kinds: fiskilWebhookKinds,
      fire(name, { kind, account }, manner) {
        const person = findPerson(people, name)
        const held =
          account === null ? null : chooseAccount(listAccounts(bench, person), account, namesOf)
        const told = held === null ? person.consents : [held.consent]
        return webhooks.send(kind, { person, consents: told }, manner)
      },
      rotateKey: null,
    },
    refusal(status, retryAfterSeconds) {
      const reply = dataError({ status, name: 'sandbox', message: `told to answer ${status}` })
      if (retryAfterSeconds === null) return reply
      return { ...reply, headers: { 'retry-after': String(retryAfterSeconds) } }
    },
    isApiCall: ({ path }: EmulatorRequest) => path !== '/v1/token' && path !== authPagePath,
    reset() {
      Object.assign(people, makePeople({ seed, nowMs: clock.now() }))
    },
  }
}

interface Held {
  readonly account: SandboxAccount
  readonly consent: SandboxConsent
}

function listAccounts({ clock }: Bench, person: SandboxPerson): readonly Held[] {
  return person.consents.flatMap((consent) =>
    consent.accounts.map((account) => {
      growAccount(account, clock.now())
      return { account, consent }
    }),
  )
}

const namesOf = ({ account }: Held) => [
  account.body.nickname ?? account.body.display_name,
  account.body.display_name,
  account.body.account_id,
]

/** The bank was read again, and its rows are there. */
function announce({ webhooks }: Bench, person: SandboxPerson, { consent }: Held): void {
  webhooks.send('banking.transactions.sync.completed', { person, consents: [consent] })
}

function addNewRow(bench: Bench, person: SandboxPerson, row: NewRow): TouchedRow {
  const held = chooseAccount(listAccounts(bench, person), row.account, namesOf)
  bench.added += 1
  const id = `bank_tx_added${bench.added}`
  const stamp = new Date(row.at).toISOString()
  addRow(held.account, {
    seenFromMs: Math.min(row.at, bench.clock.now()),
    postsAtMs: row.at,
    body: {
      fiskil_id: id,
      transaction_id: id,
      account_id: held.account.body.account_id,
      arrangement_id: held.consent.arrangementId,
      institution_id: held.consent.institutionId,
      currency: held.account.balance?.currency ?? 'AUD',
      amount: row.amount,
      description: row.description,
      reference: '',
      status: 'POSTED',
      type: 'OTHER',
      posting_date_time: stamp,
      execution_date_time: stamp,
      value_date_time: stamp,
      is_detail_available: false,
    },
  })
  announce(bench, person, held)
  return { id, account: String(namesOf(held)[0]) }
}

function changeRow(bench: Bench, person: SandboxPerson, change: RowChange): TouchedRow {
  const all = listAccounts(bench, person)
  const among = change.row === null ? [chooseAccount(all, change.account, namesOf)] : all
  for (const held of among) {
    const { rows } = held.account
    const index = rows.findIndex((row) =>
      change.row === null ? row.postsAtMs <= bench.clock.now() : row.body.fiskil_id === change.row,
    )
    const [row] = index === -1 ? [] : rows.splice(index, 1)
    if (row === undefined) continue
    if (change.amount !== null) row.body.amount = change.amount
    if (change.description !== null) row.body.description = change.description
    if (change.at !== null) {
      row.postsAtMs = change.at
      row.body.posting_date_time = new Date(change.at).toISOString()
    }
    addRow(held.account, row)
    announce(bench, person, held)
    return { id: String(row.body.fiskil_id), account: String(namesOf(held)[0]) }
  }
  throw new FaultControlError(
    change.row === null ? 'this account has no row yet' : `there is no row ${change.row}`,
  )
}
