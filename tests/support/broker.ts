/**
 * Brokerage people for tests: a person with exactly the accounts, positions and activities that a test
 * specifies, linked to a user of the running service. It adds no rows of its own.
 */
import { randomUUID } from 'node:crypto'
import { byOperator } from '#contract/actor.ts'
import {
  makeAccount,
  type SnapTradeAccount,
  type SnapTradePerson,
} from '#sandbox/snaptrade/index.ts'
import { makeConnection } from '#sandbox/snaptrade/people.ts'
import { securities } from '#sandbox/snaptrade/securities.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { Service, ServiceUser } from './service.ts'

export type Activity = SnapTradeAccount['activities'][number]
export type Position = SnapTradeAccount['positions'][number]
export type BrokerAccount = SnapTradeAccount

export interface Broker {
  readonly person: SnapTradePerson
  readonly connection: ConnectionRow
  /** Ours, in the order of the specification. */
  readonly accounts: readonly AccountRow[]
  /** The provider's, in the same order; tests may change them. */
  readonly upstream: readonly SnapTradeAccount[]
}

/** A purchase of one Apple share for 100 USD; every field can be overridden. */
export function activity(fields: Partial<Activity> = {}): Activity {
  return {
    id: randomUUID(),
    type: 'BUY',
    security: securities.aapl,
    option: null,
    quote: null,
    price: '100',
    units: '1',
    fee: '0',
    amount: '-100',
    fxRate: null,
    currency: 'USD',
    optionAction: null,
    description: 'BOUGHT Apple Inc.',
    tradeDate: '2026-11-10T15:30:00Z',
    settlementDate: '2026-11-12T00:00:00Z',
    ...fields,
  }
}

/** A position of one Apple share; every field can be overridden. */
export function position(fields: Partial<Position> = {}): Position {
  return {
    instrument: { kind: 'security', security: securities.aapl },
    units: '1',
    price: '100',
    costBasis: '90',
    currency: 'USD',
    ...fields,
  }
}

let people = 0

/** A new person at the emulator with one connection of these accounts, linked to `user`. */
export async function linkBroker(
  service: Service,
  user: ServiceUser,
  accounts: readonly Partial<SnapTradeAccount>[],
): Promise<Broker> {
  people += 1
  const key = `test-${people}`
  const world = { seed: key, nowMs: service.clock.now() }
  const upstream = accounts.map((fields, index) =>
    makeAccount(`${key}-${index}`, world, {
      number: `ACC${people}${index}4321`,
      name: `Account ${index}`,
      ...fields,
    }),
  )
  const connection = makeConnection(key, world, { brokerage: 'STAKEAUS', accounts: upstream })
  const person: SnapTradePerson = {
    userId: `test-user-${people}`,
    userSecret: randomUUID(),
    connections: [connection],
  }
  service.sandbox.snaptrade.people[key] = person
  const [row] = await service.app.connections.linkConnections(byOperator, user.id, {
    provider: 'snaptrade',
    snaptradeUserId: person.userId,
    userSecret: person.userSecret,
  })
  if (row === undefined) throw new Error('nothing was linked')
  const rows = await service.app.store.accounts.listByConnection(user.id, row.id)
  const ours = upstream.map((account) => {
    const found = rows.find((candidate) => candidate.upstreamId === account.id)
    if (found === undefined) throw new Error(`account ${account.id} was not linked`)
    return found
  })
  return { person, connection: row, accounts: ours, upstream }
}
