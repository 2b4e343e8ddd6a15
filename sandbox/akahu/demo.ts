/**
 * The ordinary people of the Akahu emulator, as data. A new person is an entry here (or one added to `people`
 * at run time): accounts made with `account`, and switches. People who show one state are in `states.ts`.
 */
import { addDays, type Clock } from '#kernel/time.ts'
import { account, type Grow, institutions, noisyToken, person, toUserToken } from './factories.ts'
import type { AkahuAccount, AkahuPerson } from './people.ts'
import { todayIn } from './people.ts'
import { busy, creditCard, everyday, foreign, homeLoan, savings, wallet } from './recipes.ts'
import { digest, type GrowthOptions, makeGrowth } from './rows.ts'
import { makeStates, stateNames } from './states.ts'

/** The app of the demo; with these the adapter is configured in sandbox mode. */
export const demoApp = {
  appToken: 'app_token_ckdemo0000000000000000000',
  appSecret: 'demo-app-secret-of-the-akahu-emulator',
} as const

/** The user token of every predefined person. */
export const demoUserTokens: Readonly<Record<PersonName, string>> = makeTokens()

export type PersonName = 'healthy' | 'history' | (typeof stateNames)[number]

/** The predefined people, and those added at run time. */
export type AkahuPeople = Record<PersonName, AkahuPerson> & Record<string, AkahuPerson>

function makeTokens(): Record<PersonName, string> {
  const names = ['healthy', 'history', ...stateNames] as const
  const tokens = names.map((name) => [name, toUserToken(name)] as const)
  return Object.fromEntries(tokens) as Record<PersonName, string>
}

const healthyDays = 548
const historyDays = 675
/** 675 days of 8 rows are 5,400 rows, all within two years. */
const historyRowsPerDay = 8

/** The predefined people; their data is generated at its first use, up to that time. */
export function makeDemoPeople(seed: string, clock: Clock): AkahuPeople {
  const today = todayIn(clock)
  const growth = (days: number, options: Omit<GrowthOptions, 'seed' | 'since'>) => ({
    growth: makeGrowth({ seed, since: addDays(today, -days), ...options }),
  })
  return {
    healthy: person('healthy', 'Aroha Healthy', {
      clock,
      makeAccounts: () => healthyAccounts((options) => growth(healthyDays, options)),
    }),
    history: person('history', 'Tama History', {
      clock,
      makeAccounts: () => historyAccounts((options) => growth(historyDays, options)),
    }),
    ...makeStates({ clock, grow: (options) => growth(healthyDays, options) }),
  }
}

function historyAccounts(grow: Grow): AkahuAccount[] {
  return [
    account('history.main', {
      connection: institutions.asb,
      name: 'Streamline Business',
      type: 'CHECKING',
      formatted_account: '12-3022-0456789-00',
      balance: { currency: 'NZD', current: '0', available: '25000', limit: '25000' },
      ...grow({
        style: 'nz-midnight',
        recipe: busy(historyRowsPerDay),
        openingCents: 1_000_000,
      }),
    }),
  ]
}

function healthyAccounts(grow: Grow): AkahuAccount[] {
  return [...bankAccounts(grow), ...otherAccounts(grow)]
}

/** An account without rows, whose balance Akahu still refreshes. */
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
  // The timestamps are set at each refresh.
  return { created_at: '', updated_at: '', date: '', description, amount, type: 'EFTPOS' }
}
