/**
 * The people of the Fiskil sandbox. A person is data plus switches: to add one, write its consents and accounts here
 * and name it in the table below; every state a person can be in is a field of `world.ts`.
 */
import { makeRandom } from '../seed.ts'
import { type Habit, makeGrowth } from './rows.ts'
import {
  dayNumber,
  growAccount,
  type SandboxAccount,
  type SandboxConsent,
  type SandboxPerson,
} from './world.ts'

export type People = Record<'healthy' | 'history', SandboxPerson> & Record<string, SandboxPerson>

export interface Birth {
  readonly seed: string
  readonly nowMs: number
}

const msPerDay = 86_400_000
const eighteenMonths = 548
/** With eight rows a day: 5,400 rows, all of them posted. */
const busyDays = 675

/** Makes everybody, as they stand at `nowMs`. */
export function makePeople(birth: Birth): People {
  // Everybody draws from a seed of their own: a new person changes nobody else's rows.
  const of = (key: string): Birth => ({ seed: `${birth.seed}:${key}`, nowMs: birth.nowMs })
  return { healthy: makeHealthy(of('healthy')), history: makeHistory(of('history')) }
}

/** Two banks, every kind of account, eighteen months of everything that is mapped. */
function makeHealthy(birth: Birth): SandboxPerson {
  const wattle = makeConsent(birth, { institutionId: '22', ageDays: 80 })
  wattle.accounts = [
    makeAccount(birth, wattle, {
      habit: 'everyday',
      category: 'TRANS_AND_SAVINGS_ACCOUNTS',
      display: 'Everyday Account',
      nickname: 'Everyday',
      product: 'Wattle Everyday',
      number: '10348821',
      balance: ['4821.37', '4771.37'],
    }),
    makeAccount(birth, wattle, {
      habit: 'saver',
      category: 'TRANS_AND_SAVINGS_ACCOUNTS',
      display: 'Bonus Saver',
      product: 'Wattle Bonus Saver',
      number: '10348848',
      balance: ['18250.00', '18250.00'],
    }),
    makeAccount(birth, wattle, {
      habit: 'card',
      category: 'CRED_AND_CHRG_CARDS',
      display: 'Low Rate Card',
      product: 'Wattle Low Rate',
      masked: 'xxxx-xxxx-xxxx-5510',
      balance: ['-1284.60', '4715.40'],
      limit: '6000.00',
    }),
    makeAccount(birth, wattle, {
      habit: 'loan',
      category: 'RESIDENTIAL_MORTGAGES',
      display: 'Home Loan',
      product: 'Wattle Variable Home Loan',
      number: '70011934',
      balance: ['-431902.18', null],
    }),
    makeAccount(birth, wattle, {
      habit: 'travel',
      category: 'TRAVEL_CARDS',
      display: 'Travel Card USD',
      product: 'Wattle Abroad',
      masked: 'xxxx xxxx xxxx 9023',
      currency: 'USD',
      balance: ['612.40', '612.40'],
    }),
  ]
  const southern = makeConsent(birth, { institutionId: '41', ageDays: 20 })
  southern.accounts = [
    makeAccount(birth, southern, {
      habit: 'everyday',
      category: 'TRANS_AND_SAVINGS_ACCOUNTS',
      display: 'Joint Account',
      product: 'Mutual Access',
      number: '556018',
      balance: ['935.02', '935.02'],
    }),
    makeAccount(birth, southern, {
      habit: 'deposit',
      category: 'TERM_DEPOSITS',
      display: '12 Month Term Deposit',
      product: 'Mutual Term Deposit',
      number: '556021',
      balance: ['25000.00', null],
    }),
  ]
  return makePerson('healthy', 'Emma Hartley', [wattle, southern])
}

/** One account with more rows than one request may collect. */
function makeHistory(birth: Birth): SandboxPerson {
  const consent = makeConsent(birth, { institutionId: '73', ageDays: 200 })
  consent.accounts = [
    makeAccount(birth, consent, {
      habit: 'busy',
      category: 'TRANS_AND_SAVINGS_ACCOUNTS',
      display: 'Café Trading Account',
      product: 'Coolamon Business',
      number: '88120045',
      balance: ['58211.90', '58211.90'],
      // The newest purchases post a day later: those made two days ago are certainly posted.
      days: { from: -busyDays - 1, until: -1 },
    }),
  ]
  return makePerson('history', 'Jack Okafor', [consent])
}

/** A person who has nothing wrong with them. */
export function makePerson(key: string, name: string, consents: SandboxConsent[]): SandboxPerson {
  return {
    endUserId: `eu_sandbox_${key}`,
    email: `${key}@sandbox.example`,
    name,
    deleted: false,
    latencyMs: 0,
    failure: null,
    consents,
  }
}

/** What a person who has just linked a bank of the sandbox finds there. */
export function makeFreshConsent(birth: Birth, institutionId: string): SandboxConsent {
  const consent = makeConsent(birth, { institutionId, ageDays: 0 })
  consent.createdAtMs = birth.nowMs
  const category = 'TRANS_AND_SAVINGS_ACCOUNTS'
  consent.accounts = [
    makeAccount(birth, consent, {
      habit: 'everyday',
      category,
      display: 'Everyday Account',
      product: 'Everyday',
      number: '20017743',
      balance: ['1250.10', '1250.10'],
    }),
    makeAccount(birth, consent, {
      habit: 'saver',
      category,
      display: 'Goal Saver',
      product: 'Goal Saver',
      number: '20017751',
      balance: ['9800.00', '9800.00'],
    }),
  ]
  return consent
}

function makeConsent(
  birth: Birth,
  options: { readonly institutionId: string; readonly ageDays: number },
): SandboxConsent {
  // The age is drawn from the present day, not the present moment: a sandbox restarted today is the same one.
  const createdAtMs = (dayNumber(birth.nowMs) - options.ageDays) * msPerDay
  return {
    arrangementId: makeUuid(`${birth.seed}:consent:${options.institutionId}`),
    institutionId: options.institutionId,
    active: true,
    createdAtMs,
    expiresAtMs: createdAtMs + 365 * msPerDay,
    terminationReason: '',
    permissions: ['accounts', 'balances', 'transactions'],
    synced: true,
    accounts: [],
  }
}

interface AccountPlan {
  readonly habit: Habit
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
  /** Days from today, `until` excluded, for which rows are made once; absent: eighteen months, and growing. */
  readonly days?: { readonly from: number; readonly until: number }
}

function makeAccount(birth: Birth, consent: SandboxConsent, plan: AccountPlan): SandboxAccount {
  const currency = plan.currency ?? 'AUD'
  const accountId = makeUuid(`${birth.seed}:${consent.institutionId}:${plan.display}`)
  const grow = makeGrowth({
    seed: birth.seed,
    accountId,
    arrangementId: consent.arrangementId,
    institutionId: consent.institutionId,
    currency,
    habit: plan.habit,
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
  const today = dayNumber(birth.nowMs)
  if (plan.days === undefined) {
    const account = { body, balance, rows: [], grow, grownThrough: today - eighteenMonths }
    growAccount(account, birth.nowMs)
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
function makeUuid(text: string): string {
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
