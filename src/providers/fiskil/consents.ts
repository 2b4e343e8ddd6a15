/**
 * Fiskil's consents as connections: which of them are adopted, what state they are in, and whether an empty answer can
 * be believed. The provider answers 200 with nothing once a consent is gone, so emptiness proves nothing by itself.
 */

import { upstreamId } from '#kernel/ids.ts'
import type { Clock, Micros } from '#kernel/time.ts'
import { parseInstant, toIso } from '#kernel/time.ts'
import { consentGone, UpstreamError } from '../failure.ts'
import type {
  CallContext,
  ConnectionRef,
  DiscoveredAccount,
  DiscoveredConnection,
  Login,
  UpstreamReport,
} from '../port.ts'
import type { FiskilClient } from './client.ts'
import { isRecord, readExactJson, readJson } from './lists.ts'
import {
  Consent,
  FiskilAccount,
  isFilled,
  readCurrency,
  readRows,
  toConnectionStatus,
  toDiscoveredAccount,
} from './map.ts'
import { malformed, refusalCode } from './refusal.ts'

export interface ConsentDeps {
  readonly client: FiskilClient
  readonly clock: Clock
  readonly report: UpstreamReport
}

const defaultCurrency = 'AUD'

/** One connection per institution, with its accounts; see `BankingAdapter.discover`. */
export async function discoverConnections(
  deps: ConsentDeps,
  login: Login,
  call: CallContext,
): Promise<readonly DiscoveredConnection[]> {
  const nowMs = deps.clock.now()
  const adopted = adoptConsents(await listConsents(deps, login, call), nowMs)
  const isAlive = adopted.some((consent) => toConnectionStatus(consent, nowMs) === 'active')
  const accounts = isAlive ? await listAccounts(deps, login, call) : []
  const currencies = accounts.length === 0 ? null : await readCurrencies(deps, login, call)
  const currencyOf = (account: FiskilAccount) =>
    currencies === null ? null : (currencies.get(accountKey(account)) ?? defaultCurrency)
  return adopted.map((consent): DiscoveredConnection => {
    const status = toConnectionStatus(consent, nowMs)
    const own = new Map<string, DiscoveredAccount>()
    for (const account of accounts) {
      if (account.arrangement_id !== consent.arrangement_id || own.has(account.account_id)) continue
      own.set(account.account_id, toDiscoveredAccount(account, currencyOf(account)))
    }
    return {
      upstreamId: upstreamId(consent.arrangement_id),
      institutionId: consent.institution_id,
      institutionName: isFilled(consent.institution_name)
        ? consent.institution_name
        : consent.institution_id,
      institutionLogo: isFilled(consent.institution_logo) ? consent.institution_logo : null,
      status,
      // Fiskil does not say when it synced; our own reading of the accounts, just now, is a refresh that succeeded.
      lastRefreshedAt: status === 'active' && own.size > 0 ? toIso(nowMs) : null,
      // Nothing is told of a consent that is gone, nor in the first minutes of a fresh one: what we have stays.
      accounts: own.size === 0 ? null : [...own.values()],
    }
  })
}

/**
 * Resolves when an empty answer can be believed. Throws `consent_lost` when the consent is gone, `preparing` when the
 * bank's accounts have not arrived yet (reading R20b).
 */
export async function confirmConsent(
  deps: ConsentDeps,
  reference: { readonly login: Login; readonly connection: ConnectionRef },
  call: CallContext,
): Promise<void> {
  await refuseLostConsent(deps, reference, call)
  const accounts = await listAccounts(deps, reference.login, call)
  const arrangement: string = reference.connection.upstreamId
  if (accounts.some((account) => account.arrangement_id === arrangement)) return
  const detail = 'the accounts of this consent have not arrived yet'
  throw new UpstreamError('fiskil', { kind: 'preparing', detail })
}

/** Throws `consent_lost` unless the connection's consent is active. One that is not listed any more was withdrawn. */
export async function refuseLostConsent(
  deps: ConsentDeps,
  reference: { readonly login: Login; readonly connection: ConnectionRef },
  call: CallContext,
): Promise<void> {
  const consents = await listConsents(deps, reference.login, call)
  const arrangement: string = reference.connection.upstreamId
  const consent = consents.find((other) => other.arrangement_id === arrangement)
  const status = consent === undefined ? 'revoked' : toConnectionStatus(consent, deps.clock.now())
  if (status === 'active') return
  throw new UpstreamError('fiskil', { kind: 'consent_lost', becomes: status, detail: consentGone })
}

/**
 * Every consent of an end user to a bank. An end user who was deleted has none: Fiskil may say so with an empty list or
 * with 404 `end_user_not_found`; any other 404 is a wrong address and no proof of anything.
 */
async function listConsents(
  deps: ConsentDeps,
  login: Login,
  call: CallContext,
): Promise<readonly Consent[]> {
  try {
    const rows = await deps.client.list(
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

/** One consent per institution: an active one before others, then the newest. */
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
  // Equal times: by id, so that the choice does not depend on the order of the list.
  return difference === 0 ? consent.arrangement_id > rival.arrangement_id : difference > 0
}

function createdAt(consent: Consent): Micros {
  return parseInstant(consent.created_at ?? '') ?? 0
}

async function listAccounts(
  deps: ConsentDeps,
  login: Login,
  call: CallContext,
): Promise<readonly FiskilAccount[]> {
  const rows = await deps.client.list(
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

/**
 * The currencies by account, from the balances; null when these are refused or out of order, which must not keep the
 * accounts from being found.
 */
async function readCurrencies(
  deps: ConsentDeps,
  login: Login,
  call: CallContext,
): Promise<ReadonlyMap<string, string> | null> {
  const currencies = new Map<string, string>()
  try {
    for (const row of await listBalanceRows(deps.client, login, call)) {
      const { arrangement_id, account_id } = row
      if (typeof arrangement_id !== 'string' || typeof account_id !== 'string') continue
      const currency = readCurrency(row.currency)
      if (currency !== null) currencies.set(accountKey({ arrangement_id, account_id }), currency)
    }
    return currencies
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    deps.report.oddity({ provider: 'fiskil', what: 'no balances during discovery' })
    return null
  }
}

/** Every balance of an end user, numbers as text. */
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
    if (!isRecord(row)) throw malformed(`balances[${index}] is no object`)
    return row
  })
}

/** One account id may occur under two consents: only both together name an account. */
export function accountKey(ids: {
  readonly arrangement_id: string
  readonly account_id: string
}): string {
  return JSON.stringify([ids.arrangement_id, ids.account_id])
}
