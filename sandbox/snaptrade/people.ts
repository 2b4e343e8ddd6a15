/**
 * The people of the SnapTrade sandbox. A person is data plus the switches of `shapes.ts`. Here are
 * the three without faults; those who show one state each are in `states.ts`.
 */
import { makeAccount, makeConnection, makePerson, planRows, type World } from './factories.ts'
import { makePositions } from './positions.ts'
import { allSpecials, cryptoSpecials, makeActivities } from './rows.ts'
import { makeUuid, securities } from './securities.ts'
import type { SnapTradeConnection, SnapTradePerson } from './shapes.ts'
import { makeStates, stateNames } from './states.ts'

export { makeAccount, makeConnection } from './factories.ts'

export type PersonName = 'healthy' | 'history' | 'personal' | (typeof stateNames)[number]

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

/** The personal key of the sandbox; it opens nothing else. */
export const demoPersonalKey = {
  clientId: 'TRIBUTARY-PERSONAL',
  consumerKey: 'sandbox-personal-consumer-key',
}

type UserName = Exclude<PersonName, 'personal'>

/** The users of the commercial key who exist from the start. */
export const demoPeople: Readonly<Record<UserName, Credentials>> = Object.fromEntries(
  (['healthy', 'history', ...stateNames] as const).map((name) => [name, toCredentials(name)]),
) as Record<UserName, Credentials>

/** What links the person of this name, as the fields of the admin API. */
export function toFields(name: string) {
  if (name === 'personal') return demoPersonalKey
  const { userId, userSecret } = toCredentials(name)
  return { snaptradeUserId: userId, userSecret }
}

/** The users of the commercial key. */
export function listUsers(people: People): readonly SnapTradePerson[] {
  return Object.values(people).filter(({ personalKey }) => personalKey === undefined)
}

/** The person whose personal key has this client id; null: it is the commercial key's, or unknown. */
export function findOwner(people: People, clientId: string | null): SnapTradePerson | null {
  const all = Object.values(people)
  return all.find(({ personalKey }) => personalKey?.clientId === clientId && clientId) ?? null
}

/** Makes all people; their data is generated at its first use. */
export function makePeople(world: World): People {
  return {
    healthy: makePerson(demoPeople.healthy, () => makeHealthy(world, 'healthy')),
    history: makePerson(demoPeople.history, () => makeHistory(world, 'history')),
    personal: makePersonal(world),
    ...makeStates(world, demoPeople),
  }
}

/** The key takes the place of user id and secret; its connections are read at the broker on request. */
function makePersonal(world: World): SnapTradePerson {
  const { clientId } = demoPersonalKey
  const person = makePerson({ userId: clientId, userSecret: '' }, () =>
    [...makeHealthy(world, 'personal'), ...makeHistory(world, 'personal')].map((connection) => ({
      ...connection,
      dataFreshness: 'realtime' as const,
    })),
  )
  return Object.assign(person, { personalKey: demoPersonalKey })
}

/** `name` distinguishes the ids and rows of people with the same kinds of accounts. */
function makeHealthy(world: World, name: string): SnapTradeConnection[] {
  const broker = makeConnection(`${name}-ibkr`, world, { brokerage: 'INTERACTIVE-BROKERS-FLEX' })
  broker.accounts = [
    makeAccount(`${name}-margin`, world, {
      name: 'Individual Margin',
      number: 'U6542138443',
      institutionAccountId: '54953432',
      positions: makePositions(),
      activities: makeActivities(planRows(world, `${name}-margin`, { specials: allSpecials })),
    }),
    makeAccount(`${name}-super`, world, {
      number: '****7781',
      rawType: null,
      category: null,
      status: null,
      total: { amount: '98120.4', currency: 'AUD' },
      activities: makeActivities(
        planRows(world, `${name}-super`, {
          precision: 'day',
          currency: 'AUD',
          perWeekday: { min: 0, max: 1 },
          securities: [securities.bhp, securities.cba, securities.vas, securities.vgs],
        }),
      ),
      positions: makePositions().slice(0, 3),
    }),
    makeAccount(`${name}-savings`, world, {
      name: 'Cash Savings',
      number: 'SV-0042-19',
      category: 'DEPOSIT',
      rawType: 'High Yield Savings',
      total: { amount: '2500', currency: 'USD' },
      activities: makeActivities(
        planRows(world, `${name}-savings`, {
          precision: 'day',
          perWeekday: { min: 0, max: 0 },
          specials: allSpecials.slice(7, 9),
        }),
      ),
    }),
    makeAccount(`${name}-closed`, world, { number: '000111222', status: 'closed' }),
    makeAccount(`${name}-paper`, world, { number: 'DU998877', isPaper: true }),
  ]
  return [broker, makeCryptoConnection(world, name)]
}

function makeCryptoConnection(world: World, name: string): SnapTradeConnection {
  const connection = makeConnection(`${name}-coinbase`, world, {
    brokerage: 'COINBASE',
    name: 'Connection-2',
    dataFreshness: 'realtime',
    // Times may carry an offset other than UTC.
    createdDate: '2025-01-21T15:11:19.217000-05:00',
  })
  connection.accounts = [
    makeAccount(`${name}-coins`, world, {
      name: 'Coinbase Wallet',
      number: '9f',
      rawType: 'wallet',
      total: null,
      balances: [{ currency: 'AUD', cash: '12.34', buyingPower: null }],
      activities: makeActivities(
        planRows(world, `${name}-coins`, {
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

function makeHistory(world: World, name: string): SnapTradeConnection[] {
  const connection = makeConnection(`${name}-stake`, world, { brokerage: 'STAKEAUS' })
  const activities = makeActivities(
    planRows(world, `${name}-main`, { days: 728, perWeekday: { min: 11, max: 12 } }),
  )
  connection.accounts = [
    makeAccount(`${name}-main`, world, {
      name: 'Stake Wall St',
      number: 'STK00990123',
      positions: makePositions().slice(0, 2),
      activities: activities.slice(0, historyRows),
    }),
  ]
  return [connection]
}
