/**
 * The people of the SnapTrade sandbox. A person is data plus the switches of `shapes.ts`. Here are
 * the two without faults; those who show one state each are in `states.ts`.
 */
import { makeAccount, makeConnection, makePerson, planRows, type World } from './factories.ts'
import { makePositions } from './positions.ts'
import { allSpecials, cryptoSpecials, makeActivities } from './rows.ts'
import { makeUuid, securities } from './securities.ts'
import type { SnapTradeConnection, SnapTradePerson } from './shapes.ts'
import { makeStates, stateNames } from './states.ts'

export { makeAccount, makeConnection } from './factories.ts'

export type PersonName = 'healthy' | 'history' | (typeof stateNames)[number]

/** The people of the demo and whoever is registered or added later, by a name of our own. */
export type People = Record<PersonName, SnapTradePerson> & Record<string, SnapTradePerson>

interface Credentials {
  readonly userId: string
  readonly userSecret: string
}

/** The credentials of the person of this name; they are valid only in the sandbox. */
export function toCredentials(name: string): Credentials {
  return { userId: `sandbox-${name}`, userSecret: makeUuid(`secret:${name}`) }
}

/** The people who exist from the start. */
export const demoPeople: Readonly<Record<PersonName, Credentials>> = Object.fromEntries(
  (['healthy', 'history', ...stateNames] as const).map((name) => [name, toCredentials(name)]),
) as Record<PersonName, Credentials>

/** Makes all people; their data is generated at its first use. */
export function makePeople(world: World): People {
  return {
    healthy: makePerson(demoPeople.healthy, () => makeHealthy(world)),
    history: makePerson(demoPeople.history, () => makeHistory(world)),
    ...makeStates(world, demoPeople),
  }
}

function makeHealthy(world: World): SnapTradeConnection[] {
  const broker = makeConnection('healthy-ibkr', world, { brokerage: 'INTERACTIVE-BROKERS-FLEX' })
  broker.accounts = [
    makeAccount('healthy-margin', world, {
      name: 'Individual Margin',
      number: 'U6542138443',
      institutionAccountId: '54953432',
      positions: makePositions(),
      activities: makeActivities(planRows(world, 'healthy-margin', { specials: allSpecials })),
    }),
    makeAccount('healthy-super', world, {
      number: '****7781',
      rawType: null,
      category: null,
      status: null,
      total: { amount: '98120.4', currency: 'AUD' },
      activities: makeActivities(
        planRows(world, 'healthy-super', {
          precision: 'day',
          currency: 'AUD',
          perWeekday: { min: 0, max: 1 },
          securities: [securities.bhp, securities.cba, securities.vas, securities.vgs],
        }),
      ),
      positions: makePositions().slice(0, 3),
    }),
    makeAccount('healthy-savings', world, {
      name: 'Cash Savings',
      number: 'SV-0042-19',
      category: 'DEPOSIT',
      rawType: 'High Yield Savings',
      total: { amount: '2500', currency: 'USD' },
      activities: makeActivities(
        planRows(world, 'healthy-savings', {
          precision: 'day',
          perWeekday: { min: 0, max: 0 },
          specials: allSpecials.slice(7, 9),
        }),
      ),
    }),
    makeAccount('healthy-closed', world, { number: '000111222', status: 'closed' }),
    makeAccount('healthy-paper', world, { number: 'DU998877', isPaper: true }),
  ]
  return [broker, makeCryptoConnection(world)]
}

function makeCryptoConnection(world: World): SnapTradeConnection {
  const connection = makeConnection('healthy-coinbase', world, {
    brokerage: 'COINBASE',
    name: 'Connection-2',
    dataFreshness: 'realtime',
    // Times may carry an offset other than UTC.
    createdDate: '2025-01-21T15:11:19.217000-05:00',
  })
  connection.accounts = [
    makeAccount('healthy-coins', world, {
      name: 'Coinbase Wallet',
      number: '9f',
      rawType: 'wallet',
      total: null,
      balances: [{ currency: 'AUD', cash: '12.34', buyingPower: null }],
      activities: makeActivities(
        planRows(world, 'healthy-coins', {
          currency: 'AUD',
          perWeekday: { min: 0, max: 1 },
          securities: [securities.btc, securities.eth],
          specials: cryptoSpecials,
        }),
      ),
      positions: [
        {
          instrument: { kind: 'security', security: securities.btc },
          units: '0.123456789012345678',
          price: '91234.56',
          costBasis: '43210.987654321',
          currency: 'USD',
        },
      ],
    }),
  ]
  return connection
}

/** More rows than one request may collect. */
const historyRows = 5_400

function makeHistory(world: World): SnapTradeConnection[] {
  const connection = makeConnection('history-stake', world, { brokerage: 'STAKEAUS' })
  const activities = makeActivities(
    planRows(world, 'history-main', { days: 728, perWeekday: { min: 11, max: 12 } }),
  )
  connection.accounts = [
    makeAccount('history-main', world, {
      name: 'Stake Wall St',
      number: 'STK00990123',
      positions: makePositions().slice(0, 2),
      activities: activities.slice(0, historyRows),
    }),
  ]
  return [connection]
}
