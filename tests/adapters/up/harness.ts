/**
 * The setup of the Up adapter's tests: the real adapter over HTTP against the emulator, with the reports it
 * makes kept for inspection. Whoever asks for one closes it.
 */
import assert from 'node:assert/strict'
import { openMemoryKv } from '#fast/memory.ts'
import { type AccountId, type ConnectionId, type LoginId, newId, upstreamId } from '#kernel/ids.ts'
import { getZone, type Micros, parseInstant } from '#kernel/time.ts'
import { type Budget, makeBudget } from '#providers/budget.ts'
import type {
  AccountRef,
  BalanceQuery,
  BankingAdapter,
  ConnectionRef,
  Login,
  RowsQuery,
} from '#providers/port.ts'
import { upFacts } from '#providers/up/facts.ts'
import { makeUp } from '#providers/up/index.ts'
import type { MagicName } from '#sandbox/magic-users.ts'
import { startUpEmulator, toToken, type UpEmulator } from '#sandbox/up/index.ts'
import type { UpAccount, UpPerson, UpRow } from '#sandbox/up/people.ts'
import { makeRow } from '#sandbox/up/rows.ts'

export { background, call, failureOf, rowsOf, walk } from '../walk.ts'

export const startOfTests = Date.parse('2026-11-20T21:15:00.000Z')
export const melbourne = getZone('Australia/Melbourne')
export const always = { from: null, to: null }

export interface Ground extends AsyncDisposable {
  readonly up: UpEmulator
  readonly adapter: BankingAdapter
  readonly clock: { ms: number; now(): number }
  /** What was reported: exchanges as `outcome route`, alerts and oddities by their text. */
  readonly exchanges: string[]
  readonly alerts: string[]
  readonly oddities: string[]
}

/** An emulator of one's own and an adapter that is pointed at it. */
export async function makeGround(
  options: { timeoutMs?: number; requestsPerHour?: number } = {},
): Promise<Ground> {
  const clock = { ms: startOfTests, now: () => clock.ms }
  const { requestsPerHour } = options
  const limits = requestsPerHour === undefined ? {} : { requestsPerHour }
  const up = await startUpEmulator({ clock, ...limits })
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1_000_000, cacheMaxEntryBytes: 100_000 })
  const exchanges: string[] = []
  const alerts: string[] = []
  const oddities: string[] = []
  const throttle: Budget = makeBudget({
    windows: kv.budgets,
    clock,
    name: 'up',
    ...upFacts.budget,
  })
  const adapter = makeUp({
    baseUrl: up.baseUrl,
    timeoutMs: options.timeoutMs ?? 5_000,
    clock,
    throttle,
    report: {
      exchange: ({ outcome, route }) => void exchanges.push(`${outcome} ${route}`),
      alert: ({ detail }) => void alerts.push(detail),
      oddity: ({ what }) => void oddities.push(what),
    },
  })
  return {
    up,
    adapter,
    clock,
    exchanges,
    alerts,
    oddities,
    async [Symbol.asyncDispose]() {
      await adapter.close()
      await kv.close()
      await up.close()
    },
  }
}

export function personOf(ground: Ground, name: MagicName): UpPerson {
  const person = ground.up.people[name]
  assert.ok(person !== undefined, name)
  return person
}

export function loginFor(ground: Ground, name: MagicName): Login {
  return {
    id: newId<LoginId>(),
    upstreamUserId: personOf(ground, name).customerId,
    secret: toToken(name),
    version: 1,
  }
}

/** Our side of a person: the connection and its accounts. */
export function connectionOf(
  person: UpPerson,
  accounts: readonly UpAccount[] = person.accounts.filter(({ isClosed }) => !isClosed),
): { readonly connection: ConnectionRef; readonly refs: readonly AccountRef[] } {
  const id = newId<ConnectionId>()
  return {
    connection: { id, upstreamId: upstreamId(person.customerId), status: 'active' },
    refs: accounts.map((account) => ({
      id: newId<AccountId>(),
      connectionId: id,
      upstreamId: upstreamId(account.id),
      name: account.displayName,
      currency: account.currency,
    })),
  }
}

export function balanceQuery(ground: Ground, name: MagicName): BalanceQuery {
  const { connection, refs } = connectionOf(personOf(ground, name))
  const accounts = refs.map((account) => ({ account, connection }))
  return { login: loginFor(ground, name), accounts }
}

export function micros(text: string): Micros {
  const instant = parseInstant(text)
  assert.ok(instant !== null, text)
  return instant
}

/** The first account of a person; every person has one. */
export function firstAccount(ground: Ground, name: MagicName): UpAccount {
  const account = personOf(ground, name).accounts[0]
  assert.ok(account)
  return account
}

/** A query for one account alone, for all time unless told otherwise. */
export function scopedQuery(
  ground: Ground,
  name: MagicName,
  parts: Partial<RowsQuery> = {},
): RowsQuery {
  const { connection, refs } = connectionOf(personOf(ground, name), [firstAccount(ground, name)])
  return {
    userId: newId(),
    login: loginFor(ground, name),
    connection,
    accounts: refs,
    scoped: true,
    window: always,
    zone: melbourne,
    ...parts,
  }
}

/** The account of a person with nothing else, with these rows only. */
export function withRows(ground: Ground, rows: readonly (Partial<UpRow> & { id: string })[]) {
  const account = firstAccount(ground, 'mfa')
  delete account.growth
  account.rows = rows.map((row) => makeRow({ createdAt: startOfTests - 86_400_000, ...row }))
  return account
}

/** The query for that account. */
export const plantedQuery = (ground: Ground, parts: Partial<RowsQuery> = {}) =>
  scopedQuery(ground, 'mfa', parts)
