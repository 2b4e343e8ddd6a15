/**
 * The emulator's data endpoints: accounts, balances and transactions of one end user, over all their live
 * consents. As at the real provider, deleted people and ended consents give 200 with empty lists, and there
 * is no filter by consent.
 */
import type { Clock } from '#kernel/time.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { dataError, type Listed, page } from './answers.ts'
import {
  growAccount,
  isLive,
  type SandboxAccount,
  type SandboxConsent,
  type SandboxPerson,
  type SandboxRow,
} from './world.ts'

export interface DataRequest {
  readonly request: EmulatorRequest
  /** Null: the id is unknown; lists are empty. */
  readonly person: SandboxPerson | null
  readonly clock: Clock
}

interface Held {
  readonly consent: SandboxConsent
  readonly account: SandboxAccount
}

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/

/** `GET /v1/banking/accounts` */
export function listAccounts(data: DataRequest): EmulatorReply {
  const rows = held(data).map(({ consent, account }) => ({
    key: account.body.fiskil_id,
    body: { ...account.body, ...ids(consent) },
  }))
  return page(data.request, 'accounts', rows)
}

/** `GET /v1/banking/balances`; a live read (`fetch=true`) needs an account. */
export function listBalances(data: DataRequest): EmulatorReply {
  const { query } = data.request
  if (query.get('fetch') === 'true' && query.get('account_id') === null) {
    return refused('account_id is required when fetch is true')
  }
  const rows = held(data)
    .filter(({ account }) => matchesAccount(account, query.get('account_id')))
    .flatMap(({ consent, account }): Listed[] => {
      if (account.balance === null) return []
      const { account_id, fiskil_id } = account.body
      return [
        { key: fiskil_id, body: { account_id, fiskil_id, ...ids(consent), ...account.balance } },
      ]
    })
  return page(data.request, 'balances', rows)
}

/** `GET /v1/banking/transactions`: pending rows first, then newest first, the banks mixed. */
export function listTransactions(data: DataRequest): EmulatorReply {
  const { query } = data.request
  const status = query.get('status')
  if (status !== null && status !== 'PENDING' && status !== 'POSTED') {
    return refused('status must be one of PENDING, POSTED')
  }
  const window: { from?: number; to?: number } = {}
  for (const name of ['from', 'to'] as const) {
    const text = query.get(name)
    if (text === null) continue
    if (!rfc3339.test(text)) return refused(`${name}: ${text} is not in RFC3339 format`)
    window[name] = Date.parse(text)
  }
  const categories = query.getAll('secondary_category')
  const nowMs = data.clock.now()
  const rows = held(data)
    .filter(({ account }) => matchesAccount(account, query.get('account_id')))
    .flatMap(({ account }) => account.rows)
    .filter((row) => row.seenFromMs <= nowMs)
    .sort((a, b) => b.postsAtMs - a.postsAtMs)
  const shown: Listed[] = []
  for (const row of rows) {
    const body = row.postsAtMs > nowMs ? pendingForm(row) : row.body
    if (status !== null && body.status !== status) continue
    if (!within(body, window)) continue
    if (categories.length > 0 && !categories.includes(secondaryOf(body))) continue
    shown.push({ key: String(body.fiskil_id), body })
  }
  return page(data.request, 'transactions', shown)
}

/** Every account that this person's live consents give access to. */
function held({ person, clock }: DataRequest): Held[] {
  if (person === null || person.deleted) return []
  const nowMs = clock.now()
  return person.consents
    .filter((consent) => consent.synced && isLive(consent, nowMs))
    .flatMap((consent) =>
      consent.accounts.map((account) => {
        growAccount(account, nowMs)
        return { consent, account }
      }),
    )
}

function ids(consent: SandboxConsent): Record<string, string> {
  return { arrangement_id: consent.arrangementId, institution_id: consent.institutionId }
}

function matchesAccount(account: SandboxAccount, wanted: string | null): boolean {
  return wanted === null || wanted === account.body.account_id
}

/** Pending rows have neither posting nor execution time, and another identity once they are posted. */
function pendingForm(row: SandboxRow): Record<string, unknown> {
  const { posting_date_time, execution_date_time, transaction_id, ...rest } = row.body
  return { ...rest, fiskil_id: `${String(rest.fiskil_id)}_p`, status: 'PENDING' }
}

/**
 * The posting time counts, else the execution time; a row with neither is left out when a filter is given.
 */
function within(body: Record<string, unknown>, window: { from?: number; to?: number }): boolean {
  if (window.from === undefined && window.to === undefined) return true
  const text = body.posting_date_time ?? body.execution_date_time
  if (typeof text !== 'string') return false
  const ms = Date.parse(text)
  return ms >= (window.from ?? Number.NEGATIVE_INFINITY) && ms <= (window.to ?? Infinity)
}

function secondaryOf(body: Record<string, unknown>): string {
  const category = body.category
  if (typeof category !== 'object' || category === null) return ''
  return 'secondary_category' in category ? String(category.secondary_category) : ''
}

function refused(message: string): EmulatorReply {
  return dataError({ status: 400, name: 'bad_request', message })
}
