/**
 * The setup of the Enable Banking adapter's tests: the real adapter over HTTP against the emulator, with the
 * reports it makes kept for inspection. Whoever asks for one closes it.
 */
import assert from 'node:assert/strict'
import type { PersonPresent } from '#contract/actor.ts'
import { openMemoryKv } from '#fast/memory.ts'
import { type AccountId, type ConnectionId, type LoginId, newId, type UserId } from '#kernel/ids.ts'
import { getZone, toMicros } from '#kernel/time.ts'
import { makeBudget } from '#providers/budget.ts'
import type { Credentials, Identity } from '#providers/credentials.ts'
import { makeDayWindows, makeMemoryCalls } from '#providers/day-windows.ts'
import { enablebankingFacts } from '#providers/enablebanking/facts.ts'
import { makeEnableBanking } from '#providers/enablebanking/index.ts'
import type { Linking, LinkingReturn } from '#providers/linking.ts'
import type {
  AccountRef,
  BankingAdapter,
  CallContext,
  ConnectionRef,
  Login,
  RowsQuery,
} from '#providers/port.ts'
import { makeReadings } from '#providers/readings.ts'
import {
  demoApplication,
  type EnableBankingEmulator,
  startEnableBankingEmulator,
  toSessionId,
} from '#sandbox/enablebanking/index.ts'
import type { BankAccount, BankPerson } from '#sandbox/enablebanking/people.ts'
import { call } from '../walk.ts'

export { background, call, failureOf, walk } from '../walk.ts'

export const startOfTests = Date.parse('2026-11-20T21:15:00.000Z')
export const dayMs = 86_400_000
export const hourMs = 3_600_000
export const helsinki = getZone('Europe/Helsinki')
export const user = newId<UserId>()
export const browser: PersonPresent = {
  address: '203.0.113.7',
  headers: { 'user-agent': 'Mozilla/5.0', accept: 'text/html', 'accept-language': 'fi' },
}
export const press: CallContext = { ...call, person: browser }
export const returnUrl = 'https://money.example/providers/enablebanking/callback'

export interface Ground extends AsyncDisposable {
  readonly server: EnableBankingEmulator
  readonly adapter: BankingAdapter
  readonly clock: { ms: number; now(): number }
  readonly exchanges: string[]
  readonly alerts: string[]
  readonly oddities: string[]
  /** Calls to a bank. */
  readonly bankCalls: () => readonly string[]
}

export interface GroundOptions {
  readonly timeoutMs?: number
  readonly callsPerDay?: number
  /** Absent: the demo's; null: the installation has none. */
  readonly application?: { readonly id: string; readonly privateKey: string } | null
  readonly countries?: readonly string[] | null
  /** How much the adapter's clock is ahead of the provider's. */
  readonly aheadMs?: number
}

export async function makeGround(options: GroundOptions = {}): Promise<Ground> {
  const { timeoutMs = 5000, application = demoApplication, aheadMs = 0 } = options
  const clock = { ms: startOfTests, now: () => clock.ms }
  const own = { now: () => clock.ms + aheadMs }
  const { callsPerDay } = options
  const server = await startEnableBankingEmulator({
    clock,
    ...(callsPerDay === undefined ? {} : { callsPerDay }),
  })
  const kv = openMemoryKv({ clock: own, cacheMaxBytes: 1_000_000, cacheMaxEntryBytes: 100_000 })
  const exchanges: string[] = []
  const alerts: string[] = []
  const oddities: string[] = []
  const readings = makeReadings({
    clock: own,
    leases: kv.leases,
    shared: null,
    onLateFailure: () => undefined,
  })
  const { accountBudget } = enablebankingFacts
  const adapter = makeEnableBanking({
    baseUrl: server.url,
    applicationId: application?.id ?? null,
    privateKey: application?.privateKey ?? null,
    countries: options.countries ?? null,
    timeoutMs,
    clock: own,
    readings,
    accountThrottle: makeBudget({
      windows: makeDayWindows(makeMemoryCalls(), own),
      clock: own,
      name: 'one',
      ...accountBudget,
    }),
    report: {
      exchange: ({ outcome, route }) => void exchanges.push(`${outcome} ${route}`),
      alert: ({ detail }) => void alerts.push(detail),
      oddity: ({ what }) => void oddities.push(what),
    },
  })
  return {
    ...{ server, adapter, clock, exchanges, alerts, oddities },
    bankCalls: () => exchanges.filter((one) => one.includes('/accounts/')),
    async [Symbol.asyncDispose]() {
      await readings.close()
      await adapter.close()
      await kv.close()
      await server.close()
    },
  }
}

export function personOf({ server }: Ground, name: string): BankPerson {
  const person = server.people[name]
  assert.ok(person !== undefined, name)
  return person
}

export function accountOf(ground: Ground, name: string, index = 0): BankAccount {
  const account = personOf(ground, name).accounts[index]
  assert.ok(account !== undefined)
  return account
}

const ids = new Map<string, LoginId>()
let version = 0

export function toLogin(identity: Identity, isOurs = true): Login {
  const id = ids.get(identity.upstreamUserId) ?? newId<LoginId>()
  ids.set(identity.upstreamUserId, id)
  version += 1
  const { upstreamUserId, secret } = identity
  return { id, upstreamUserId, secret, version, isOurs }
}

/** A session that was authorised two hours ago. */
export async function adopt(ground: Ground, name: string): Promise<Login> {
  const session = toSessionId(demoApplication.id, name)
  const credentials: Credentials = { provider: 'enablebanking', session }
  return toLogin(await ground.adapter.identify(credentials, call), false)
}

/** The same, adopted a day before: no call to the bank has been counted or noted since. */
export async function adoptEarlier(ground: Ground, name: string): Promise<Login> {
  ground.clock.ms -= dayMs
  const login = await adopt(ground, name)
  ground.clock.ms += dayMs
  ground.exchanges.length = 0
  return login
}

export function linkingOf({ adapter }: Ground): Linking {
  assert.ok(adapter.linking !== undefined)
  return adapter.linking
}

export interface Visit {
  readonly login?: Login | null
  readonly renews?: ConnectionRef | null
  readonly known?: readonly Login[]
  readonly decision?: string
  /** Who begins it, and with which state. */
  readonly userId?: UserId
  readonly state?: string
  readonly keep?: (secret: string) => Promise<void>
}

/** Through the bank's page and back, as a browser goes. */
export async function visitBank(
  ground: Ground,
  institutionId: string,
  visit: Visit = {},
): Promise<LinkingReturn> {
  const query = await goToBank(ground, institutionId, visit)
  return comeBack(ground, institutionId, query, visit)
}

/** The query with which the bank sends the browser back. */
export async function goToBank(
  ground: Ground,
  institutionId: string,
  visit: Visit = {},
): Promise<URLSearchParams> {
  const { login = null, renews = null, decision = 'agree', userId = user } = visit
  const { state = 'S'.repeat(43) } = visit
  const linking = linkingOf(ground)
  const { address } = await linking.begin(
    {
      user: { userId, email: 'sam@example.com', name: null },
      ...{ login, renews, institutionId, state, returnUrl },
    },
    press,
  )
  const page = new URL(address)
  const form = new URLSearchParams({
    authorization: page.searchParams.get('authorization') ?? '',
    decision,
  })
  const response = await fetch(`${page.origin}${page.pathname}`, {
    method: 'POST',
    redirect: 'manual',
    body: form,
  })
  const back = new URL(response.headers.get('location') ?? '')
  assert.equal(`${back.origin}${back.pathname}`, returnUrl)
  assert.equal(back.searchParams.get('state'), state)
  back.searchParams.delete('state')
  return back.searchParams
}

export function comeBack(
  ground: Ground,
  institutionId: string,
  query: URLSearchParams,
  visit: Visit = {},
): Promise<LinkingReturn> {
  const { login = null, renews = null, known = [], userId = user, state = 'S'.repeat(43) } = visit
  const begun = { state, userId, institutionId }
  const { keep = async () => {} } = visit
  return linkingOf(ground).finish({ login, renews, known, begun, query, returnUrl, keep }, press)
}

/** Linked in a browser just now. */
export async function link(ground: Ground, name: string, visit: Visit = {}): Promise<Login> {
  const { country, name: bank } = personOf(ground, name).bank
  const result = await visitBank(ground, `${country}:${bank}`, visit)
  assert.equal(result.kind, 'agreed')
  assert.ok(result.kind === 'agreed')
  return toLogin(result.identity)
}

/** Our side of the login: its connection and accounts. */
export async function refsOf(ground: Ground, login: Login, as: CallContext = call) {
  const [found] = await ground.adapter.discover(login, as)
  assert.ok(found !== undefined)
  const id = newId<ConnectionId>()
  const connection: ConnectionRef = { id, upstreamId: found.upstreamId, status: 'active' }
  const refs = (found.accounts ?? []).map(
    (account): AccountRef => ({
      id: newId<AccountId>(),
      connectionId: id,
      upstreamId: account.upstreamId,
      name: account.name,
      currency: account.currency ?? 'EUR',
    }),
  )
  return { found, connection, refs }
}

export async function queryFor(
  ground: Ground,
  login: Login,
  { index = 0, ...parts }: Partial<RowsQuery> & { readonly index?: number } = {},
): Promise<RowsQuery> {
  const { connection, refs } = await refsOf(ground, login)
  const account = refs[index]
  assert.ok(account !== undefined)
  const now = ground.clock.now()
  return {
    userId: user,
    login,
    connection,
    accounts: [account],
    scoped: true,
    window: { from: toMicros(now - 30 * dayMs), to: toMicros(now), isOpen: true },
    zone: helsinki,
    ...parts,
  }
}
