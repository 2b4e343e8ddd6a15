/**
 * Every reading that asks a provider, each with the emulator it ends at, so that a fault is tried on all of
 * them in one go. It uses the REST API, and defines the answers for a failing provider; it breaks nothing
 * itself.
 */
import assert from 'node:assert/strict'
import type { Emulator, EmulatorRequest, Misbehaviour } from '#sandbox/emulator.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { type Answer, codeOf, type Service, type ServiceUser } from '#tests/support/service.ts'

export interface Reading {
  readonly name: string
  readonly provider: ConnectionRow['provider']
  readonly emulator: Emulator
  readonly connection: ConnectionRow
  /** The requests to the provider that carry its data. */
  readonly when: (request: EmulatorRequest) => boolean
  /** Of a query that was not made before. */
  nextPath(): string
  /** Whether the failure is answered with nulls in a 200 (balances) or with a 503. */
  readonly tellsNulls: boolean
}

export interface Setting {
  readonly user: ServiceUser
  readonly readings: readonly Reading[]
  /** Breaks the data of every reading. */
  breakAll(does: Misbehaviour, times?: number): void
  /** Mends all emulators; breakers, caches and windows of before are over. */
  mend(): void
  statuses(): Promise<readonly string[]>
}

/** Longer than any breaker, cache and window lives. */
const aWhileMs = 3_800_000

/** A user who has linked the healthy person at every provider. */
export async function makeSetting(service: Service): Promise<Setting> {
  const user = await service.createUser()
  await service.link(user, 'healthy')
  const { fiskil, akahu, snaptrade, up } = service.sandbox
  const accounts = await service.accounts(user)
  const of = (name: string) => {
    const account = accounts.find((row) => row.name === name)
    assert(account !== undefined, `no account is called ${name}`)
    return account
  }
  const broker = accounts.find((row) => row.provider === 'snaptrade')
  assert(broker !== undefined)
  const parts = [
    { emulator: fiskil, account: of('Everyday'), kind: 'transactions' },
    { emulator: akahu, account: of('Rainy Day'), kind: 'transactions' },
    { emulator: up, account: of('🌧 Rainy Day'), kind: 'transactions' },
    { emulator: fiskil, account: of('Everyday'), kind: 'balances' },
    { emulator: akahu, account: of('Rainy Day'), kind: 'balances' },
    { emulator: up, account: of('🌧 Rainy Day'), kind: 'balances' },
    { emulator: snaptrade, account: broker, kind: 'holdings' },
    { emulator: snaptrade, account: broker, kind: 'trades' },
  ] as const
  const readings = await Promise.all(parts.map((part) => makeReading(service, part)))
  return {
    user,
    readings,
    breakAll(does, times) {
      for (const { emulator, when } of readings)
        emulator.addFault({ when, does, ...(times === undefined ? {} : { times }) })
    },
    mend() {
      for (const emulator of [fiskil, akahu, snaptrade, up]) emulator.clearFaults()
      service.clock.advance(aWhileMs)
    },
    statuses: async () =>
      (await service.app.store.connections.list(user.id)).map(({ status }) => status),
  }
}

type Kind = 'transactions' | 'balances' | 'holdings' | 'trades'

/** The last part of the provider's path. */
const upstreamPaths: Readonly<Record<`${string} ${Kind}`, RegExp>> = {
  'fiskil transactions': /\/banking\/transactions$/,
  'fiskil balances': /\/banking\/balances$/,
  'akahu transactions': /\/transactions$/,
  'akahu balances': /\/accounts$/,
  'up transactions': /\/accounts\/[^/]+\/transactions$/,
  'up balances': /\/accounts$/,
  'snaptrade holdings': /\/positions\/all$/,
  'snaptrade trades': /\/activities$/,
}

let queries = 0

async function makeReading(
  service: Service,
  part: { readonly emulator: Emulator; readonly account: AccountRow; readonly kind: Kind },
): Promise<Reading> {
  const { emulator, account, kind } = part
  const connection = await service.app.store.connections.find(account.connectionId)
  assert(connection !== null)
  const name = `${account.provider} ${kind}` as const
  const base =
    kind === 'balances'
      ? `/v1/balances?accountIds=${account.id}`
      : `/v1/${kind}?connectionId=${connection.id}&accountId=${account.id}`
  return {
    name,
    provider: account.provider,
    emulator,
    connection,
    when: ({ path }) => upstreamPaths[name]?.test(path) === true,
    nextPath() {
      queries += 1
      // Unknown parameters make another query; only other dates make another walk.
      const isWalk = kind === 'transactions' || kind === 'trades'
      const from = `2026-10-01T00:00:00.${String(queries).padStart(6, '0')}Z`
      return isWalk ? `${base}&from=${from}` : `${base}&n=${queries}`
    },
    tellsNulls: kind === 'balances',
  }
}

/** What a provider that cannot be read looks like: never an empty list, never cached (reading R20). */
export function assertSick(reading: Reading, answer: Answer, retryAfter = 30): void {
  const { name } = reading
  assert.equal(answer.headers['x-cache'], 'MISS', name)
  if (reading.tellsNulls) {
    assert.equal(answer.status, 200, `${name}: ${answer.text}`)
    const [{ currentBalance, availableBalance, currency }] = answer.body.data
    assert.deepEqual([currentBalance, availableBalance, currency], [null, null, null], name)
    return
  }
  assert.equal(answer.status, 503, `${name}: ${answer.text}`)
  assert.equal(codeOf(answer), undefined, name)
  assert.equal(answer.headers['retry-after'], String(retryAfter), name)
}

/** A 200 with rows, or with balances that are not null. */
export function assertWell(reading: Reading, answer: Answer): void {
  assert.equal(answer.status, 200, `${reading.name}: ${answer.text}`)
  assert.ok(answer.body.data.length > 0, reading.name)
  if (reading.tellsNulls) assert.notEqual(answer.body.data[0].currentBalance, null, reading.name)
}
