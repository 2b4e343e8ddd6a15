/**
 * The people of the SnapTrade sandbox who each show one state: a connection that is disabled, a
 * broker that is slow or broken, unusual rows, positions and accounts. `magic-users.ts` of the sandbox
 * says what each name shows.
 */
import type { RowFaults } from '../row-faults.ts'
import { makeAccount, makeConnection, makePerson, planRows, type World } from './factories.ts'
import { hold, makePositions } from './positions.ts'
import { cryptoSpecials, makeActivities, type RowsPlan } from './rows.ts'
import { makeUuid, securities } from './securities.ts'
import type {
  Activity,
  Position,
  SnapTradeAccount,
  SnapTradeConnection,
  SnapTradePerson,
} from './shapes.ts'
import { broken, dinars, slices, yen } from './states-rows.ts'

type Make = (key: string, world: World) => SnapTradeConnection[]

const plain: Make = (key, world) => oneAccount(key, world, {})

const lives = {
  expired: (key, world) =>
    plain(key, world).map((connection) => ({
      ...connection,
      disabled: true,
      disabledDate: new Date(world.nowMs - 3 * 86_400_000).toISOString(),
    })),
  revoked: plain,
  mfa: plain,
  slow: plain,
  throttled: plain,
  outage: plain,
  malformed: (key, world) =>
    oneAccount(key, world, {
      plan: { specials: [broken] },
      positions: [hold(securities.aapl, ['3', '231.45', '200']), noUnits()],
    }),
  foreign: (key, world) =>
    oneAccount(key, world, {
      plan: { securities: [securities.aapl, securities.bhp, securities.air, securities.fph] },
      positions: [
        hold(securities.aapl, ['10', '231.45', '118.2']),
        hold(securities.bhp, ['200', '42.15', '39.88']),
        hold(securities.fph, ['15', '36.05', '31.4']),
      ],
    }),
  decimals: (key, world) =>
    oneAccount(key, world, {
      plan: { perWeekday: { min: 0, max: 0 }, specials: [yen, dinars] },
      positions: [
        hold(securities.toyota, ['100', '2615', '2400']),
        hold(securities.nbk, ['1000', '1.025', '0.998']),
      ],
    }),
  twins: (key, world) => oneAccount(key, world, { edit: repeat }),
  fractions: (key, world) =>
    oneAccount(key, world, {
      plan: {
        securities: [securities.btc, securities.eth],
        specials: [slices, ...cryptoSpecials],
      },
      positions: [
        hold(securities.aapl, ['0.1357', '231.45', '118.2']),
        hold(securities.vas, ['150.2500', '103.44', '99.10']),
        hold(securities.btc, ['0.00000001', '91234.56', '40000.1']),
        hold(securities.eth, ['0.123456789012345678', '3122.33', '2800']),
      ],
    }),
  unpriced: (key, world) =>
    oneAccount(key, world, {
      positions: [
        hold(securities.aapl, ['10', null, '118.2']),
        hold(securities.bhp, ['200', '42.15', null]),
        hold(securities.warrant, ['500', null, null], null),
      ],
    }),
  numbers: makeNumbers,
} as const satisfies Readonly<Record<string, Make>>

type StateName = keyof typeof lives
export const stateNames = Object.keys(lives) as StateName[]

const rowFaults: Partial<Record<StateName, RowFaults>> = {
  slow: { rowsLatencyMs: 1_500 },
  throttled: {
    rowsFailure: {
      status: 429,
      headers: { 'X-RateLimit-Reset': '17' },
      body: {
        detail: 'Request was throttled. Expected available in 17 seconds.',
        status_code: 429,
        code: '0000',
      },
    },
  },
  outage: {
    rowsFailure: { status: 500, body: { detail: 'Server error', status_code: 500, code: '0000' } },
  },
}

/** Makes everyone of this file. */
export function makeStates(
  world: World,
  credentials: Readonly<
    Record<StateName, { readonly userId: string; readonly userSecret: string }>
  >,
): Record<StateName, SnapTradePerson> {
  const people = stateNames.map((name) => {
    const person = makePerson(credentials[name], () => lives[name](name, world))
    return [name, Object.assign(person, rowFaults[name])] as const
  })
  return Object.fromEntries(people) as Record<StateName, SnapTradePerson>
}

interface AccountPlan {
  readonly plan?: Partial<RowsPlan>
  readonly positions?: Position[]
  readonly edit?: (rows: Activity[]) => Activity[]
}

function oneAccount(key: string, world: World, plan: AccountPlan): SnapTradeConnection[] {
  const rows = makeActivities(planRows(world, `${key}-main`, plan.plan ?? {}))
  const account = makeAccount(`${key}-main`, world, {
    name: 'Individual',
    number: 'U6542138443',
    positions: plan.positions ?? makePositions().slice(0, 3),
    activities: plan.edit === undefined ? rows : plan.edit(rows),
  })
  return [makeConnection(key, world, { brokerage: 'STAKEAUS', accounts: [account] })]
}

/** The broker sends a position without its units. */
function noUnits(): Position {
  return { ...hold(securities.bhp, ['0', '42.15', '39.88']), units: null }
}

/** Every row has a duplicate that differs only by SnapTrade's id. */
function repeat(rows: Activity[]): Activity[] {
  return rows.flatMap((row) => [row, { ...row, id: makeUuid(`twin:${row.id}`) }])
}

/** The name of each account and its number as SnapTrade sends it. */
const shapes: readonly (readonly [string, string])[] = [
  ['Letters and digits', 'U6542138443'],
  ['With dashes', 'SV-0042-19'],
  ['Masked with stars', '****7781'],
  ['Masked with dots', '•••• 5678'],
  ['Masked with x', 'xxxxxx1234'],
  ['Two characters', '9f'],
  ['Masked entirely', '********'],
  ['No number', ''],
  ['Account 000111222', '000111222'],
]

function makeNumbers(key: string, world: World): SnapTradeConnection[] {
  const accounts = shapes.map(
    ([name, number]): SnapTradeAccount =>
      makeAccount(`${key}-${name}`, world, {
        name,
        number,
        positions: makePositions().slice(0, 1),
      }),
  )
  return [makeConnection(key, world, { brokerage: 'QUESTRADE', accounts })]
}
