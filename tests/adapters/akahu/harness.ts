/**
 * The setup of the Akahu adapter's tests: the real adapter over HTTP against the emulator, with the reports
 * it makes kept for inspection. Whoever asks for one closes it.
 */
import assert from 'node:assert/strict'
import { type AccountId, type ConnectionId, type LoginId, newId, upstreamId } from '#kernel/ids.ts'
import { getZone, type Micros, parseInstant, toMicros } from '#kernel/time.ts'
import { makeAkahu } from '#providers/akahu/index.ts'
import type {
  AccountRef,
  BankingAdapter,
  ConnectionRef,
  Login,
  RowsQuery,
} from '#providers/port.ts'
import {
  type AkahuEmulator,
  demoApp,
  demoUserTokens,
  startAkahuEmulator,
} from '#sandbox/akahu/emulator.ts'
import { type AkahuAccount, type AkahuRow, loginOf } from '#sandbox/akahu/people.ts'

export { call, failureOf, rowsOf, walk } from '../walk.ts'

export const now = Date.parse('2026-11-20T21:15:00.000Z')
const sydney = getZone('Australia/Sydney')

export interface Ground extends AsyncDisposable {
  readonly akahu: AkahuEmulator
  readonly adapter: BankingAdapter
  /** What was reported: exchanges as `outcome route`, alerts and oddities by their text. */
  readonly exchanges: string[]
  readonly alerts: string[]
  readonly oddities: string[]
}

/** An emulator of one's own and an adapter that is pointed at it. */
export async function makeGround(
  options: { timeoutMs?: number; appToken?: string | null; appSecret?: string | null } = {},
): Promise<Ground> {
  const clock = { now: () => now }
  const akahu = await startAkahuEmulator({ clock })
  const exchanges: string[] = []
  const alerts: string[] = []
  const oddities: string[] = []
  const adapter = makeAkahu({
    baseUrl: akahu.baseUrl,
    oauthUrl: akahu.oauthUrl,
    appToken: options.appToken === undefined ? demoApp.appToken : options.appToken,
    appSecret: options.appSecret === undefined ? demoApp.appSecret : options.appSecret,
    timeoutMs: options.timeoutMs ?? 5_000,
    clock,
    report: {
      exchange: ({ outcome, route }) => void exchanges.push(`${outcome} ${route}`),
      alert: ({ detail }) => void alerts.push(detail),
      oddity: ({ what }) => void oddities.push(what),
    },
  })
  return {
    akahu,
    adapter,
    exchanges,
    alerts,
    oddities,
    async [Symbol.asyncDispose]() {
      await adapter.close()
      await akahu.close()
    },
  }
}

export function loginFor(name: keyof typeof demoUserTokens): Login {
  return {
    id: newId<LoginId>(),
    upstreamUserId: `user of ${name}`,
    secret: demoUserTokens[name],
    version: 1,
  }
}

/** Our side of one login of a person: its connection and its accounts. */
export function connectionOf(accounts: readonly AkahuAccount[]): {
  connection: ConnectionRef
  refs: readonly AccountRef[]
} {
  const login = accounts[0] === undefined ? undefined : loginOf(accounts[0])
  assert.ok(login !== undefined)
  const id = newId<ConnectionId>()
  return {
    connection: { id, upstreamId: upstreamId(login), status: 'active' },
    refs: accounts
      .filter((account) => loginOf(account) === login)
      .map((account) => ({
        id: newId<AccountId>(),
        connectionId: id,
        upstreamId: upstreamId(account._id),
        name: account.name,
        currency: account.balance?.currency ?? 'NZD',
      })),
  }
}

export function micros(text: string): Micros {
  const instant = parseInstant(text)
  assert.ok(instant !== null, text)
  return instant
}

/** The first account of a person; every person has one. */
export function firstAccount(ground: Ground, name: keyof typeof demoUserTokens): AkahuAccount {
  const account = ground.akahu.people[name].accounts[0]
  assert.ok(account)
  return account
}

/** A query for one account alone, for the last 30 days by default. */
export function scopedQuery(
  name: keyof typeof demoUserTokens,
  account: AkahuAccount,
  parts: Partial<RowsQuery> = {},
): RowsQuery {
  const { connection, refs } = connectionOf([account])
  return {
    userId: newId(),
    login: loginFor(name),
    connection,
    accounts: refs,
    scoped: true,
    window: { from: toMicros(now - 30 * 86_400_000), to: toMicros(now) },
    zone: sydney,
    ...parts,
  }
}

/** A row that is like any other, for what a test is about. */
export function makeRow(parts: Partial<AkahuRow> & Pick<AkahuRow, '_id'>): AkahuRow {
  const date = '2026-11-18T11:00:00.000Z'
  return {
    created_at: date,
    updated_at: date,
    date,
    description: 'A ROW',
    amount: '-1.00',
    type: 'EFTPOS',
    ...parts,
  }
}

/** An account with the given rows only. */
export function withRows(ground: Ground, rows: AkahuRow[]) {
  const account = firstAccount(ground, 'history')
  account.rows = rows
  return account
}
