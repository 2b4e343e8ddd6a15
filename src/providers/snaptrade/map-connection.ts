/**
 * Maps SnapTrade's connections and accounts (docs/providers/snaptrade.md, Mapping). Pure. Full account
 * numbers do not leave this file.
 */
import type { AccountType } from '#contract/resources.ts'
import { upstreamId } from '#kernel/ids.ts'
import { type Micros, parseDay, parseInstant, toIso, toMillis } from '#kernel/time.ts'
import { hideNumbers } from '../account-number.ts'
import type { DiscoveredAccount, DiscoveredConnection } from '../port.ts'
import type { WireAccount, WireAuthorization } from './wire.ts'

/** Reading R24b: the currency when nothing else is known. */
export const defaultCurrency = 'USD'

/** @param accounts the listed accounts of this connection, with their currency. */
export function toConnection(
  authorization: WireAuthorization,
  accounts: readonly { readonly account: WireAccount; readonly currency: string | null }[],
): DiscoveredConnection {
  const { brokerage } = authorization
  const disabled = authorization.disabled === true
  const institution = firstText([brokerage.display_name, brokerage.name, brokerage.slug])
  // A disabled connection that lists no accounts says nothing about them; the stored ones stay.
  const silent = disabled && accounts.length === 0
  return {
    upstreamId: upstreamId(authorization.id),
    institutionId: brokerage.id,
    institutionName: institution === null ? null : hideNumbers(institution, []),
    institutionLogo: firstText([brokerage.aws_s3_square_logo_url, brokerage.aws_s3_logo_url]),
    status: disabled ? 'invalidated' : 'active',
    lastRefreshedAt: newestSync(accounts.map(({ account }) => account)),
    accounts: silent ? null : accounts.map(({ account, currency }) => toAccount(account, currency)),
  }
}

function toAccount(account: WireAccount, currency: string | null): DiscoveredAccount {
  const { number, institution_account_id: stable } = account
  const accountNumber = maskNumber(number ?? '')
  const fallback = [account.institution_name, accountNumber].filter(Boolean).join(' ')
  return {
    upstreamId: upstreamId(account.id),
    previousUpstreamId: null,
    name: hideNumbers(firstText([account.name, fallback]) ?? 'Account', [
      { number, mask: accountNumber },
      // The broker's own id of the account, which may be its full number.
      { number: stable, mask: maskNumber(stable ?? '') },
    ]),
    type: toAccountType(account),
    accountNumber,
    currency,
    ...(firstText([account.name]) === null ? { assumed: ['name'] } : {}),
  }
}

/** Closed, archived and paper accounts are left out: they have no readable data, or none that is real. */
export function isListed(account: Pick<WireAccount, 'status' | 'is_paper'>): boolean {
  return account.status !== 'closed' && account.status !== 'archived' && account.is_paper !== true
}

export function toAccountType(
  account: Pick<WireAccount, 'account_category' | 'raw_type'>,
): AccountType {
  const raw = account.raw_type ?? ''
  switch (account.account_category) {
    case 'DEPOSIT':
      return /sav/i.test(raw) ? 'savings' : 'transaction'
    case 'LOC':
      return /card/i.test(raw) ? 'credit-card' : 'loan'
    default:
      return 'investment'
  }
}

/**
 * `xxxx` and the last four letters or digits. Stars, dots or a run of x are a brokerage's own mask and not
 * part of the number; fewer than four real characters give null.
 */
export function maskNumber(number: string): string | null {
  const real = number.replace(/[^0-9A-Za-z]+/g, '').replace(/^x{2,}/i, '')
  return real.length < 4 ? null : `xxxx${real.slice(-4)}`
}

/** The newest successful sync as ISO 8601 UTC; dates arrive with a blank for `T`, offsets, or as a day. */
function newestSync(accounts: readonly WireAccount[]): string | null {
  let newest: Micros | null = null
  for (const { sync_status } of accounts) {
    const text = sync_status?.holdings?.last_successful_sync ?? ''
    const day = parseDay(text)
    const at = parseInstant(day === null ? text : `${day}T00:00:00Z`)
    if (at !== null && (newest === null || at > newest)) newest = at
  }
  return newest === null ? null : toIso(toMillis(newest))
}

/** A currency or coin code in the contract's form, or null. */
export function parseCode(text: string | null | undefined): string | null {
  const code = text?.trim().toUpperCase() ?? ''
  return /^[A-Z0-9]{2,12}$/.test(code) ? code : null
}

function firstText(texts: readonly (string | null | undefined)[]): string | null {
  return texts.find((text) => typeof text === 'string' && text.trim() !== '') ?? null
}
