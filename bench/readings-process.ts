/**
 * The adapters of SimpleFIN and Enable Banking, without a service around them. Argument: the facts of
 * `readings-provider.ts` as JSON. A GET of `/simplefin` or `/enablebanking` opens every page of the person's
 * account and makes the first 500 rows; below `/anew` it reads them from the provider first.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openMemoryKv } from '#fast/memory.ts'
import { type AccountId, type ConnectionId, type LoginId, newId, type UserId } from '#kernel/ids.ts'
import { getZone, systemClock, toMicros } from '#kernel/time.ts'
import { makeBudget } from '#providers/budget.ts'
import { makeEnableBanking } from '#providers/enablebanking/index.ts'
import type { BankingAdapter, CallContext, RowsQuery } from '#providers/port.ts'
import { makeReadings } from '#providers/readings.ts'
import { makeSimplefin } from '#providers/simplefin/index.ts'
import type { ReadingsFacts } from './readings-provider.ts'
import { serveChild } from './serve.ts'

const facts: ReadingsFacts = JSON.parse(process.argv[2] ?? '{}')
const clock = systemClock
const shown = 500
const days = 89
const dayMs = 86_400_000
const call: CallContext = { signal: new AbortController().signal, priority: 'user' }
const kv = openMemoryKv({ clock, cacheMaxBytes: 1_000_000, cacheMaxEntryBytes: 100_000 })
const readings = makeReadings({
  clock,
  leases: kv.leases,
  shared: null,
  onLateFailure(error) {
    throw error
  },
})
const throttle = makeBudget({
  windows: kv.budgets,
  clock,
  name: 'bench',
  calls: 1_000_000,
  reserve: 0,
  windowMs: dayMs,
})
const throttles = { throttle, accountThrottle: throttle }
const report = { exchange: () => {}, alert: () => {}, oddity: () => {} }
const shared = { timeoutMs: 20_000, clock, readings, report, ...throttles }
const { application } = facts.enablebanking
const adapters: Readonly<Record<string, BankingAdapter>> = {
  simplefin: makeSimplefin({ ...shared, baseUrl: facts.simplefin.baseUrl, allowPrivate: true }),
  enablebanking: makeEnableBanking({
    ...shared,
    baseUrl: facts.enablebanking.url,
    applicationId: application.id,
    privateKey: application.privateKey,
    countries: null,
  }),
}

async function makeQuery(adapter: BankingAdapter): Promise<RowsQuery> {
  const { simplefin, enablebanking } = facts
  const { upstreamUserId, secret } = await adapter.identify(
    adapter.provider === 'simplefin'
      ? { provider: 'simplefin', setupToken: simplefin.accessUrl }
      : { provider: 'enablebanking', session: enablebanking.session },
    call,
  )
  const login = {
    id: newId<LoginId>(),
    userId: benchUser,
    upstreamUserId,
    secret,
    version: 1,
    isOurs: false,
  }
  const [found] = await adapter.discover(login, call)
  if (found === undefined) throw new Error(`${adapter.provider} has no bank`)
  const connection = { id: newId<ConnectionId>(), upstreamId: found.upstreamId, status: 'active' }
  const now = clock.now()
  return {
    userId: benchUser,
    login,
    connection: { ...connection, status: 'active' },
    accounts: (found.accounts ?? []).map(({ upstreamId, name }) => ({
      ...{ id: newId<AccountId>(), connectionId: connection.id, upstreamId, name },
      currency: 'EUR',
    })),
    scoped: false,
    window: { from: toMicros(now - days * dayMs), to: toMicros(now), isOpen: true },
    zone: getZone('UTC'),
  }
}

const benchUser = newId<UserId>()
const queries = new Map<string, RowsQuery>()
for (const [name, adapter] of Object.entries(adapters)) queries.set(name, await makeQuery(adapter))

/** @returns the number of rows. */
async function readAll(name: string): Promise<number> {
  const [adapter, query] = [adapters[name], queries.get(name)]
  if (adapter === undefined || query === undefined) throw new Error(`there is no ${name}`)
  let rows = 0
  for (let cursor: string | null = null; ; ) {
    const page = await adapter.transactions.read(query, cursor, call)
    for (let index = 0; index < page.length; index += 1) {
      page.head(index)
      if (rows < shown) page.map(index)
      rows += 1
    }
    if (page.next === null) return rows
    cursor = page.next
  }
}

async function answer(name: string, isAnew: boolean): Promise<number> {
  const secret = queries.get(name)?.login.secret ?? null
  if (isAnew) await readings.forget({ userId: benchUser, secret })
  return readAll(name)
}

const server = createServer((request, response) => {
  const [, name = '', how] = (request.url ?? '').split('/')
  answer(name, how === 'anew').then(
    (rows) => response.end(String(rows)),
    (error: unknown) => {
      console.error(error)
      response.destroy()
    },
  )
})
server.listen(0, '127.0.0.1', () => serveChild({ port: (server.address() as AddressInfo).port }))
