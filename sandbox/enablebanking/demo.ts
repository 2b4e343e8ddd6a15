/**
 * The people of the Enable Banking emulator, as data: `shows.ts` says what each of them shows. A new person
 * is an entry here and there.
 */
import type { Clock } from '#kernel/time.ts'
import { defer } from '../defer.ts'
import {
  type BankAccount,
  type BankHabits,
  type BankPeople,
  type BankPerson,
  dayMs,
  dayOf,
  noonOf,
  toIdentificationHash,
} from './people.ts'
import { broken, busy, cents, everyday, makeRows, type Recipe, saving, twins } from './recipes.ts'

const usualDays = 400
const historyDays = 89
const historyRowsPerDay = 60

interface Life {
  readonly bank: BankPerson['bank']
  readonly habits?: Partial<BankHabits>
  readonly accounts: (make: MakeAccount) => BankAccount[]
}

type MakeAccount = (
  key: string,
  fields?: Partial<BankAccount>,
  growing?: { readonly recipe: Recipe; readonly days?: number },
) => BankAccount

/** The predefined people; their data is generated at its first use, up to that time. */
export function makeDemoPeople(seed: string, clock: Clock): BankPeople {
  const make: MakeAccount = (key, fields = {}, growing) => {
    const until = Math.floor(clock.now() / dayMs)
    const { recipe, days = usualDays } = growing ?? { recipe: null }
    const range = { name: `${seed}|${key}`, from: until - days, until }
    return {
      hash: toIdentificationHash(key),
      iban: 'FI2112345600000785',
      details: 'Käyttötili',
      product: null,
      holder: 'Sam Virtanen',
      type: 'CACC',
      currency: 'EUR',
      opening: '2500.00',
      rows: recipe === null ? [] : makeRows({ ...range, recipe }),
      ...fields,
    }
  }
  return Object.fromEntries(
    Object.entries({ ...everydayLives, ...listOddLives(clock) }).map(
      ([name, { bank, habits = {}, accounts }]) => {
        const person: BankPerson = {
          name,
          bank,
          habits: { ids: 'kept', period: 'usual', ...habits },
          accounts: [],
          ...(name === 'expired' ? { ended: { error: 'EXPIRED_SESSION' } } : {}),
          ...(name === 'throttled' ? { rowsFailure: bankLimit } : {}),
        }
        defer(person, 'accounts', () => accounts(make))
        return [name, person]
      },
    ),
  )
}

export const bankLimit = {
  status: 429,
  body: {
    code: 429,
    message: 'ASPSP rate limit exceeded',
    error: 'ASPSP_RATE_LIMIT_EXCEEDED',
    detail: null,
  },
} as const

/** Somebody who links at a bank of the list that no magic user has. */
export function makeNewPerson(bank: BankPerson['bank'], seed: string, clock: Clock): BankPerson {
  const until = Math.floor(clock.now() / dayMs)
  const key = `${bank.country} ${bank.name}`
  const range = { name: `${seed}|${key}`, from: until - usualDays, until }
  return {
    name: key,
    bank,
    habits: { ids: 'kept', period: 'usual' },
    accounts: [
      {
        hash: toIdentificationHash(key),
        iban: 'DE89370400440532013000',
        details: null,
        product: 'Girokonto',
        holder: 'Sam Virtanen',
        type: 'CACC',
        currency: 'EUR',
        opening: '1200.00',
        rows: makeRows({ ...range, recipe: everyday }),
      },
    ],
  }
}

/** Banks of the list; those of the magic users are added to them. */
export const otherBanks: readonly BankPerson['bank'][] = [
  { name: 'Mock ASPSP', country: 'FI' },
  { name: 'Mock ASPSP', country: 'DE' },
  { name: 'Sparhaus Nordlicht', country: 'DE' },
]

const plain = (key: string, recipe: Recipe, days?: number) => (make: MakeAccount) => [
  make(`${key}.giro`, {}, { recipe, ...(days === undefined ? {} : { days }) }),
]
const bank = (country: string, name: string) => ({ name, country })

const everydayLives: Readonly<Record<string, Life>> = {
  healthy: {
    bank: bank('FI', 'Pankki Kaarna'),
    accounts: (make) => [
      make('healthy.daily', { iban: 'FI4250001510000023' }, { recipe: everyday }),
      make(
        'healthy.saving',
        { iban: 'FI1410093000123458', details: 'Säästötili', type: 'SVGS' },
        { recipe: saving },
      ),
      make(
        'healthy.card',
        {
          ...{ iban: null, card: '4920123456785323', details: null, product: 'Kaarna Credit' },
          ...{ type: 'CARD', opening: '-310.40' },
        },
        { recipe: busy(1) },
      ),
    ],
  },
  history: {
    bank: bank('DE', 'Bank am Kanal'),
    habits: { hasEmptyPage: true },
    accounts: plain('history', busy(historyRowsPerDay), historyDays),
  },
}

function listOddLives(clock: Clock): Readonly<Record<string, Life>> {
  return {
    expired: { bank: bank('ES', 'Banca Lirio'), accounts: plain('expired', everyday) },
    throttled: { bank: bank('IT', 'Banco Alabastro'), accounts: plain('throttled', everyday) },
    malformed: { bank: bank('FR', 'Banque du Quai'), accounts: plain('malformed', broken) },
    pending: {
      bank: bank('NL', 'Grachtbank'),
      habits: { ids: 'none' },
      accounts: (make) => [makePending(make, clock)],
    },
    foreign: {
      bank: bank('SE', 'Fjällbanken'),
      accounts: (make) => [
        make(
          'foreign.konto',
          { iban: 'SE4550000000058398257466', currency: 'XXX', moneyIn: 'SEK', details: 'Konto' },
          { recipe: everyday },
        ),
        make('foreign.card', {
          ...{ iban: null, card: '4970101122334455', details: 'Carte', type: 'CARD' },
          ...{ opening: '-120.00', balances: ['OTHR'] },
        }),
      ],
    },
    twins: { bank: bank('AT', 'Bergbank'), accounts: plain('twins', twins) },
    numbers: {
      bank: bank('BE', 'Banque des Lis'),
      accounts: (make) =>
        [
          { iban: 'BE71096123456769', details: 'Compte BE71096123456769' },
          { iban: null, card: '4970101122334455', details: null, product: 'Carte Or' },
          { iban: null, details: null, product: null },
        ].map((fields, index) =>
          make(`numbers.${index}`, { ...fields, opening: cents(index * 100 + 5) }),
        ),
    },
    reissued: {
      bank: bank('PL', 'Bank Bursztyn'),
      habits: { ids: 'new' },
      accounts: plain('reissued', everyday),
    },
    positional: {
      bank: bank('DK', 'Havnebanken'),
      habits: { ids: 'positional' },
      accounts: plain('positional', busy(2)),
    },
    period: {
      bank: bank('DE', 'N-Bank Mobil'),
      habits: { ids: 'none', period: 'bare' },
      accounts: plain('period', everyday),
    },
  }
}

/** A purchase of every day that is pending until its noon. */
function makePending(make: MakeAccount, clock: Clock): BankAccount {
  const account = make('pending.giro')
  const today = Math.floor(clock.now() / dayMs)
  for (let day = today - 30; day <= today + 30; day += 1) {
    const bookedAt = noonOf(dayOf(day * dayMs))
    account.rows.push({
      id: `P${day}`,
      bookedAt,
      settlesAt: bookedAt,
      amount: cents(-1000 - (day % 90)),
      description: 'Café Nordlicht',
      payee: 'Café Nordlicht',
      mcc: '5814',
    })
  }
  return account
}
