/**
 * The people of the SimpleFIN emulator, as data: `shows.ts` says what each of them shows. A new person is an
 * entry here and there.
 */
import { hash } from 'node:crypto'
import type { Clock } from '#kernel/time.ts'
import { defer } from '../defer.ts'
import {
  dayMs,
  dayOf,
  noonOf,
  type SimplefinAccount,
  type SimplefinConnection,
  type SimplefinPeople,
  type SimplefinPerson,
  toId,
  toPassword,
  toUser,
} from './people.ts'
import { broken, busy, cents, everyday, makeRows, type Recipe, saving, twins } from './recipes.ts'

const usualDays = 400
const historyDays = 675
const historyRowsPerDay = 8

type MakeAccount = (
  key: string,
  fields: Partial<SimplefinAccount> & Pick<SimplefinAccount, 'name'>,
  growing?: { readonly recipe: Recipe; readonly days?: number },
) => SimplefinAccount

/** The predefined people; their data is generated at its first use, up to that time. */
export function makeDemoPeople(seed: string, clock: Clock): SimplefinPeople {
  const make: MakeAccount = (key, fields, growing) => {
    const until = Math.floor(clock.now() / dayMs)
    const { recipe, days = usualDays } = growing ?? { recipe: null }
    const name = `${seed}|${key}`
    const toRowId = (row: string) => toId('TRN', row)
    const range = { name, from: until - days, until, toId: toRowId }
    return {
      id: toId('ACT', key),
      currency: 'USD',
      opening: '2500.00',
      rows: recipe === null ? [] : makeRows({ ...range, recipe }),
      ...fields,
    }
  }
  const lives = listLives(make, clock)
  return Object.fromEntries(
    Object.entries(lives).map(([name, makeConnections]) => {
      const person: SimplefinPerson = {
        user: toUser(name),
        password: name === 'expired' ? null : toPassword(name),
        connections: [],
        ...(name === 'reissued' ? { readings: 0 } : {}),
      }
      defer(person, 'connections', makeConnections)
      return [name, person]
    }),
  )
}

const bank = (key: string, orgName: string, accounts: SimplefinAccount[]): SimplefinConnection => ({
  connId: toId('CON', key),
  orgId: `INST-${hash('sha256', orgName).slice(0, 12)}`,
  orgName,
  name: `${orgName} - Sam`,
  accounts,
})

function listLives(
  make: MakeAccount,
  clock: Clock,
): Readonly<Record<string, () => SimplefinConnection[]>> {
  const prairie = 'First Prairie Bank'
  const plain = (key: string, recipe: Recipe) => () => [
    bank(key, prairie, [make(`${key}.checking`, { name: 'Checking (4321)' }, { recipe })]),
  ]
  return {
    healthy: () => [
      bank('healthy.prairie', prairie, [
        make('healthy.checking', { name: 'Everyday Checking (1234)' }, { recipe: everyday }),
        make('healthy.savings', { name: 'Rainy Day Savings (5678)' }, { recipe: saving }),
        make(
          'healthy.card',
          { name: 'Rewards Visa (9012)', opening: '-310.40', available: '4689.60' },
          { recipe: busy(1) },
        ),
      ]),
      bank('healthy.maple', 'Maple Credit Union', [
        make(
          'healthy.chequing',
          { name: 'Chequing (7788)', currency: 'CAD', opening: '910.00' },
          { recipe: everyday },
        ),
      ]),
    ],
    history: () => [
      bank('history.prairie', prairie, [
        make(
          'history.checking',
          { name: 'Checking (1111)', opening: '900000.00' },
          { recipe: busy(historyRowsPerDay), days: historyDays },
        ),
      ]),
    ],
    expired: plain('expired', everyday),
    malformed: plain('malformed', broken),
    pending: () => [makePending(make, clock)],
    foreign: () => [
      bank('foreign.miles', 'Skyward Miles', [
        make('foreign.miles', {
          name: 'Award miles',
          currency: 'https://skyward.example/currencies/miles',
          opening: '48210',
        }),
        make('foreign.eur', { name: 'Travel account', currency: 'EUR' }, { recipe: everyday }),
      ]),
    ],
    twins: plain('twins', twins),
    reissued: plain('reissued', everyday),
    numbers: () => [
      bank(
        'numbers.prairie',
        prairie,
        ['Checking 123456789012', 'Savings (****5544)', '401(k) Rollover', 'Mortgage 88-1234'].map(
          (name, index) => make(`numbers.${index}`, { name, opening: cents(index * 100 + 5) }),
        ),
      ),
    ],
  }
}

/** A purchase of every day that is pending until its noon, in both forms in which servers write that. */
function makePending(make: MakeAccount, clock: Clock): SimplefinConnection {
  const account = make('pending.checking', { name: 'Checking (2468)' })
  const today = Math.floor(clock.now() / dayMs)
  for (let day = today - 30; day <= today + 30; day += 1) {
    const postedAt = noonOf(dayOf(day * dayMs))
    account.rows.push({
      id: toId('TRN', `pending ${day}`),
      postedAt,
      seenAt: postedAt - dayMs / 2,
      settlesAt: postedAt,
      pendingForm: day % 2 === 0 ? 'mark' : 'zero',
      amount: cents(-1000 - (day % 90)),
      description: 'Blue Door Coffee',
      memo: 'SQ *BLUE DOOR COFFEE',
      mcc: '5814',
    })
  }
  return bank('pending.prairie', 'First Prairie Bank', [account])
}
