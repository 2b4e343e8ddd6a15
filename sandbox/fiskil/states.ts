/**
 * The people of the Fiskil sandbox who each show one state: an ended consent, a slow or failing bank, unusual
 * rows and accounts. `magic-users.ts` of the sandbox says what each name shows.
 */
import {
  type AccountPlan,
  makeAccount,
  makeConsent,
  makePerson,
  type PersonBase,
} from './factories.ts'
import { type Recipe, recipes } from './rows.ts'
import { broken, coins, fils, identical, mills, pendingThenBooked, yen } from './states-rows.ts'
import type { SandboxConsent, SandboxPerson } from './world.ts'

type Of = (name: StateName) => PersonBase
type Make = (base: PersonBase) => SandboxConsent[]

/** Ordinary people with one bank; `rowFaults` adds the fault. */
const lives = {
  expired: (base) => [oneBank(base, { institutionId: '22', ageDays: 400 })],
  revoked: (base) => {
    const consent = oneBank(base, { institutionId: '41', ageDays: 30 })
    return [{ ...consent, active: false, terminationReason: 'Expired or Revoked' }]
  },
  mfa: (base) => [oneBank(base, { institutionId: '22', ageDays: 60 })],
  slow: (base) => [oneBank(base, { institutionId: '41', ageDays: 60 })],
  throttled: (base) => [oneBank(base, { institutionId: '73', ageDays: 60 })],
  outage: (base) => [oneBank(base, { institutionId: '73', ageDays: 60 })],
  malformed: (base) => [oneBank(base, { institutionId: '22', ageDays: 60, recipe: broken })],
  pending: (base) => [
    oneBank(base, { institutionId: '22', ageDays: 60, recipe: pendingThenBooked }),
  ],
  foreign: (base) =>
    purses(base, [
      ['Travel Card USD', 'USD', '612.40', coins],
      ['Euro Account', 'EUR', '1044.95', coins],
      ['Sterling Account', 'GBP', '-20.00', coins],
    ]),
  decimals: (base) =>
    purses(base, [
      ['Yen Account', 'JPY', '184200', yen],
      ['Dinar Account', 'KWD', '1250.375', fils],
      ['Bahrain Account', 'BHD', '-0.005', fils],
      ['Fine Account', 'AUD', '10.0000', mills],
    ]),
  twins: (base) => [oneBank(base, { institutionId: '41', ageDays: 60, recipe: identical })],
  numbers: makeNumbers,
} as const satisfies Readonly<Record<string, Make>>

export type StateName = keyof typeof lives

const rowFaults: Partial<Record<StateName, Partial<SandboxPerson>>> = {
  slow: { rowsLatencyMs: 1_500 },
  throttled: {
    rowsFailure: {
      status: 429,
      headers: { 'retry-after': '17' },
      body: { id: 'err_sandbox', name: 'too_many_requests', message: 'too many requests' },
    },
  },
  outage: {
    rowsFailure: {
      status: 500,
      body: { id: 'err_sandbox', name: 'internal_error', message: 'something went wrong' },
    },
  },
}

/** Makes everyone of this file; `of` gives each a seed of their own. */
export function makeStates(of: Of): Record<StateName, SandboxPerson> {
  const names = Object.keys(lives) as StateName[]
  const people = names.map((name) => {
    const person = makePerson(name, `${name} (sandbox)`, () => lives[name](of(name)))
    return [name, Object.assign(person, rowFaults[name])] as const
  })
  return Object.fromEntries(people) as Record<StateName, SandboxPerson>
}

function oneBank(
  base: PersonBase,
  bank: { readonly institutionId: string; readonly ageDays: number; readonly recipe?: Recipe },
): SandboxConsent {
  const consent = makeConsent(base, bank)
  consent.accounts = [
    makeAccount(base, consent, {
      recipe: bank.recipe ?? recipes.everyday,
      category: 'TRANS_AND_SAVINGS_ACCOUNTS',
      display: 'Everyday Account',
      product: 'Everyday',
      number: '30061142',
      balance: ['1750.20', '1700.20'],
    }),
  ]
  return consent
}

type Purse = readonly [display: string, currency: string, balance: string, recipe: Recipe]

function purses(base: PersonBase, plans: readonly Purse[]): SandboxConsent[] {
  const consent = makeConsent(base, { institutionId: '22', ageDays: 60 })
  consent.accounts = plans.map(([display, currency, balance, recipe], index) =>
    makeAccount(base, consent, {
      recipe,
      category: 'TRAVEL_CARDS',
      display,
      product: 'Wattle Abroad',
      number: `7001${index}233`,
      currency,
      balance: [balance, null],
    }),
  )
  return [consent]
}

/** Each account is called by the shape of its number. */
const shapes: readonly (readonly [string, Pick<AccountPlan, 'number' | 'masked'>])[] = [
  ['Plain number', { number: '10348821' }],
  ['Number with blanks and dashes', { number: '12-3456 7890' }],
  ['Three digits', { number: '123', masked: '' }],
  ['Number in words', { number: 'MEMBER', masked: 'xxxx 4417' }],
  ['Masked card', { masked: 'xxxx-xxxx-xxxx-5510' }],
  ['Masked with stars', { masked: '****9023' }],
  ['Masked at the end', { masked: '5510xxxx' }],
  ['Masked entirely', { masked: 'xxxxxxxx' }],
  ['No number', { masked: '' }],
]

function makeNumbers(base: PersonBase): SandboxConsent[] {
  const consent = makeConsent(base, { institutionId: '41', ageDays: 60 })
  consent.accounts = shapes.map(([display, number]) =>
    makeAccount(base, consent, {
      recipe: recipes.deposit,
      category: 'TERM_DEPOSITS',
      display,
      product: 'Mutual Term Deposit',
      balance: ['100.00', null],
      ...number,
    }),
  )
  return [consent]
}
