/**
 * The people of the Up emulator, as data: `shows.ts` says what each of them shows. A new person is an entry
 * here and there. The joint account is one object that two people have.
 */
import { addDays, type Clock } from '#kernel/time.ts'
import { defer } from '../defer.ts'
import type { RowFaults } from '../row-faults.ts'
import {
  bringUpToDate,
  todayIn,
  toToken,
  type UpAccount,
  type UpPeople,
  type UpPerson,
} from './people.ts'
import {
  broken,
  busy,
  heldThenSettled,
  identical,
  purchase,
  saving,
  spending,
  travelling,
} from './recipes.ts'
import { makeGrowth, type Recipe, toUuid } from './rows.ts'
import { refusal } from './wire.ts'

const usualDays = 548
const historyDays = 675
/** 675 days of 8 rows are 5,400 rows, all within two years. */
const historyRowsPerDay = 8
const saverCount = 21

/** Makes an account; without a recipe it gets no rows. */
type MakeAccount = (
  key: string,
  fields: Partial<UpAccount> & Pick<UpAccount, 'displayName'>,
  growing?: { readonly recipe: Recipe; readonly days?: number },
) => UpAccount

/** The predefined people; their data is generated at its first use, up to that time. */
export function makeDemoPeople(seed: string, clock: Clock): UpPeople {
  const today = todayIn(clock)
  const make: MakeAccount = (key, fields, growing) => ({
    id: toUuid(`account ${key}`),
    accountType: 'TRANSACTIONAL',
    ownershipType: 'INDIVIDUAL',
    createdAt: Date.parse('2024-01-09T23:30:00Z'),
    opening: '5000.00',
    currency: 'AUD',
    isClosed: false,
    rows: [],
    ...fields,
    ...(growing === undefined ? {} : { growth: grow(growing) }),
  })
  const grow = ({
    recipe,
    days = usualDays,
  }: {
    readonly recipe: Recipe
    readonly days?: number
  }) => makeGrowth({ seed, recipe, since: addDays(today, -days) })
  const joint = make(
    'joint',
    { displayName: '2Up Spending', ownershipType: 'JOINT' },
    { recipe: (_day, random) => [purchase(random, 1_100)] },
  )
  const lives = listLives(make, joint)
  return Object.fromEntries(
    Object.entries(lives).map(([name, makeAccounts]) => [
      name,
      Object.assign(person(name, { clock, makeAccounts }), faults[name]),
    ]),
  )
}

function listLives(
  make: MakeAccount,
  joint: UpAccount,
): Readonly<Record<string, () => UpAccount[]>> {
  const plain = (key: string, recipe?: Recipe) => () => [
    make(`${key}.spending`, { displayName: 'Spending' }, { recipe: recipe ?? everyday }),
  ]
  const history = () => [
    make(
      'history.spending',
      { displayName: 'Spending', opening: '800000.00' },
      { recipe: busy(historyRowsPerDay), days: historyDays },
    ),
  ]
  return {
    healthy: () => makeHealthy(make, joint),
    history,
    expired: plain('expired'),
    revoked: plain('revoked'),
    mfa: plain('mfa'),
    slow: plain('slow'),
    throttled: plain('throttled'),
    outage: plain('outage'),
    malformed: plain('malformed', broken),
    pending: plain('pending', heldThenSettled),
    foreign: plain('foreign', travelling),
    twins: plain('twins', identical),
    numbers: () => makeSavers(make),
    joint: () => [make('joint.own', { displayName: 'Spending' }, { recipe: everyday }), joint],
  }
}

const everyday: Recipe = (_day, random) => [purchase(random, 700)]

function makeHealthy(make: MakeAccount, joint: UpAccount): UpAccount[] {
  const spender = toUuid('account healthy.spending')
  const saver = toUuid('account healthy.rainy')
  return [
    make('healthy.spending', { displayName: 'Spending' }, { recipe: spending(saver) }),
    make(
      'healthy.rainy',
      { displayName: '🌧 Rainy Day', accountType: 'SAVER' },
      { recipe: saving(spender) },
    ),
    make('healthy.home', {
      displayName: 'Home loan',
      accountType: 'HOME_LOAN',
      opening: '-412345.67',
    }),
    // Its rows stay in the list of all transactions.
    make(
      'healthy.closed',
      { displayName: 'Old holiday', accountType: 'SAVER', isClosed: true },
      { recipe: everyday, days: 60 },
    ),
    joint,
  ]
}

/** More accounts than a page of the default size has, and people who name them by numbers. */
function makeSavers(make: MakeAccount): UpAccount[] {
  const names = ['BSB 633-123', '633-123 123456789', 'Holiday 2027']
  return Array.from({ length: saverCount }, (_, index) =>
    make(`numbers.${index}`, {
      displayName: names[index] ?? `Saver ${index + 1}`,
      accountType: 'SAVER',
      opening: `${index}.05`,
    }),
  )
}

/** How the lists of some people's transactions are answered. */
const faults: Readonly<Record<string, RowFaults & Partial<Pick<UpPerson, 'token'>>>> = {
  expired: { token: null },
  slow: { rowsLatencyMs: 1_500 },
  throttled: { rowsFailure: refusal(429, 'Too Many Requests', 'The limit of 1000 is exceeded.') },
  outage: { rowsFailure: refusal(500, 'Internal Server Error', 'Something went wrong.') },
}

/** A person whose accounts are generated, up to the clock's day, at their first use. */
function person(
  name: string,
  life: { readonly clock: Clock; readonly makeAccounts: () => UpAccount[] },
): UpPerson {
  const made: UpPerson = {
    customerId: toUuid(`customer ${name}`),
    token: toToken(name),
    accounts: [],
  }
  defer(made, 'accounts', () => {
    const accounts = life.makeAccounts()
    bringUpToDate(accounts, life.clock)
    return accounts
  })
  return made
}
