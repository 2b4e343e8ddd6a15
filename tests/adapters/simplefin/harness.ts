/**
 * The setup of the SimpleFIN adapter's tests: the real adapter over HTTP against the emulator, with the
 * reports it makes kept for inspection. Whoever asks for one closes it.
 */
import assert from 'node:assert/strict'
import { openMemoryKv } from '#fast/memory.ts'
import {
  type AccountId,
  type ConnectionId,
  type LoginId,
  newId,
  type UserId,
  upstreamId,
} from '#kernel/ids.ts'
import { getZone, toMicros } from '#kernel/time.ts'
import { makeBudget } from '#providers/budget.ts'
import { makeDayWindows, makeMemoryCalls } from '#providers/day-windows.ts'
import type {
  AccountRef,
  BankingAdapter,
  ConnectionRef,
  Login,
  RowsQuery,
} from '#providers/port.ts'
import { makeReadings } from '#providers/readings.ts'
import { simplefinFacts } from '#providers/simplefin/facts.ts'
import { makeSimplefin } from '#providers/simplefin/index.ts'
import {
  type SimplefinEmulator,
  startSimplefinEmulator,
  toAccessUrl,
} from '#sandbox/simplefin/index.ts'
import type {
  SimplefinAccount,
  SimplefinConnection,
  SimplefinPerson,
} from '#sandbox/simplefin/people.ts'

export { background, call, failureOf, walk } from '../walk.ts'

export const startOfTests = Date.parse('2026-11-20T21:15:00.000Z')
export const dayMs = 86_400_000
export const newYork = getZone('America/New_York')
export const user = newId<UserId>()

export interface Ground extends AsyncDisposable {
  readonly server: SimplefinEmulator
  readonly adapter: BankingAdapter
  readonly clock: { ms: number; now(): number }
  readonly exchanges: string[]
  readonly alerts: string[]
  readonly oddities: string[]
  /** True while another process reads every reading. */
  isReadElsewhere: boolean
}

export async function makeGround(
  options: { timeoutMs?: number; requestsPerDay?: number; allowPrivate?: boolean } = {},
): Promise<Ground> {
  const clock = { ms: startOfTests, now: () => clock.ms }
  const { timeoutMs = 5000, allowPrivate = true, ...limits } = options
  const server = await startSimplefinEmulator({ clock, ...limits })
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1_000_000, cacheMaxEntryBytes: 100_000 })
  const exchanges: string[] = []
  const alerts: string[] = []
  const oddities: string[] = []
  const readings = makeReadings({
    clock,
    leases: {
      acquire: (key, limit) =>
        ground.isReadElsewhere ? { lease: null, retryMs: 10 } : kv.leases.acquire(key, limit),
    },
    shared: null,
    onLateFailure: () => undefined,
  })
  const { budget, accountBudget } = simplefinFacts
  const days = makeDayWindows(makeMemoryCalls(), clock)
  const adapter = makeSimplefin({
    baseUrl: server.baseUrl,
    allowPrivate,
    timeoutMs,
    clock,
    readings,
    throttle: makeBudget({ windows: days, clock, name: 'all', ...budget }),
    accountThrottle: makeBudget({ windows: days, clock, name: 'one', ...accountBudget }),
    report: {
      exchange: ({ outcome, route }) => void exchanges.push(`${outcome} ${route}`),
      alert: ({ detail }) => void alerts.push(detail),
      oddity: ({ what }) => void oddities.push(what),
    },
  })
  const ground: Ground = {
    server,
    adapter,
    clock,
    exchanges,
    alerts,
    oddities,
    isReadElsewhere: false,
    async [Symbol.asyncDispose]() {
      await readings.close()
      await adapter.close()
      await kv.close()
      await server.close()
    },
  }
  return ground
}

export function personOf({ server }: Ground, name: string): SimplefinPerson {
  const person = server.people[name]
  assert.ok(person !== undefined, name)
  return person
}

export function bankOf(ground: Ground, name: string, index = 0): SimplefinConnection {
  const bank = personOf(ground, name).connections[index]
  assert.ok(bank !== undefined)
  return bank
}

export function accountOf(ground: Ground, name: string, index = 0): SimplefinAccount {
  const account = bankOf(ground, name).accounts[index]
  assert.ok(account !== undefined)
  return account
}

/** Each has a secret of its own, so that none has the readings of another. */
export function loginFor({ server }: Ground, name: string): Login {
  const id = newId<LoginId>()
  const secret = JSON.stringify({ accessUrl: toAccessUrl(server.baseUrl, name), claim: id })
  return { id, upstreamUserId: name, secret, version: 1 }
}

/** The same access, claimed by another token. */
export const claimedAgain = (login: Login): Login => {
  const claim = newId<LoginId>()
  return { ...login, secret: JSON.stringify({ ...JSON.parse(login.secret ?? ''), claim }) }
}

/** Our side of a bank: the connection and its accounts, which keep their ids over re-issued ones. */
export function refsOf(bank: SimplefinConnection) {
  const id = newId<ConnectionId>()
  const connection: ConnectionRef = {
    id,
    upstreamId: upstreamId(bank.connId),
    status: 'active',
  }
  const refs = bank.accounts.map(
    (account): AccountRef => ({
      id: newId<AccountId>(),
      connectionId: id,
      upstreamId: upstreamId(account.id),
      name: account.name,
      currency: 'USD',
    }),
  )
  return { connection, refs }
}

/** The rows of all accounts of a person's first bank in the last days, as a sync asks for them. */
export function queryFor(ground: Ground, name: string, parts: Partial<RowsQuery> = {}): RowsQuery {
  const { connection, refs } = refsOf(bankOf(ground, name))
  const now = ground.clock.now()
  return {
    userId: user,
    login: loginFor(ground, name),
    connection,
    accounts: refs,
    scoped: false,
    window: { from: toMicros(now - 30 * dayMs), to: toMicros(now), isOpen: true },
    zone: newYork,
    ...parts,
  }
}
