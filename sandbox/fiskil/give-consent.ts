/**
 * What a consent on the page of the Fiskil emulator gives: a new consent with the accounts of a newcomer, or
 * a renewed one, under its own id or, where that is wanted, under a new one with new ids of its accounts and
 * rows. The accounts are there at once, or arrive later, as at the real provider.
 */
import { makeFreshConsent, makeUuid } from './factories.ts'
import type { FiskilWebhooks } from './webhooks.ts'
import type { SandboxAccount, SandboxConsent, SandboxPerson, SandboxRow } from './world.ts'

export interface NewConsent {
  readonly person: SandboxPerson
  readonly institutionId: string
  /** The consent that is renewed; null: a new one. */
  readonly arrangementId: string | null
  /** Distinguishes the ids of one consent from those of another. */
  readonly key: string
  readonly hasNewIds: boolean
  /** Until the accounts arrive. */
  readonly arrivesAfterMs: number
}

interface World {
  readonly seed: string
  readonly nowMs: number
  readonly webhooks: FiskilWebhooks
  /** Runs work later, unless the emulator was closed. */
  readonly later: (ms: number, work: () => void) => void
}

const consentMs = 365 * 86_400_000
/** The webhooks about the data of a new consent, in the order in which they come. */
const arrivals = [
  'banking.accounts.sync.completed',
  'banking.balances.sync.completed',
  'banking.transactions.sync.completed',
]

export function giveConsent(given: NewConsent, world: World): void {
  const { person, arrangementId } = given
  const known = person.consents.find((one) => one.arrangementId === arrangementId)
  if (known !== undefined && !given.hasNewIds) {
    known.active = true
    known.terminationReason = ''
    known.expiresAtMs = world.nowMs + consentMs
    world.webhooks.send('consent.updated', { person, consents: [known] })
    return
  }
  const base = { seed: `${world.seed}:${person.endUserId}:${given.key}`, nowMs: world.nowMs }
  const made =
    known === undefined
      ? makeFreshConsent(base, given.institutionId)
      : renumber(known, base.seed, base.nowMs)
  if (known !== undefined) {
    known.active = false
    known.terminationReason = 'Expired or Revoked'
  }
  made.synced = given.arrivesAfterMs === 0
  person.consents.push(made)
  world.webhooks.send('consent.received', { person, consents: [made] })
  const arrive = () => {
    made.synced = true
    for (const kind of arrivals) world.webhooks.send(kind, { person, consents: [made] })
  }
  if (made.synced) arrive()
  else world.later(given.arrivesAfterMs, arrive)
}

/** The same accounts under a consent of its own: their numbers and names stay, every id is another. */
function renumber(former: SandboxConsent, seed: string, nowMs: number): SandboxConsent {
  const arrangementId = makeUuid(`${seed}:arrangement`)
  return {
    ...former,
    arrangementId,
    active: true,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + consentMs,
    terminationReason: '',
    accounts: former.accounts.map((account) => renumberAccount(account, arrangementId)),
  }
}

function renumberAccount(former: SandboxAccount, arrangementId: string): SandboxAccount {
  const accountId = makeUuid(`${arrangementId}:${former.body.account_id}`)
  const toRow = ({ body, ...times }: SandboxRow): SandboxRow => {
    const { transaction_id: _former, ...kept } = body
    const fiskilId = `bank_tx_${makeUuid(`${arrangementId}:${body.fiskil_id}`).replaceAll('-', '')}`
    const ids = { fiskil_id: fiskilId, account_id: accountId, arrangement_id: arrangementId }
    return { ...times, body: { ...kept, ...ids } }
  }
  const { grow } = former
  return {
    ...former,
    body: {
      ...former.body,
      account_id: accountId,
      fiskil_id: `bank_acc_${accountId.replaceAll('-', '').slice(0, 24)}`,
    },
    rows: former.rows.map(toRow),
    ...(grow === undefined ? {} : { grow: (day: number) => grow(day).map(toRow) }),
  }
}
