/**
 * The setup of the Fiskil adapter's tests: the real adapter, the emulator on loopback, a fixed clock and
 * a recorded report. It asserts nothing.
 */

import type { Transaction } from '#contract/resources.ts'
import { type AccountId, type ConnectionId, type LoginId, newId, upstreamId } from '#kernel/ids.ts'
import { getZone } from '#kernel/time.ts'
import { makeFiskil } from '#providers/fiskil/index.ts'
import type {
  AccountRef,
  BankingAdapter,
  CallContext,
  ConnectionRef,
  Login,
  RowsQuery,
  TransactionPage,
  UpstreamReport,
} from '#providers/port.ts'
import {
  type FiskilEmulator,
  fiskilDemoCredentials,
  startFiskilEmulator,
} from '#sandbox/fiskil/index.ts'

export { failureOf } from '../walk.ts'

export interface Setting extends AsyncDisposable {
  readonly emulator: FiskilEmulator
  readonly adapter: BankingAdapter
  readonly clock: { ms: number; now(): number }
  readonly exchanges: Parameters<UpstreamReport['exchange']>[0][]
  readonly alerts: string[]
  readonly oddities: string[]
}

export interface SettingOptions {
  readonly timeoutMs?: number
  readonly version?: string
  readonly clientSecret?: string
}

/** Starts an emulator of its own for one test and an adapter on it. */
export async function openSetting(options: SettingOptions = {}): Promise<Setting> {
  const clock = { ms: Date.parse('2026-11-20T03:00:00Z'), now: () => clock.ms }
  const emulator = await startFiskilEmulator({ clock })
  const exchanges: Setting['exchanges'] = []
  const alerts: string[] = []
  const oddities: string[] = []
  const adapter = makeFiskil({
    baseUrl: emulator.url,
    clientId: fiskilDemoCredentials.clientId,
    clientSecret: options.clientSecret ?? fiskilDemoCredentials.clientSecret,
    version: options.version ?? 'v3',
    timeoutMs: options.timeoutMs ?? 5_000,
    clock,
    report: {
      exchange: (event) => void exchanges.push(event),
      alert: (event) => void alerts.push(event.detail),
      oddity: (event) => void oddities.push(event.what),
    },
  })
  return {
    emulator,
    adapter,
    clock,
    exchanges,
    alerts,
    oddities,
    async [Symbol.asyncDispose]() {
      await adapter.close()
      await emulator.close()
    },
  }
}

/** A call that is never aborted. */
export function makeCall(): CallContext {
  return { signal: new AbortController().signal, priority: 'user' }
}

export function loginOf(endUserId: string): Login {
  return { id: newId<LoginId>(), upstreamUserId: endUserId, secret: null, version: 1 }
}

export interface Linked {
  readonly login: Login
  readonly connection: ConnectionRef
  readonly accounts: readonly AccountRef[]
}

/** A person's consent (the first one, or the given one) as our connection with its accounts. */
export function link(setting: Setting, name: string, consentIndex = 0): Linked {
  const person = setting.emulator.people[name]
  const consent = person?.consents[consentIndex]
  if (person === undefined || consent === undefined) throw new Error(`${name} has no such consent`)
  const connectionId = newId<ConnectionId>()
  return {
    login: loginOf(person.endUserId),
    connection: {
      id: connectionId,
      upstreamId: upstreamId(consent.arrangementId),
      status: 'active',
    },
    accounts: consent.accounts.map((account) => ({
      id: newId<AccountId>(),
      connectionId,
      upstreamId: upstreamId(account.body.account_id),
      name: String(account.body.display_name),
      currency: 'AUD',
    })),
  }
}

export function makeQuery(linked: Linked, fields: Partial<RowsQuery> = {}): RowsQuery {
  return {
    userId: newId(),
    ...linked,
    scoped: false,
    window: { from: null, to: null },
    zone: getZone('Australia/Sydney'),
    ...fields,
  }
}

/** Narrows a query to one of its accounts. */
export function scopeTo(query: RowsQuery, index: number): RowsQuery {
  return { ...query, accounts: query.accounts.slice(index, index + 1), scoped: true }
}

/** Reads every page and maps every row that is wanted. */
export async function readAll(
  adapter: BankingAdapter,
  query: RowsQuery,
): Promise<{ rows: Transaction[]; pages: TransactionPage[] }> {
  const rows: Transaction[] = []
  const pages: TransactionPage[] = []
  let cursor: string | null = null
  for (let count = 0; count < 50; count += 1) {
    const page: TransactionPage = await adapter.transactions.read(query, cursor, makeCall())
    pages.push(page)
    for (let index = 0; index < page.length; index += 1) {
      if (page.head(index) !== null) rows.push(page.map(index))
    }
    cursor = page.next
    if (cursor === null) return { rows, pages }
  }
  throw new Error('the pages never end')
}
