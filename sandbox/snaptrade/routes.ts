/**
 * The paths of the SnapTrade emulator and what each answers. Whatever is not in the table is a
 * 404, the endpoints that the real one has retired are 410 (never an empty list).
 */
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { findPerson, refuse } from './auth.ts'
import { listUsers } from './people.ts'
import { openPortal } from './portal.ts'
import { readObject } from './request-body.ts'
import { brokerages, makeUuid } from './securities.ts'
import type { SnapTradeAccount, SnapTradeConnection, SnapTradePerson } from './shapes.ts'
import type { SnapTradeState } from './state.ts'
import {
  toAccount,
  toActivity,
  toAuthorization,
  toBalances,
  toBrokerage,
  toPosition,
} from './wire.ts'

export interface Exchange {
  readonly request: EmulatorRequest
  readonly state: SnapTradeState
  readonly nowMs: number
  /** The client id that the request is signed under. */
  readonly clientId: string
  /** The person whose personal key it is; null: the commercial key. */
  readonly owner: SnapTradePerson | null
  /** The path's own parameter, decoded. */
  readonly id: string
}

type UserExchange = Exchange & { readonly person: SnapTradePerson }
type AccountExchange = UserExchange & {
  readonly connection: SnapTradeConnection
  readonly account: SnapTradeAccount
}
type Answer = (exchange: Exchange) => EmulatorReply

const missing = () => refuse(404, '1011', 'The requested resource does not exist.')
const ok = (body: unknown): EmulatorReply => ({ status: 200, body })

const withUser =
  (answer: (exchange: UserExchange) => EmulatorReply): Answer =>
  (exchange) => {
    const person = findPerson(exchange.request, exchange.state, exchange.owner)
    return 'status' in person ? person : answer({ ...exchange, person })
  }

const withConnection = (
  answer: (exchange: UserExchange & { readonly connection: SnapTradeConnection }) => EmulatorReply,
): Answer =>
  withUser((exchange) => {
    const connection = exchange.person.connections.find(({ id }) => id === exchange.id)
    return connection === undefined ? missing() : answer({ ...exchange, connection })
  })

const withAccount = (answer: (exchange: AccountExchange) => EmulatorReply): Answer =>
  withUser((exchange) => {
    for (const connection of exchange.person.connections) {
      const account = connection.accounts.find(({ id }) => id === exchange.id)
      if (account !== undefined) return answer({ ...exchange, connection, account })
    }
    return missing()
  })

/** Data of an account that is not ready, or that its broker cannot give. */
const withData = (answer: (exchange: AccountExchange) => EmulatorReply): Answer =>
  withAccount((exchange) => {
    switch (exchange.account.refuses) {
      case 'populating': {
        const detail = 'The resource is currently being populated. Please try again later.'
        return refuse(425, '3012', detail)
      }
      case 'unsupported': {
        const { brokerage } = exchange.connection
        const error = `The endpoint is not yet implemented for brokerage ${brokerage}`
        return { status: 501, body: { error } }
      }
      case null:
        return answer(exchange)
    }
  })

const retired = withAccount(() =>
  refuse(410, '1141', 'This endpoint is retired. Use /accounts/{accountId}/positions/all.'),
)

/** What a client id may do; the sandbox broker stands last. */
const describePartner: Answer = ({ clientId }) =>
  ok({
    slug: clientId,
    name: 'Tributary sandbox',
    logo_url: null,
    allowed_brokerages: Object.keys(brokerages).map(toBrokerage),
    can_access_trades: false,
    can_access_holdings: true,
    can_access_account_history: true,
    can_access_reference_data: true,
    can_access_portfolio_management: false,
    can_access_orders: false,
    redirect_uri: null,
  })

/** Method and path template to answer; `*` stands for one identifier. */
const routes: Readonly<Record<string, Answer>> = {
  'GET /brokerages': () => ok(Object.keys(brokerages).map(toBrokerage)),
  'GET /snapTrade/partners': describePartner,
  'GET /snapTrade/listUsers': ({ state }) =>
    ok(listUsers(state.people).map(({ userId }) => userId)),
  'POST /snapTrade/registerUser': registerUser,
  'DELETE /snapTrade/deleteUser': deleteUser,
  'POST /snapTrade/resetUserSecret': resetUserSecret,
  'POST /snapTrade/login': withUser(openPortal),
  'GET /authorizations': withUser(({ person }) => ok(person.connections.map(toAuthorization))),
  'GET /authorizations/*': withConnection(({ connection }) => ok(toAuthorization(connection))),
  'GET /authorizations/*/accounts': withConnection(({ connection }) =>
    ok(connection.accounts.map((account) => toAccount(account, connection))),
  ),
  'POST /authorizations/*/disable': withConnection(disable),
  'POST /authorizations/*/refresh': withConnection(refresh),
  'POST /authorizations/*/transactions/sync': withConnection(({ connection }) =>
    connection.disabled
      ? refuseDisabled()
      : ok({ detail: `Connection ${connection.id} scheduled for transactions sync` }),
  ),
  'DELETE /connection/*': withConnection(deleteConnection),
  'GET /accounts': withUser(({ person }) =>
    ok(
      person.connections.flatMap((connection) =>
        connection.accounts.map((account) => toAccount(account, connection)),
      ),
    ),
  ),
  'GET /accounts/*': withAccount(({ account, connection }) => ok(toAccount(account, connection))),
  'GET /accounts/*/balances': withData(({ account }) => ok(toBalances(account))),
  'GET /accounts/*/positions/all': withData(({ account, nowMs }) =>
    ok({
      results: account.positions.map(toPosition),
      data_freshness: { as_of: new Date(nowMs).toISOString() },
    }),
  ),
  'GET /accounts/*/activities': withData(listActivities),
  'GET /accounts/*/positions': retired,
  'GET /accounts/*/holdings': retired,
}

/** The answer to a signed request; `path` is without the legacy prefix. */
export function answer(path: string, exchange: Omit<Exchange, 'id'>): EmulatorReply {
  const parts = path.split('/')
  const method = exchange.request.method
  const exact = routes[`${method} ${path}`]
  if (exact !== undefined) return exact({ ...exchange, id: '' })
  const id = parts[2]
  if (id === undefined || id === '') return refuse(404, '0000', 'Not found.')
  const template = ['', parts[1], '*', ...parts.slice(3)].join('/')
  const route = routes[`${method} ${template}`]
  if (route === undefined) return refuse(404, '0000', 'Not found.')
  return route({ ...exchange, id: decodeURIComponent(id) })
}

const unverified = (detail: string): EmulatorReply => ({
  status: 400,
  body: { default_detail: detail, default_code: 1076 },
})

function registerUser({ request, state, nowMs }: Exchange): EmulatorReply {
  const userId = readObject(request.body)?.userId
  if (typeof userId !== 'string' || userId === '') return unverified('Unable to verify data sent')
  if (Object.values(state.people).some((person) => person.userId === userId)) {
    return refuse(400, '1010', 'User with the following userId already exist')
  }
  const userSecret = makeUuid(`secret:${userId}:${nowMs}`)
  state.people[`registered:${userId}`] = { userId, userSecret, connections: [] }
  state.webhooks.send('USER_REGISTERED', { userId })
  return ok({ userId, userSecret })
}

function deleteUser({ request, state }: Exchange): EmulatorReply {
  const userId = request.query.get('userId')
  const name = Object.keys(state.people).find((key) => state.people[key]?.userId === userId)
  if (userId === null || name === undefined) return missing()
  Reflect.deleteProperty(state.people, name)
  state.webhooks.send('USER_DELETED', { userId })
  const detail = 'User queued for deletion; please wait for webhook for confirmation.'
  return ok({ status: 'deleted', detail, userId })
}

function resetUserSecret({ request, state, nowMs }: Exchange): EmulatorReply {
  const body = readObject(request.body)
  const person = Object.values(state.people).find(({ userId }) => userId === body?.userId)
  if (person === undefined || person.userSecret !== body?.userSecret) {
    return refuse(401, '1083', 'Invalid userID or userSecret provided')
  }
  person.userSecret = makeUuid(`secret:${person.userId}:${nowMs}:${person.userSecret}`)
  return ok({ userId: person.userId, userSecret: person.userSecret })
}

const refuseDisabled = () =>
  refuse(402, '3003', 'Unable to sync with brokerage account because the connection is disabled.')

type ConnectionExchange = UserExchange & { readonly connection: SnapTradeConnection }

function disable({ state, person, connection, nowMs }: ConnectionExchange): EmulatorReply {
  if (connection.disabled) return refuse(402, '3011', 'This connection is already disabled.')
  connection.disabled = true
  connection.disabledDate = new Date(nowMs).toISOString()
  state.webhooks.send('CONNECTION_BROKEN', { userId: person.userId, connection })
  return ok({ detail: `Connection ${connection.id} has been disabled` })
}

const refreshPauseMs = 10 * 60_000

function refresh({ connection, nowMs }: ConnectionExchange): EmulatorReply {
  if (connection.disabled) return refuseDisabled()
  if (connection.dataFreshness === 'realtime') {
    return refuse(403, '1141', 'This connection is read at the brokerage on request.')
  }
  if (connection.refreshedAt !== null && nowMs - connection.refreshedAt < refreshPauseMs) {
    const detail = 'Connection refreshed too recently. Please try again later.'
    return refuse(429, 'throttled', detail)
  }
  connection.refreshedAt = nowMs
  return ok({ detail: `Connection ${connection.id} scheduled for refresh` })
}

/** The real one queues the deletion; the sandbox has done it by the time it answers. */
function deleteConnection({ state, person, connection }: ConnectionExchange): EmulatorReply {
  person.connections = person.connections.filter(({ id }) => id !== connection.id)
  state.webhooks.send('CONNECTION_DELETED', { userId: person.userId, connection })
  const detail = 'Connection queued for deletion; please wait for webhook for confirmation.'
  return ok({ detail, connection_id: connection.id })
}

const pageMaximum = 1_000

function listActivities({ request, account, connection }: AccountExchange): EmulatorReply {
  const { query } = request
  const startDate = query.get('startDate')
  const endDate = query.get('endDate')
  for (const [name, day] of Object.entries({ startDate, endDate })) {
    if (day !== null && !isDay(day)) return unverified(`${name} must be YYYY-MM-DD`)
  }
  const offset = readCount(query.get('offset'), 0, 0)
  const limit = readCount(query.get('limit'), pageMaximum, 1)
  if (offset === null || limit === null) return unverified('offset or limit is out of bounds')
  const types = query.get('type')?.split(',')
  const wanted = account.activities.filter(({ tradeDate, type }) => {
    const day = tradeDate?.slice(0, 10) ?? ''
    if (startDate !== null && day < startDate) return false
    if (endDate !== null && day > endDate) return false
    return types === undefined || types.includes(type)
  })
  const size = Math.min(limit, pageMaximum)
  const institution = brokerages[connection.brokerage]?.name ?? connection.brokerage
  return ok({
    data: wanted.slice(offset, offset + size).map((row) => toActivity(row, institution)),
    pagination: { offset, limit: size, total: wanted.length },
  })
}

function isDay(text: string): boolean {
  const real = /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))
  return real && new Date(text).toISOString().startsWith(text)
}

/**
 * A whole number of at least `minimum` within 32 bits, the fallback when absent, null when it is
 * none.
 */
function readCount(text: string | null, fallback: number, minimum: number): number | null {
  if (text === null) return fallback
  const value = /^\d{1,10}$/.test(text) ? Number(text) : -1
  return value >= minimum && value <= 2 ** 31 - 1 ? value : null
}
