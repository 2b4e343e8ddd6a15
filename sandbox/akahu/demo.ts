/**
 * Who lives in the Akahu emulator: one file of data. A new person is an entry here (or one added to `people` at run
 * time): accounts made with `account`, and switches.
 */
import { addDays, type Clock } from '#kernel/time.ts'
import type { AkahuAccount, AkahuInstitution, AkahuPeople, AkahuPerson } from './people.ts'
import { todayIn } from './people.ts'
import { busy, creditCard, everyday, foreign, homeLoan, savings, wallet } from './recipes.ts'
import { centsText, centsToken, digest, type GrowthOptions, makeGrowth } from './rows.ts'

/** The app of the demo; with these the adapter is configured in sandbox mode. */
export const demoApp = {
  appToken: 'app_token_ckdemo0000000000000000000',
  appSecret: 'demo-app-secret-of-the-akahu-emulator',
} as const

/** The user token of every person that ships. */
export const demoUserTokens = {
  healthy: 'user_token_ckhealthy00000000000000000',
  history: 'user_token_ckhistory00000000000000000',
} as const

function institution(name: string, type: AkahuInstitution['connection_type']): AkahuInstitution {
  const _id = `conn_${digest(name)}`
  return { _id, name, logo: `https://cdn.akahu.nz/logos/connections/${_id}`, connection_type: type }
}

export const institutions = {
  kiwibank: institution('Kiwibank', 'official'),
  asb: institution('ASB', 'official'),
  amex: institution('American Express', 'classic'),
  sharesies: institution('Sharesies', 'classic'),
  airpoints: institution('Airpoints', 'classic'),
} as const

type AccountParts = Pick<AkahuAccount, 'connection' | 'name' | 'type' | 'balance'> &
  Partial<AkahuAccount>

/** An account with everything that is not told made up: ACTIVE, with transactions, refreshed as it grows. */
function account(key: string, parts: AccountParts): AkahuAccount {
  return {
    _id: `acc_${digest(key)}`,
    ...(parts._credentials === undefined
      ? { _authorisation: `auth_${digest(`${key.split('.')[0]}.${parts.connection._id}`)}` }
      : {}),
    status: 'ACTIVE',
    attributes: ['TRANSACTIONS', 'TRANSFER_FROM', 'TRANSFER_TO'],
    refreshed: {},
    rows: [],
    pending: [],
    ...parts,
  }
}

function person(name: keyof typeof demoUserTokens, accounts: AkahuAccount[]): AkahuPerson {
  return {
    user: {
      _id: `user_${digest(name)}`,
      email: `${name}@example.test`,
      preferred_name: name === 'healthy' ? 'Aroha Healthy' : 'Tama History',
      access_granted_at: '2026-01-12T02:30:00.000Z',
    },
    userToken: demoUserTokens[name],
    accounts,
    enriched: true,
    emptyPageEvery: null,
  }
}

/** What a bank that adds up floats writes: the tail of binary noise that was recorded at the real one. */
function noisyToken(cents: number): string {
  return cents > 0 ? `${centsText(cents - 1)}9999999997` : centsToken(cents)
}

const healthyDays = 548
const historyDays = 675
/** 675 days of 8 rows are 5,400 rows, all within two years. */
const historyRowsPerDay = 8

/** The people that ship, with their rows up to the clock's day still to be grown (`bringUpToDate`). */
export function makeDemoPeople(seed: string, clock: Clock): AkahuPeople {
  const today = todayIn(clock)
  const growth = (days: number, options: Omit<GrowthOptions, 'seed' | 'since'>) => ({
    growth: makeGrowth({ seed, since: addDays(today, -days), ...options }),
  })
  const history = account('history.main', {
    connection: institutions.asb,
    name: 'Streamline Business',
    type: 'CHECKING',
    formatted_account: '12-3022-0456789-00',
    balance: { currency: 'NZD', current: '0', available: '25000', limit: '25000' },
    ...growth(historyDays, {
      style: 'nz-midnight',
      recipe: busy(historyRowsPerDay),
      openingCents: 1_000_000,
    }),
  })
  return {
    healthy: person(
      'healthy',
      healthyAccounts((options) => growth(healthyDays, options)),
    ),
    history: person('history', [history]),
  }
}

type Grow = (options: Omit<GrowthOptions, 'seed' | 'since'>) => Pick<AkahuAccount, 'growth'>

function healthyAccounts(grow: Grow): AkahuAccount[] {
  return [...bankAccounts(grow), ...otherAccounts(grow)]
}

/** Nothing ever happens here, but Akahu refreshes the balance all the same. */
function quiet(token: string): Parameters<Grow>[0] {
  return {
    style: 'nz-midnight',
    recipe: () => [],
    openingCents: 0,
    balanceToken: () => token,
  }
}

function bankAccounts(grow: Grow): AkahuAccount[] {
  const { kiwibank: connection } = institutions
  const atMidnight = { style: 'nz-midnight' } as const
  return [
    account('healthy.everyday', {
      connection,
      name: 'Everyday',
      type: 'CHECKING',
      formatted_account: '38-9000-0123456-00',
      balance: { currency: 'NZD', current: '0', available: '2310.5' },
      pending: [pendingPurchase('WISHBONE AIRPORT', '-18.5'), pendingPurchase('UBER TRIP', '-31')],
      ...grow({ ...atMidnight, recipe: everyday, openingCents: 640_000 }),
    }),
    account('healthy.savings', {
      connection,
      name: 'Rainy Day',
      type: 'SAVINGS',
      formatted_account: '38-9000-0123456-01',
      balance: { currency: 'NZD', current: '0' },
      ...grow({
        ...atMidnight,
        recipe: savings,
        openingCents: 812_345,
        balanceToken: noisyToken,
      }),
    }),
    account('healthy.loan', {
      connection,
      name: 'Home Loan',
      type: 'LOAN',
      formatted_account: '38-9000-0123456-90',
      balance: { currency: 'NZD', current: '0' },
      ...grow({ ...atMidnight, recipe: homeLoan, openingCents: -41_230_000 }),
    }),
    account('healthy.deposit', {
      connection,
      name: 'Term Deposit 12 Months',
      type: 'TERMDEPOSIT',
      formatted_account: '38-9000-0123456-80',
      attributes: [],
      balance: { currency: 'NZD', current: '0' },
      ...grow(quiet('15000.00')),
    }),
    account('healthy.dollars', {
      connection,
      name: 'US Dollar Account',
      type: 'FOREIGN',
      formatted_account: '38-9000-0123456-40',
      balance: { currency: 'USD', current: '0', available: '1.10' },
      ...grow({ ...atMidnight, recipe: foreign, openingCents: 120_000 }),
    }),
  ]
}

function otherAccounts(grow: Grow): AkahuAccount[] {
  // Older data: the login is called `_credentials`.
  const _credentials = `creds_${digest('healthy.sharesies')}`
  const { amex, sharesies, airpoints } = institutions
  return [
    account('healthy.card', {
      connection: amex,
      name: 'Platinum Edge',
      type: 'CREDITCARD',
      formatted_account: '****-****-****-0194',
      attributes: ['TRANSACTIONS'],
      balance: { currency: 'NZD', current: '0', limit: '12000' },
      ...grow({ style: 'utc-midnight', recipe: creditCard, openingCents: -84_210 }),
    }),
    account('healthy.wallet', {
      connection: sharesies,
      _credentials,
      name: 'Sharesies Wallet',
      type: 'WALLET',
      attributes: ['TRANSACTIONS'],
      balance: { currency: 'NZD', current: '0' },
      ...grow({ style: 'instant', recipe: wallet, openingCents: 20_000 }),
    }),
    account('healthy.kiwisaver', {
      connection: sharesies,
      _credentials,
      name: 'Sharesies KiwiSaver',
      type: 'KIWISAVER',
      attributes: [],
      balance: { currency: 'NZD', current: '0' },
      ...grow(quiet('64213.078125')),
    }),
    account('healthy.points', {
      connection: airpoints,
      name: 'Airpoints Dollars',
      type: 'REWARDS',
      attributes: [],
      balance: { currency: 'Airpoints', current: '0' },
      ...grow(quiet('318.4')),
    }),
  ]
}

function pendingPurchase(description: string, amount: string): AkahuAccount['pending'][number] {
  // The stamps are set at each refresh.
  return { created_at: '', updated_at: '', date: '', description, amount, type: 'EFTPOS' }
}
