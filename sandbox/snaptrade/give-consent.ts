/**
 * What a consent in the portal of the emulator gives: a mended connection, or a new one with accounts,
 * holdings and trades of recent days.
 */
import { makeAccount, makeConnection, planRows, type World } from './factories.ts'
import { hold } from './positions.ts'
import { allSpecials, makeActivities } from './rows.ts'
import { securities } from './securities.ts'
import type { SnapTradeAccount, SnapTradeConnection, SnapTradePerson } from './shapes.ts'
import type { PortalSession, SnapTradeState } from './state.ts'

/**
 * Repairs the connection that the session names, else makes a new one at this brokerage; null when the user
 * does not exist any more.
 */
export function giveConsent(
  session: PortalSession,
  brokerage: string,
  { people, webhooks }: SnapTradeState,
  world: World,
): SnapTradeConnection | null {
  const person = Object.values(people).find(({ userId }) => userId === session.userId)
  if (person === undefined) return null
  const { userId } = person
  const existing = person.connections.find(({ id }) => id === session.reconnect)
  if (existing !== undefined) {
    existing.disabled = false
    existing.disabledDate = null
    webhooks.send('CONNECTION_FIXED', { userId, connection: existing })
    return existing
  }
  const connection = makeNew(person, brokerage, session, world)
  person.connections.push(connection)
  webhooks.send('CONNECTION_ADDED', { userId, connection })
  for (const account of connection.accounts) {
    webhooks.send('ACCOUNT_TRANSACTIONS_INITIAL_UPDATE', { userId, connection, account })
  }
  return connection
}

function makeNew(
  person: SnapTradePerson,
  brokerage: string,
  session: PortalSession,
  world: World,
): SnapTradeConnection {
  const key = `portal:${session.id}`
  return makeConnection(key, world, {
    brokerage,
    name: `Connection-${person.connections.length + 1}`,
    type: session.connectionType,
    createdDate: new Date(world.nowMs).toISOString(),
    accounts: makeAccounts(key, world),
  })
}

function makeAccounts(key: string, world: World): SnapTradeAccount[] {
  const abroad = `${key}-abroad`
  const home = `${key}-home`
  return [
    makeAccount(abroad, world, {
      name: 'Individual',
      number: 'NEW00012345',
      activities: makeActivities(planRows(world, abroad, { days: 180, specials: allSpecials })),
      positions: [
        hold(securities.aapl, ['10.5', '231.45', '118.2']),
        hold(securities.msft, ['4', '421.10', '305.75']),
        hold(securities.spy, ['12', '588.2', '501.75']),
      ],
    }),
    makeAccount(home, world, {
      name: 'Retirement',
      number: 'NEW00067890',
      rawType: 'Super',
      total: { amount: '48210.55', currency: 'AUD' },
      balances: [{ currency: 'AUD', cash: '1204.10', buyingPower: '1204.10' }],
      activities: makeActivities(
        planRows(world, home, {
          days: 180,
          precision: 'day',
          currency: 'AUD',
          perWeekday: { min: 0, max: 1 },
          securities: [securities.bhp, securities.cba, securities.vas, securities.vgs],
        }),
      ),
      positions: [
        hold(securities.vas, ['150.25', '103.44', '88.10']),
        hold(securities.vgs, ['92', '142.77', '119.05']),
      ],
    }),
  ]
}
