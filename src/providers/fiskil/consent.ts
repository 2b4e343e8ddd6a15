/**
 * Fiskil's consents as connections: which ones are adopted, their status, and whether an empty answer can be
 * trusted. The provider answers 200 with no rows once a consent is lost, so an empty answer alone proves
 * nothing.
 */

import type { ConnectionStatus } from '#contract/resources.ts'
import { upstreamId } from '#kernel/ids.ts'
import { isRecord } from '#kernel/json.ts'
import type { Clock } from '#kernel/time.ts'
import { parseInstant, toIsoOrNull } from '#kernel/time.ts'
import { hideNumbers } from '../account-number.ts'
import { consentGone, UpstreamError } from '../failure.ts'
import type {
  CallContext,
  ConnectionRef,
  ConsentState,
  DiscoveredAccount,
  DiscoveredConnection,
  Login,
  UpstreamReport,
} from '../port.ts'
import type { FiskilClient } from './client.ts'
import { malformed, refusalCode } from './failures.ts'
import { readExactJson, readJson } from './lists.ts'
import {
  Consent,
  FiskilAccount,
  isFilled,
  readCurrency,
  readRows,
  toConnectionStatus,
  toConsentEnd,
  toDiscoveredAccount,
} from './map.ts'

export interface ConsentOptions {
  readonly client: FiskilClient
  readonly clock: Clock
  readonly report: UpstreamReport
}

/** One connection per institution, with its accounts; see `BankingAdapter.discover`. */
export async function discoverConnections(
  options: ConsentOptions,
  login: Login,
  call: CallContext,
): Promise<readonly DiscoveredConnection[]> {
  const nowMs = options.clock.now()
  const adopted = adoptConsents(await listConsents(options, login, call), nowMs)
  const isAlive = adopted.some((consent) => toConnectionStatus(consent, nowMs) === 'active')
  const accounts = isAlive ? await listAccounts(options, login, call) : []
  const currencies = accounts.length === 0 ? null : await readCurrencies(options, login, call)
  // Balances may arrive late, fail, or omit an account; its currency is then unknown.
  const currencyOf = (account: FiskilAccount) => currencies?.get(accountKey(account)) ?? null
  return adopted.map((consent): DiscoveredConnection => {
    const status = toConnectionStatus(consent, nowMs)
    const endsAt = toConsentEnd(consent)
    const own = new Map<string, DiscoveredAccount>()
    for (const account of accounts) {
      if (account.arrangement_id !== consent.arrangement_id || own.has(account.account_id)) continue
      own.set(account.account_id, toDiscoveredAccount(account, currencyOf(account)))
    }
    return {
      upstreamId: upstreamId(consent.arrangement_id),
      institutionId: consent.institution_id,
      institutionName: isFilled(consent.institution_name)
        ? hideNumbers(consent.institution_name, [])
        : null,
      institutionLogo: isFilled(consent.institution_logo) ? consent.institution_logo : null,
      status,
      // Fiskil does not report when it synced.
      lastRefreshedAt: null,
      consentExpiresAt: toIsoOrNull(endsAt),
      // Fiskil lists no accounts of a lost consentor in the first minutes of one; the stored ones stay.
      accounts: own.size === 0 ? null : [...own.values()],
    }
  })
}

/**
 * Resolves when an empty answer can be trusted. Throws `consent_lost` when the consent is lost, `preparing`
 * when the bank's accounts have not arrived yet (reading R20b).
 */
export async function confirmConsent(
  options: ConsentOptions,
  reference: { readonly login: Login; readonly connection: ConnectionRef },
  call: CallContext,
): Promise<void> {
  await refuseLostConsent(options, reference, call)
  const accounts = await listAccounts(options, reference.login, call)
  const arrangement: string = reference.connection.upstreamId
  if (accounts.some((account) => account.arrangement_id === arrangement)) return
  const detail = 'the accounts of this consent have not arrived yet'
  throw new UpstreamError('fiskil', { kind: 'preparing', detail })
}

/** Throws `consent_lost` unless the consent is active. One that is no longer listed was withdrawn. */
export async function refuseLostConsent(
  options: ConsentOptions,
  reference: { readonly login: Login; readonly connection: ConnectionRef },
  call: CallContext,
): Promise<void> {
  const [status] = await readStatuses(options, reference.login, [reference.connection], call)
  if (status === undefined || status === 'active') return
  throw new UpstreamError('fiskil', { kind: 'consent_lost', becomes: status, detail: consentGone })
}

/** The status of each connection's consent, in order. A consent that is no longer listed was withdrawn. */
async function readStatuses(
  options: ConsentOptions,
  login: Login,
  connections: readonly ConnectionRef[],
  call: CallContext,
): Promise<readonly ConnectionStatus[]> {
  const consents = await listConsents(options, login, call)
  const known = new Map(consents.map((consent) => [consent.arrangement_id, consent]))
  return connections.map(({ upstreamId: arrangement }) => {
    const consent = known.get(arrangement)
    return consent === undefined ? 'revoked' : toConnectionStatus(consent, options.clock.now())
  })
}

/**
 * The status of connections without balances: when a consent is lost, the provider answers 200 with no rows,
 * or refuses. Null when the consents cannot be read.
 */
export async function sightConsents(
  options: ConsentOptions,
  query: { readonly login: Login; readonly connections: readonly ConnectionRef[] },
  call: CallContext,
): Promise<readonly ConsentState[] | null> {
  try {
    const statuses = await readStatuses(options, query.login, query.connections, call)
    return query.connections.map(({ id }, index) => ({
      connectionId: id,
      status: statuses[index] ?? 'revoked',
      lastRefreshedAt: null,
    }))
  } catch (error) {
    if (!(error instanceof UpstreamError) || call.signal.aborted) throw error
    options.report.oddity({ provider: 'fiskil', what: 'consent unknown without balances' })
    return null
  }
}

/**
 * Every consent of an end user to a bank. A deleted end user has none: Fiskil answers with an empty list or
 * with 404 `end_user_not_found`. Any other 404 is a wrong address and proves nothing.
 */
async function listConsents(
  options: ConsentOptions,
  login: Login,
  call: CallContext,
): Promise<readonly Consent[]> {
  try {
    const rows = await options.client.list(
      {
        path: '/v1/consent',
        key: 'consents',
        query: { end_user_id: login.upstreamUserId },
        parse: readJson,
      },
      call,
    )
    return readRows(Consent, rows, 'consents').filter(
      ({ institution_type: type }) => !isFilled(type) || type === 'banking',
    )
  } catch (error) {
    if (refusalCode(error) === 'end_user_not_found') return []
    throw error
  }
}

/** One consent per institution: an active one first, then the newest. */
export function adoptConsents(consents: readonly Consent[], nowMs: number): readonly Consent[] {
  const adopted = new Map<string, Consent>()
  for (const consent of consents) {
    const rival = adopted.get(consent.institution_id)
    if (rival === undefined || isBetter(consent, rival, nowMs)) {
      adopted.set(consent.institution_id, consent)
    }
  }
  return [...adopted.values()]
}

function isBetter(consent: Consent, rival: Consent, nowMs: number): boolean {
  const isActive = toConnectionStatus(consent, nowMs) === 'active'
  const isRivalActive = toConnectionStatus(rival, nowMs) === 'active'
  if (isActive !== isRivalActive) return isActive
  const difference = createdAt(consent) - createdAt(rival)
  // Equal times are ordered by id, so that the choice does not depend on the order of the list.
  return difference === 0 ? consent.arrangement_id > rival.arrangement_id : difference > 0
}

function createdAt(consent: Consent): number {
  return parseInstant(consent.created_at ?? '') ?? 0
}

async function listAccounts(
  options: ConsentOptions,
  login: Login,
  call: CallContext,
): Promise<readonly FiskilAccount[]> {
  const rows = await options.client.list(
    {
      path: '/v1/banking/accounts',
      key: 'accounts',
      query: { end_user_id: login.upstreamUserId, 'page[size]': '1000' },
      parse: readJson,
    },
    call,
  )
  return readRows(FiskilAccount, rows, 'accounts')
}

/** The currencies by account, from the balances. Null when these fail: accounts are found without them. */
async function readCurrencies(
  options: ConsentOptions,
  login: Login,
  call: CallContext,
): Promise<ReadonlyMap<string, string> | null> {
  const currencies = new Map<string, string>()
  try {
    for (const row of await listBalanceRows(options.client, login, call)) {
      const { arrangement_id, account_id } = row
      if (typeof arrangement_id !== 'string' || typeof account_id !== 'string') continue
      const currency = readCurrency(row.currency)
      if (currency !== null) currencies.set(accountKey({ arrangement_id, account_id }), currency)
    }
    return currencies
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    options.report.oddity({ provider: 'fiskil', what: 'no balances during discovery' })
    return null
  }
}

/** Every balance of an end user, with numbers as text. */
export async function listBalanceRows(
  client: FiskilClient,
  login: Login,
  call: CallContext,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const rows = await client.list(
    {
      path: '/v1/banking/balances',
      key: 'balances',
      query: { end_user_id: login.upstreamUserId, 'page[size]': '1000' },
      parse: readExactJson,
    },
    call,
  )
  return rows.map((row, index) => {
    if (!isRecord(row)) throw malformed(`balances[${index}] is not an object`)
    return row
  })
}

/** One account id may occur under two consents, so only both ids together identify an account. */
export function accountKey(ids: {
  readonly arrangement_id: string
  readonly account_id: string
}): string {
  return JSON.stringify([ids.arrangement_id, ids.account_id])
}
