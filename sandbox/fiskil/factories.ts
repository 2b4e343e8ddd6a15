/**
 * Factories for the data of the Fiskil sandbox: persons, consents and accounts, with fields that are not
 * given generated from the seed. It does not decide who exists.
 */
import { dayMs } from '#kernel/time.ts'
import { defer } from '../defer.ts'
import { makeRandom } from '../seed.ts'
import { makeGrowth, type Recipe, recipes } from './rows.ts'
import {
  dayNumber,
  growAccount,
  type SandboxAccount,
  type SandboxConsent,
  type SandboxPerson,
} from './world.ts'

export interface PersonBase {
  readonly seed: string
  readonly nowMs: number
}

const eighteenMonths = 548

/** A person without faults. Their bank data is generated at its first use. */
export function makePerson(
  key: string,
  name: string,
  makeConsents: () => SandboxConsent[],
): SandboxPerson {
  const person: SandboxPerson = {
    endUserId: toEndUserId(key),
    email: `${key}@sandbox.example`,
    name,
    deleted: false,
    latencyMs: 0,
    failure: null,
    consents: [],
  }
  defer(person, 'consents', makeConsents)
  return person
}

/** The id that links the person of this name. */
export function toEndUserId(name: string): string {
  return `eu_sandbox_${name}`
}

/** The data of a person who has just linked a sandbox bank. */
export function makeFreshConsent(base: PersonBase, institutionId: string): SandboxConsent {
  const consent = makeConsent(base, { institutionId, ageDays: 0 })
  consent.createdAtMs = base.nowMs
  const category = 'TRANS_AND_SAVINGS_ACCOUNTS'
  consent.accounts = [
    makeAccount(base, consent, {
      recipe: recipes.everyday,
      category,
      display: 'Everyday Account',
      product: 'Everyday',
      number: '20017743',
      balance: ['1250.10', '1250.10'],
    }),
    makeAccount(base, consent, {
      recipe: recipes.saver,
      category,
      display: 'Goal Saver',
      product: 'Goal Saver',
      number: '20017751',
      balance: ['9800.00', '9800.00'],
    }),
  ]
  return consent
}

/** A valid consent that ends a year after its creation. */
export function makeConsent(
  base: PersonBase,
  options: { readonly institutionId: string; readonly ageDays: number },
): SandboxConsent {
  // The age is drawn from the present day, not the present moment: a sandbox restarted today is the same one.
  const createdAtMs = (dayNumber(base.nowMs) - options.ageDays) * dayMs
  return {
    arrangementId: makeUuid(`${base.seed}:consent:${options.institutionId}`),
    institutionId: options.institutionId,
    active: true,
    createdAtMs,
    expiresAtMs: createdAtMs + 365 * dayMs,
    terminationReason: '',
    permissions: ['accounts', 'balances', 'transactions'],
    synced: true,
    accounts: [],
  }
}

export interface AccountPlan {
  readonly recipe: Recipe
  readonly category: string
  readonly display: string
  readonly nickname?: string
  readonly product: string
  readonly number?: string
  readonly masked?: string
  readonly currency?: string
  /** Current and available. */
  readonly balance: readonly [string, string | null]
  readonly limit?: string
  /**
   * Days from today, `until` excluded, for which rows are made once; absent: eighteen months, and growing.
   */
  readonly days?: { readonly from: number; readonly until: number }
}

/** An account with its rows, and those of the days that come. */
export function makeAccount(
  base: PersonBase,
  consent: SandboxConsent,
  plan: AccountPlan,
): SandboxAccount {
  const currency = plan.currency ?? 'AUD'
  const accountId = makeUuid(`${base.seed}:${consent.institutionId}:${plan.display}`)
  const grow = makeGrowth({
    seed: base.seed,
    accountId,
    arrangementId: consent.arrangementId,
    institutionId: consent.institutionId,
    currency,
    recipe: plan.recipe,
  })
  const body = accountBody(accountId, plan)
  const balance = {
    current_balance: plan.balance[0],
    available_balance: plan.balance[1],
    credit_limit: plan.limit ?? null,
    amortised_limit: null,
    currency,
    purses: plan.category === 'TRAVEL_CARDS' ? [{ amount: plan.balance[0], currency }] : [],
  }
  const today = dayNumber(base.nowMs)
  if (plan.days === undefined) {
    const account = { body, balance, rows: [], grow, grownThrough: today - eighteenMonths }
    growAccount(account, base.nowMs)
    return account
  }
  const fixed: SandboxAccount = { body, balance, rows: [], grownThrough: today }
  for (let day = today + plan.days.from; day < today + plan.days.until; day += 1) {
    fixed.rows.push(...grow(day))
  }
  fixed.rows.sort((a, b) => b.postsAtMs - a.postsAtMs)
  return fixed
}

function accountBody(accountId: string, plan: AccountPlan): SandboxAccount['body'] {
  const number = plan.number
  return {
    account_id: accountId,
    fiskil_id: `bank_acc_${accountId.replaceAll('-', '').slice(0, 24)}`,
    display_name: plan.display,
    ...(plan.nickname === undefined ? {} : { nickname: plan.nickname }),
    product_name: plan.product,
    product_category: plan.category,
    masked_number: plan.masked ?? `xxxx${(number ?? '').slice(-4)}`,
    ...(number === undefined ? {} : { account_number: number, bsb: '082-902' }),
    account_ownership: 'ONE_PARTY',
    is_owned: true,
    open_status: 'OPEN',
    creation_date: '2019-03-11',
  }
}

/** A UUID (version 4 in form) that depends on the text alone. */
export function makeUuid(text: string): string {
  const random = makeRandom(text)
  const hex = Array.from({ length: 32 }, () => random.int(0, 15).toString(16)).join('')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20),
  ].join('-')
}
