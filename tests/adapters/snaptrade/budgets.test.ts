/**
 * Our own budgets under SnapTrade's limits: of a key, and of each account under a personal key. Two adapters
 * over one window store are two processes.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openMemoryKv } from '#fast/memory.ts'
import type { WindowStore } from '#fast/port.ts'
import { type Budget, makeBudget } from '#providers/budget.ts'
import { snaptradeFacts } from '#providers/snaptrade/facts.ts'
import { makeSnapTrade } from '#providers/snaptrade/index.ts'
import { demoCredentials } from '#sandbox/snaptrade/index.ts'
import {
  aim,
  call,
  failureOf,
  type Harness,
  loginOf,
  noSettings,
  now,
  readPages,
  startHarness,
} from './harness.ts'

const { budget, accountBudget } = snaptradeFacts
const background = { ...call(), priority: 'background' } as const

interface Side extends Harness {
  readonly windows: WindowStore
}

/** An adapter with the real budgets, whose windows end as the test's clock says. */
async function startSide(t: TestContext): Promise<Side> {
  const clock = { ms: now, now: () => clock.ms }
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1_000_000, cacheMaxEntryBytes: 100_000 })
  const windows = kv.budgets
  const harness = await startHarness({ ...makeBudgets(windows, clock), clock, ...noSettings })
  t.after(async () => {
    await harness[Symbol.asyncDispose]()
    await kv.close()
  })
  return { ...harness, clock, windows }
}

/** As the composition root makes them. */
function makeBudgets(windows: WindowStore, clock: { now(): number }) {
  const make = (name: string, limits: typeof budget | typeof accountBudget): Budget =>
    makeBudget({ windows, clock, name, ...limits })
  return {
    throttle: make('snaptrade', budget),
    accountThrottle: make('snaptrade-account', accountBudget),
  }
}

const readHoldings = ({ adapter, emulator }: Side, accountIndex = 0, context = call()) =>
  adapter.holdings(aim(emulator.people.personal, 0, accountIndex).holdings, context)

test('nine calls a minute about an account are made, the tenth is refused with the time until the next minute', async (t) => {
  const side = await startSide(t)
  for (let count = 0; count < 9; count += 1) await readHoldings(side)
  side.clock.ms += 20_000
  const failure = await failureOf(readHoldings(side))
  assert.deepEqual(failure, {
    kind: 'throttled',
    retryAfterSeconds: 40,
    detail: 'our own budget of SnapTrade requests for this account is used up',
    isOwnBudget: true,
  })
  assert.equal(side.emulator.requests.length, 9)
  // Another account, and the lists, are not affected.
  await readHoldings(side, 1)
  await side.adapter.listAlive?.(loginOf(side.emulator.people.personal), call())
  side.clock.ms += 40_000
  await readHoldings(side)
})

test('two processes over one window store make nine calls together', async (t) => {
  const side = await startSide(t)
  const { clock, emulator, windows } = side
  const other = makeSnapTrade({
    baseUrl: emulator.url,
    ...noSettings,
    keyKind: 'commercial',
    timeoutMs: 5_000,
    clock,
    report: { exchange() {}, alert() {}, oddity() {} },
    ...makeBudgets(windows, clock),
  })
  t.after(() => other.close())
  const second = { ...side, adapter: other }
  const attempts = Array.from({ length: 14 }, (_, index) =>
    readHoldings(index % 2 === 0 ? side : second).then(
      () => 'made',
      () => 'refused',
    ),
  )
  const outcomes = await Promise.all(attempts)
  assert.equal(outcomes.filter((outcome) => outcome === 'made').length, 9)
  assert.equal(emulator.requests.length, 9)
})

test('background work leaves two calls of an account to people', async (t) => {
  const side = await startSide(t)
  // Refused at once, so that the test need not wait for the next minute.
  const impatient = { ...background, signal: AbortSignal.timeout(200) }
  for (let count = 0; count < 7; count += 1) await readHoldings(side, 0, background)
  await assert.rejects(readHoldings(side, 0, impatient), { name: 'TimeoutError' })
  await readHoldings(side)
  await readHoldings(side)
  assert.equal((await failureOf(readHoldings(side))).kind, 'throttled')
})

test('a sync that needs more calls than a minute has waits for the next minute', async (t) => {
  const side = await startSide(t)
  const { query } = aim(side.emulator.people.personal, 2)
  assert.equal((await readPages(side.adapter, query)).length, 6)
  // Two of the nine are the reserve: one is left for background work.
  await side.adapter.trades.read(query, null, background)
  setTimeout(() => {
    side.clock.ms += 60_000
  }, 100)
  side.clock.ms += 59_500
  const page = await side.adapter.trades.read(query, null, background)
  assert.equal(page.total, 5400)
  assert.equal(side.emulator.requests.length, 8)
})

test('each personal key has 200 calls of its own, and none of them is a commercial key’s', async (t) => {
  const side = await startSide(t)
  const { adapter, emulator, windows } = side
  const login = loginOf(emulator.people.personal)
  const list = () => adapter.listAlive?.(login, call()) ?? []
  await list()
  const { throttle } = makeBudgets(windows, side.clock)
  // The budget of the commercial key, which is not named, is used up.
  for (let count = 0; count < 200; count += 1) await throttle(call())
  assert.equal((await throttle(call())).allowed, false)
  await list()
  for (let count = 2; count < 200; count += 1) await list()
  const failure = await failureOf(Promise.resolve().then(list))
  assert.match(failure.detail, /for this key is used up$/)
  const stranger = { ...login, upstreamUserId: 'SOMEONE', secret: 'personal-key x' }
  assert.equal((await failureOf(adapter.discover(stranger, call()))).kind, 'consent_lost')
})

test('the keys of fast state reveal neither client id nor account', async (t) => {
  const side = await startSide(t)
  const names: string[] = []
  const note: Budget = async (_call, of = '') => {
    names.push(of)
    return { allowed: true }
  }
  await using harness = await startHarness({ throttle: note, accountThrottle: note })
  const { personal, healthy } = harness.emulator.people
  await harness.adapter.holdings(aim(personal).holdings, call())
  await harness.adapter.holdings(aim(healthy).holdings, call())
  assert.equal(names.length, 3)
  assert.deepEqual(
    names.map((name) => /^[0-9a-f]{32}$/.test(name)),
    [true, true, false],
  )
  assert.equal(names[2], '')
  assert.notEqual(names[0], names[1])
  await side.adapter.probe?.(call())
})

test('a 429 of an account is honoured, under a commercial key too', async () => {
  for (const settings of [noSettings, demoCredentials]) {
    await using harness = await startHarness(settings)
    const { emulator, adapter } = harness
    const person = settings === noSettings ? emulator.people.personal : emulator.people.healthy
    const headers = {
      'X-RateLimit-Remaining': '212',
      'X-RateLimit-Reset': '4',
      'X-RateLimit-Account-Limit': '10',
      'X-RateLimit-Account-Remaining': '0',
      'X-RateLimit-Account-Reset': '37',
    }
    emulator.addFault({ does: { kind: 'reply', reply: { status: 429, headers } } })
    const failure = await failureOf(adapter.holdings(aim(person).holdings, call()))
    assert.equal(failure.kind === 'throttled' && failure.retryAfterSeconds, 37)
  }
})

test('under a commercial key accounts have no budget of ours', async (t) => {
  const side = await startSide(t)
  const budgets = makeBudgets(side.windows, side.clock)
  await using harness = await startHarness(budgets)
  const { holdings } = aim(harness.emulator.people.healthy)
  for (let count = 0; count < 12; count += 1) await harness.adapter.holdings(holdings, call())
  assert.equal(harness.emulator.requests.length, 12)
})

test('the emulator’s limit of ten is never met by a read of everything and a page of holdings', async (t) => {
  const side = await startSide(t)
  const { adapter, emulator } = side
  const login = loginOf(emulator.people.personal)
  await adapter.discover(login, call())
  for (const [index, { accounts }] of emulator.people.personal.connections.entries()) {
    for (const account of accounts.keys()) {
      const { query, holdings } = aim(emulator.people.personal, index, account)
      await readPages(adapter, query)
      await adapter.holdings(holdings, call())
    }
  }
})
