/**
 * The people of the Fiskil sandbox. A person is data plus switches: every possible state is a field of
 * `world.ts`. Here are the two ordinary ones; those who show one state each are in `states.ts`.
 */
import { makeAccount, makeConsent, makePerson, type PersonBase } from './factories.ts'
import { recipes } from './rows.ts'
import { makeStates, type StateName } from './states.ts'
import type { SandboxConsent, SandboxPerson } from './world.ts'

export type { PersonBase } from './factories.ts'

export type PersonName = 'healthy' | 'history' | StateName
export type People = Record<PersonName, SandboxPerson> & Record<string, SandboxPerson>

/** With eight rows a day: 5,400 rows, all of them posted. */
const busyDays = 675

/** Makes everybody, as they stand at `nowMs`. */
export function makePeople(base: PersonBase): People {
  // Each person has their own seed, so that a new person does not change other people's rows.
  const of = (key: string): PersonBase => ({ seed: `${base.seed}:${key}`, nowMs: base.nowMs })
  return {
    healthy: makePerson('healthy', 'Emma Hartley', () => makeHealthy(of('healthy'))),
    history: makePerson('history', 'Jack Okafor', () => makeHistory(of('history'))),
    ...makeStates(of),
  }
}

/** Two banks, every kind of account, eighteen months of everything that is mapped. */
function makeHealthy(base: PersonBase): SandboxConsent[] {
  const wattle = makeConsent(base, { institutionId: '22', ageDays: 80 })
  wattle.accounts = [
    makeAccount(base, wattle, {
      recipe: recipes.everyday,
      category: 'TRANS_AND_SAVINGS_ACCOUNTS',
      display: 'Everyday Account',
      nickname: 'Everyday',
      product: 'Wattle Everyday',
      number: '10348821',
      balance: ['4821.37', '4771.37'],
    }),
    makeAccount(base, wattle, {
      recipe: recipes.saver,
      category: 'TRANS_AND_SAVINGS_ACCOUNTS',
      display: 'Bonus Saver',
      product: 'Wattle Bonus Saver',
      number: '10348848',
      balance: ['18250.00', '18250.00'],
    }),
    makeAccount(base, wattle, {
      recipe: recipes.card,
      category: 'CRED_AND_CHRG_CARDS',
      display: 'Low Rate Card',
      product: 'Wattle Low Rate',
      masked: 'xxxx-xxxx-xxxx-5510',
      balance: ['-1284.60', '4715.40'],
      limit: '6000.00',
    }),
    makeAccount(base, wattle, {
      recipe: recipes.loan,
      category: 'RESIDENTIAL_MORTGAGES',
      display: 'Home Loan',
      product: 'Wattle Variable Home Loan',
      number: '70011934',
      balance: ['-431902.18', null],
    }),
    makeAccount(base, wattle, {
      recipe: recipes.travel,
      category: 'TRAVEL_CARDS',
      display: 'Travel Card USD',
      product: 'Wattle Abroad',
      masked: 'xxxx xxxx xxxx 9023',
      currency: 'USD',
      balance: ['612.40', '612.40'],
    }),
  ]
  const southern = makeConsent(base, { institutionId: '41', ageDays: 20 })
  southern.accounts = [
    makeAccount(base, southern, {
      recipe: recipes.everyday,
      category: 'TRANS_AND_SAVINGS_ACCOUNTS',
      display: 'Joint Account',
      product: 'Mutual Access',
      number: '556018',
      balance: ['935.02', '935.02'],
    }),
    makeAccount(base, southern, {
      recipe: recipes.deposit,
      category: 'TERM_DEPOSITS',
      display: '12 Month Term Deposit',
      product: 'Mutual Term Deposit',
      number: '556021',
      balance: ['25000.00', null],
    }),
  ]
  return [wattle, southern]
}

/** One account with more rows than one request may collect. */
function makeHistory(base: PersonBase): SandboxConsent[] {
  const consent = makeConsent(base, { institutionId: '73', ageDays: 200 })
  consent.accounts = [
    makeAccount(base, consent, {
      recipe: recipes.busy,
      category: 'TRANS_AND_SAVINGS_ACCOUNTS',
      display: 'Café Trading Account',
      product: 'Coolamon Business',
      number: '88120045',
      balance: ['58211.90', '58211.90'],
      // The newest purchases post a day later: those made two days ago are certainly posted.
      days: { from: -busyDays - 1, until: -1 },
    }),
  ]
  return [consent]
}
