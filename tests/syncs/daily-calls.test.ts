/** What a day of a dashboard, an agent and syncs asks of providers that allow few calls a day (R36). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '#tests/support/service.ts'
import { watch } from './watcher.ts'

const minuteMs = 60_000
const everyMinutes = 5
const rounds = (24 * 60) / everyMinutes
const agentCalls = 40

test('R36: a dashboard that asks every five minutes, an agent with forty calls and a sync stay below the budget of a day', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const { clock, sandbox } = service
  clock.set(Date.parse('2026-11-19T00:00:30Z'))
  const user = await service.createUser()
  const watcher = await watch(service, user)
  const [simple] = await service.link(user, 'healthy', 'simplefin')
  const [bank] = await service.link(user, 'twins', 'enablebanking')
  assert.ok(simple !== undefined && bank !== undefined)
  const accounts = await service.accounts(user)
  const idsOf = (id: string) =>
    accounts.flatMap((one) => (one.connectionId === id ? [one.id] : [])).join(',')
  const calls = () => ({
    // Those that name accounts have a quota of their own.
    simplefin: sandbox.simplefin.requests.filter(
      ({ path, query }) => path.endsWith('/accounts') && !query.has('account'),
    ).length,
    bank: sandbox.enablebanking.requests.filter(
      ({ path, query }) => path.startsWith('/accounts/') && !query.has('continuation_key'),
    ).length,
  })
  const statuses = new Map<string, number>()
  const ask = async (what: string, path: string) => {
    const { status } = await service.get(path, user)
    const key = `${what} ${status}`
    statuses.set(key, (statuses.get(key) ?? 0) + 1)
  }
  // The day of linking has calls of its own.
  clock.set(Date.parse('2026-11-20T00:00:30Z'))
  const before = calls()
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, connection] of [
      ['simplefin', simple],
      ['enablebanking', bank],
    ] as const) {
      await ask(name, `/v1/balances?accountIds=${idsOf(connection.id)}`)
      await ask(name, `/v1/transactions?connectionId=${connection.id}&limit=50`)
      if (round !== 100) continue
      await watcher.sync(connection.id)
      for (let call = 0; call < agentCalls; call += 1) {
        const from = new Date(clock.now() - (call + 2) * 86_400_000).toISOString().slice(0, 10)
        await ask(name, `/v1/transactions?connectionId=${connection.id}&from=${from}`)
      }
    }
    clock.advance(everyMinutes * minuteMs)
  }
  const after = calls()
  const simplefinCalls = after.simplefin - before.simplefin
  const bankCalls = after.bank - before.bank
  t.diagnostic(
    `SimpleFIN: ${simplefinCalls} of 24; Enable Banking: ${bankCalls} of 4 for an account`,
  )
  t.diagnostic([...statuses].map(([key, count]) => `${key}: ${count}`).join(', '))
  assert.ok(simplefinCalls <= 24)
  assert.ok(bankCalls <= 4)
  // What is over the budget is refused here: a day of hourly readings at SimpleFIN has no call to spare, and
  // two readings of a bank cover half a day.
  assert.ok((statuses.get('simplefin 200') ?? 0) > 0.95 * (2 * rounds + agentCalls))
  assert.ok((statuses.get('enablebanking 200') ?? 0) > 0.7 * (2 * rounds + agentCalls))
  const told = [...sandbox.enablebanking.requests, ...sandbox.simplefin.requests]
  assert.ok(told.every(({ headers }) => headers['psu-ip-address'] === undefined))
})

test('R36: on the day of linking, too, no request of an hourly reading is refused: the look-back of the first sync has a quota of its own', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const { clock, sandbox } = service
  clock.set(Date.parse('2026-11-20T00:00:30Z'))
  const user = await service.createUser()
  const watcher = await watch(service, user)
  const [connection] = await service.link(user, 'healthy', 'simplefin')
  assert.ok(connection !== undefined)
  const accounts = await service.accounts(user)
  const ids = accounts.flatMap((one) => (one.connectionId === connection.id ? [one.id] : []))
  await watcher.sync(connection.id)
  for (let hour = 0; hour < 24; hour += 1) {
    const balances = await service.get(`/v1/balances?accountIds=${ids}`, user)
    const rows = await service.get(`/v1/transactions?connectionId=${connection.id}`, user)
    assert.deepEqual([balances.status, rows.status], [200, 200], `${hour}`)
    clock.advance(61 * minuteMs)
  }
  const asked = sandbox.simplefin.requests.filter(({ path }) => path.endsWith('/accounts'))
  const [named, others] = [true, false].map((has) =>
    asked.filter(({ query }) => query.has('account') === has),
  )
  assert.equal(others?.length, 24)
  // Ninety days have two older windows; every account of the connection is named in each.
  assert.deepEqual(
    named?.map(({ query }) => query.getAll('account').length),
    [ids.length, ids.length],
  )
})

test('R36: later syncs of SimpleFIN read the newest window alone, which everything shares', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const { sandbox } = service
  const user = await service.createUser()
  const watcher = await watch(service, user)
  const [connection] = await service.link(user, 'healthy', 'simplefin')
  assert.ok(connection !== undefined)
  await watcher.sync(connection.id)
  sandbox.simplefin.requests.length = 0
  for (let day = 0; day < 3; day += 1) {
    service.clock.advance(24 * 60 * minuteMs)
    await watcher.sync(connection.id)
  }
  const asked = sandbox.simplefin.requests.filter(({ path }) => path.endsWith('/accounts'))
  assert.equal(asked.length, 3)
  assert.ok(asked.every(({ query }) => !query.has('end-date')))
})

test('R36: the reading of a link serves the first requests, and the same token pasted again reads anew', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const { sandbox } = service
  const user = await service.createUser()
  const count = () =>
    sandbox.simplefin.requests.filter(({ path }) => path.endsWith('/accounts')).length
  const [connection] = await service.link(user, 'healthy', 'simplefin')
  assert.ok(connection !== undefined)
  assert.equal(count(), 1)
  const ids = (await service.accounts(user)).map(({ id }) => id).join(',')
  assert.equal((await service.get(`/v1/balances?accountIds=${ids}`, user)).status, 200)
  const rows = await service.get(`/v1/transactions?connectionId=${connection.id}`, user)
  assert.equal(rows.status, 200)
  assert.equal(count(), 1)
  await service.link(user, 'healthy', 'simplefin')
  assert.equal(count(), 2)
})
