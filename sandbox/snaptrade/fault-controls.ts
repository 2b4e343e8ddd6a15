/**
 * The sandbox commands at SnapTrade: a row is an activity, a broken login and an expired consent
 * are a disabled connection, a withdrawn consent is a connection that no longer exists.
 */
import type { Clock } from '#kernel/time.ts'
import {
  chooseAccount,
  FaultControlError,
  findPerson,
  type NewRow,
  type RowChange,
  type SendingFaultControls,
  type TouchedRow,
} from '../fault-controls.ts'
import { refuse } from './auth.ts'
import { makePeople, type People } from './people.ts'
import { portalPath } from './portal.ts'
import { makeUuid, securities } from './securities.ts'
import type {
  Activity,
  Security,
  SnapTradeAccount,
  SnapTradeConnection,
  SnapTradePerson,
} from './shapes.ts'
import { holderOf, listAccounts, makeWebhookControls, nameOf, namesOf } from './webhook-controls.ts'
import type { SnapTradeWebhooks } from './webhooks.ts'

interface Bench {
  readonly people: People
  readonly clock: Clock
  readonly seed: string
  readonly webhooks: SnapTradeWebhooks
  /** Connections that were withdrawn, to come back when consent is renewed. */
  readonly withdrawn: Map<string, SnapTradeConnection[]>
  /** How many rows were added so far. */
  added: number
}

export function makeFaultControls(
  options: Pick<Bench, 'people' | 'clock' | 'seed' | 'webhooks'>,
): SendingFaultControls {
  const bench: Bench = { ...options, withdrawn: new Map(), added: 0 }
  const { people, clock, seed, webhooks } = options
  const setDisabled = (name: string, disabled: boolean) => {
    const { userId, connections } = findPerson(people, name)
    for (const connection of connections) {
      connection.disabled = disabled
      connection.disabledDate = disabled ? new Date(clock.now()).toISOString() : null
      webhooks.send(disabled ? 'CONNECTION_BROKEN' : 'CONNECTION_FIXED', { userId, connection })
    }
  }
  return {
    upstreamUserId: (name) => findPerson(people, name).userId,
    addRow: (name, row) => addRow(bench, findPerson(people, name), row),
    changeRow: (name, change) => changeRow(bench, findPerson(people, name), change),
    login: {
      breakIt: (name) => setDisabled(name, true),
      mend: (name) => setDisabled(name, false),
    },
    consent: {
      expire: (name) => setDisabled(name, true),
      revoke(name) {
        const person = findPerson(people, name)
        const gone = bench.withdrawn.get(name) ?? []
        bench.withdrawn.set(name, [...gone, ...person.connections])
        const { userId } = person
        for (const connection of person.connections) {
          webhooks.send('CONNECTION_DELETED', { userId, connection })
        }
        person.connections = []
      },
      renew(name) {
        const person = findPerson(people, name)
        const { userId } = person
        const restored = bench.withdrawn.get(name) ?? []
        person.connections = [...person.connections, ...restored]
        bench.withdrawn.delete(name)
        for (const connection of restored) webhooks.send('CONNECTION_ADDED', { userId, connection })
        setDisabled(name, false)
      },
    },
    webhooks: makeWebhookControls(people, webhooks),
    refusal(status, retryAfterSeconds) {
      const reply = refuse(status, '0000', `Told to answer ${status}`)
      if (retryAfterSeconds === null) return reply
      return { ...reply, headers: { 'X-RateLimit-Reset': String(retryAfterSeconds) } }
    },
    isApiCall: ({ path }) => path !== '/' && path !== portalPath,
    reset() {
      bench.withdrawn.clear()
      Object.assign(people, makePeople({ seed, nowMs: clock.now() }))
    },
  }
}

function announce({ webhooks }: Bench, person: SnapTradePerson, account: SnapTradeAccount): void {
  const { userId } = person
  for (const connection of holderOf(person, account)) {
    webhooks.send('ACCOUNT_TRANSACTIONS_UPDATED', { userId, connection, account })
  }
}

function addRow(bench: Bench, person: SnapTradePerson, row: NewRow): TouchedRow {
  if (row.at > bench.clock.now()) throw new FaultControlError('a trade cannot lie in the future')
  const account = chooseAccount(listAccounts(person), row.account, namesOf)
  bench.added += 1
  const { symbol, units, price, type } = row.trade
  const security = symbol === null ? null : findSecurity(symbol)
  const id = makeUuid(`${bench.seed}:added:${bench.added}`)
  place(account, {
    id,
    type,
    security,
    option: null,
    quote: null,
    price,
    units,
    fee: '0',
    amount: row.amount,
    fxRate: null,
    currency: security?.currency ?? account.total?.currency ?? 'USD',
    optionAction: null,
    description: row.description,
    tradeDate: new Date(row.at).toISOString(),
    settlementDate: null,
  })
  announce(bench, person, account)
  return { id, account: nameOf(account) }
}

function changeRow(bench: Bench, person: SnapTradePerson, change: RowChange): TouchedRow {
  const all = listAccounts(person)
  const among = change.row === null ? [chooseAccount(all, change.account, namesOf)] : all
  for (const account of among) {
    const index = account.activities.findIndex(({ id }) => change.row === null || id === change.row)
    const [row] = index === -1 ? [] : account.activities.splice(index, 1)
    if (row === undefined) continue
    if (change.amount !== null) row.amount = change.amount
    if (change.description !== null) row.description = change.description
    if (change.at !== null) row.tradeDate = new Date(change.at).toISOString()
    place(account, row)
    announce(bench, person, account)
    return { id: row.id, account: nameOf(account) }
  }
  throw new FaultControlError(
    change.row === null ? 'this account has no row yet' : `there is no row ${change.row}`,
  )
}

/** Newest first; before rows of the same moment. */
function place({ activities }: SnapTradeAccount, row: Activity): void {
  const at = timeOf(row)
  const before = activities.findIndex((other) => timeOf(other) <= at)
  activities.splice(before === -1 ? activities.length : before, 0, row)
}

const timeOf = ({ tradeDate }: Activity) => Date.parse(tradeDate ?? '')

/** One of the sandbox's own, or a made-up share of that name. */
function findSecurity(symbol: string): Security {
  const name = symbol.toUpperCase()
  const known = Object.values(securities).find(
    (one) => one.symbol === name || one.rawSymbol === name,
  )
  const id = makeUuid(`security:${name}`)
  const made = { id, kind: 'stock', symbol: name, rawSymbol: name, name: null } as const
  return known ?? { ...made, currency: 'USD', exchange: null, priceCents: 100 }
}
