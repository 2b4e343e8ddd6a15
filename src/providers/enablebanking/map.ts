/** Maps sessions, accounts and balances to the contract's. Pure: no I/O, no clock. */
import type { Balance } from '#contract/resources.ts'
import { type Decimal, parseDecimal } from '#kernel/decimal.ts'
import { upstreamId } from '#kernel/ids.ts'
import { parseCurrency } from '#kernel/money.ts'
import type { AccountRef, DiscoveredAccount, DiscoveredConnection } from '../port.ts'
import { toShownText } from '../shown-text.ts'
import { toInstitutionId } from './institutions.ts'
import type { Bank, KeptAccount, KeptSession } from './secret.ts'
import type { WireBalance } from './wire.ts'

/** The one connection of a login. `status` other than active: its accounts stay as they were. */
export function toConnection(
  { session, bank }: { readonly session: KeptSession; readonly bank: Bank },
  found: Pick<DiscoveredConnection, 'status' | 'lastRefreshedAt'> & {
    readonly upstreamId: string
    readonly accounts: readonly DiscoveredAccount[] | null
  },
): DiscoveredConnection {
  return {
    ...found,
    upstreamId: upstreamId(found.upstreamId),
    institutionId: toInstitutionId(bank),
    institutionName: toShownText(bank.name),
    institutionLogo: bank.logo,
    consentExpiresAt: session.validUntil,
  }
}

/** @param currency null: not known yet. */
export function toAccount(
  { id, name, type, tail }: KeptAccount,
  bank: Pick<Bank, 'name'>,
  currency: string | null,
): DiscoveredAccount {
  const number = tail === null ? null : `xxxx${tail}`
  const assumed = [
    ...(name === null ? ['name' as const] : []),
    ...(type === null ? ['type' as const] : []),
  ]
  return {
    upstreamId: upstreamId(id),
    previousUpstreamId: null,
    name: name ?? [toShownText(bank.name), ...(number === null ? [] : [number])].join(' '),
    type: type ?? 'other',
    accountNumber: number,
    currency: currency === null ? null : parseCurrency(currency),
    ...(assumed.length === 0 ? {} : { assumed }),
  }
}

/** The currency of an account whose own says nothing: that of its first balance. */
export function currencyOf(balances: readonly WireBalance[]): string | null {
  const [first] = balances
  return first === undefined ? null : codeOf(first)
}

const codeOf = ({ balance_amount: { currency } }: WireBalance): string | null =>
  parseCurrency(currency)

/** Kinds that tell the current balance, the best first (docs/providers/enable-banking.md, Balances). */
const currentKinds = ['ITBD', 'CLBD', 'XPCD'] as const
/** Both may contain an overdraft. */
const availableKinds = ['ITAV', 'CLAV'] as const
/** A single balance of one of these is the current one: cards have no other. */
const soleKinds: ReadonlySet<string> = new Set(['OTHR', 'PRCD', 'OPBD'])

/** Signs pass as they come. One unreadable number must not affect the other balances of the request. */
export function toBalance(
  balances: readonly WireBalance[],
  ref: AccountRef,
  note: (what: string) => void,
): Balance {
  const currencies = new Set(balances.map(codeOf))
  if (currencies.size > 1) note('an account has balances in several currencies')
  const currency = currencies.has(ref.currency) ? ref.currency : currencyOf(balances)
  const own = balances.filter((one) => codeOf(one) === currency)
  const [sole, ...others] = own.filter(({ balance_type: kind }) => soleKinds.has(kind))
  const current = choose(own, currentKinds) ?? (others.length === 0 ? (sole ?? null) : null)
  const amount = current === null ? null : readAmount(current)
  const available = choose(own, availableKinds)
  return {
    accountId: ref.id,
    currentBalance: amount,
    availableBalance: available === null ? null : readAmount(available),
    currency: amount === null && available === null ? null : currency,
  }
}

function choose(balances: readonly WireBalance[], kinds: readonly string[]): WireBalance | null {
  for (const kind of kinds) {
    const [newest] = balances
      .filter(({ balance_type: one }) => one === kind)
      .toSorted((one, other) =>
        (one.reference_date ?? '') < (other.reference_date ?? '') ? 1 : -1,
      )
    if (newest !== undefined) return newest
  }
  return null
}

const readAmount = ({ balance_amount: { amount } }: WireBalance): Decimal | null =>
  parseDecimal(amount)
