/**
 * The emulator and the real adapter side by side, with a fixed clock and a recorded
 * report. It asserts nothing.
 */
import { createHmac } from 'node:crypto'
import { newId, upstreamId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import { getZone } from '#kernel/time.ts'
import type {
  AccountRef,
  BrokerageAdapter,
  CallContext,
  ConnectionRef,
  Login,
  RowsQuery,
  TradePage,
  UpstreamReport,
} from '#providers/port.ts'
import { makeSnapTrade, type SnapTradeOptions } from '#providers/snaptrade/index.ts'
import {
  demoPersonalKey,
  type SnapTradeAccount,
  type SnapTradeConnection,
  type SnapTradeEmulator,
  type SnapTradeEmulatorOptions,
  type SnapTradePerson,
  startSnapTradeEmulator,
} from '#sandbox/snaptrade/index.ts'

export { failureOf } from '../walk.ts'

export const now = Date.parse('2026-11-20T03:15:00Z')

export interface Recorded {
  exchanges: Parameters<UpstreamReport['exchange']>[0][]
  alerts: string[]
  oddities: string[]
}

export interface Harness extends AsyncDisposable {
  readonly emulator: SnapTradeEmulator
  readonly adapter: BrokerageAdapter
  readonly recorded: Recorded
  readonly clock: Clock & { ms: number }
}

export async function startHarness(
  options: Partial<SnapTradeOptions> & Partial<SnapTradeEmulatorOptions> = {},
): Promise<Harness> {
  const clock = { ms: now, now: () => clock.ms }
  const emulator = await startSnapTradeEmulator({ clock, ...options })
  const recorded: Recorded = { exchanges: [], alerts: [], oddities: [] }
  const adapter = makeSnapTrade({
    baseUrl: emulator.url,
    clientId: emulator.credentials.clientId,
    consumerKey: emulator.credentials.consumerKey,
    keyKind: 'commercial',
    timeoutMs: 5_000,
    clock,
    report: {
      exchange: (event) => recorded.exchanges.push(event),
      alert: (event) => recorded.alerts.push(event.detail),
      oddity: (event) => recorded.oddities.push(event.what),
    },
    throttle: () => Promise.resolve({ allowed: true }),
    accountThrottle: () => Promise.resolve({ allowed: true }),
    ...options,
  })
  return {
    emulator,
    adapter,
    recorded,
    clock,
    async [Symbol.asyncDispose]() {
      await adapter.close()
      await emulator.close()
    },
  }
}

export const call = (signal = new AbortController().signal): CallContext => ({
  signal,
  priority: 'user',
})

/** Of a person with a personal key: the login that brought the key. */
export function loginOf(person: SnapTradePerson): Login {
  const { userId, userSecret, personalKey } = person
  const secret = personalKey === undefined ? userSecret : `personal-key ${personalKey.consumerKey}`
  return { id: newId(), upstreamUserId: userId, secret, version: 1 }
}

/** What an adapter is given whose variables have the personal key of the emulator. */
export const personalSettings = { ...demoPersonalKey, keyKind: 'personal' } as const
/** What an adapter is given without variables. */
export const noSettings = { clientId: null, consumerKey: null } as const

export function connectionRef(connection: SnapTradeConnection): ConnectionRef {
  return { id: newId(), upstreamId: upstreamId(connection.id), status: 'active' }
}

export function accountRef(account: SnapTradeAccount, connection: ConnectionRef): AccountRef {
  return {
    id: newId(),
    connectionId: connection.id,
    upstreamId: upstreamId(account.id),
    name: account.name ?? 'Unnamed',
    currency: account.total?.currency ?? 'USD',
  }
}

/** Everything needed to read one account of a person. */
export function aim(person: SnapTradePerson, connectionIndex = 0, accountIndex = 0) {
  const connection = person.connections[connectionIndex]
  const account = connection?.accounts[accountIndex]
  if (connection === undefined || account === undefined) throw new Error('no such account')
  const ref = connectionRef(connection)
  const reference = accountRef(account, ref)
  const login = loginOf(person)
  const query: RowsQuery = {
    userId: newId(),
    login,
    connection: ref,
    accounts: [reference],
    scoped: true,
    window: { from: null, to: null },
    zone: getZone('Australia/Sydney'),
  }
  const holdings = { login, connection: ref, account: reference }
  return { login, connection, account, ref, reference, query, holdings }
}

/** Reads every page, one after another. */
export async function readPages(
  adapter: BrokerageAdapter,
  query: RowsQuery,
  cursor: string | null = null,
): Promise<TradePage[]> {
  const pages: TradePage[] = []
  let at = cursor
  do {
    const page = await adapter.trades.read(query, at, call())
    pages.push(page)
    at = page.next
  } while (at !== null && pages.length < 100)
  return pages
}

/**
 * Asks the emulator as the documentation says, by code of its own; `tamper` spoils the request
 * before it is sent.
 */
export async function ask(
  emulator: SnapTradeEmulator,
  target: string,
  options: {
    readonly method?: string
    readonly person?: SnapTradePerson
    readonly body?: object
    readonly timestamp?: string
    readonly tamper?: (signature: string) => string
  } = {},
): Promise<Response> {
  const [path = '', more = ''] = target.split('?')
  const { person } = options
  const { clientId, consumerKey } = person?.personalKey ?? emulator.credentials
  const user =
    person === undefined || person.personalKey !== undefined
      ? []
      : [`userId=${person.userId}`, `userSecret=${person.userSecret}`]
  const timestamp = options.timestamp ?? String(Math.floor(now / 1000))
  const query = [
    `clientId=${clientId}`,
    `timestamp=${timestamp}`,
    ...user,
    ...(more === '' ? [] : [more]),
  ].join('&')
  const sorted = Object.entries(options.body ?? {}).sort(([left], [right]) =>
    left < right ? -1 : 1,
  )
  const content = options.body === undefined ? null : Object.fromEntries(sorted)
  const message = JSON.stringify({ content, path, query })
  const signature = createHmac('sha256', consumerKey).update(message).digest('base64')
  return fetch(`${emulator.url}${path}?${query}`, {
    method: options.method ?? 'GET',
    headers: { signature: options.tamper?.(signature) ?? signature },
    redirect: 'manual',
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  })
}
