/** An agent’s list of trades without dates, walked over midnight of the person’s zone (reading R30). */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { addDays, getZone, toMicros, toMillis } from '#kernel/time.ts'
import { callTool } from '#tests/support/agent.ts'
import { activity, linkBroker } from '#tests/support/broker.ts'
import { startService } from '#tests/support/service.ts'

const service = await startService()
after(() => service.close())

const day = 86_400_000

/** Moves the clock to this time before the next midnight of the zone. */
function moveBeforeMidnight(zoneName: string, ms: number): void {
  const { clock } = service
  const zone = getZone(zoneName)
  const today = zone.dayOf(toMicros(clock.now()))
  const end = toMillis(zone.endOfDay(today))
  const left = end - clock.now() - ms
  clock.advance(left > 0 ? left : left + day)
}

/** Twelve trades, and what a walk in pages of five shows. */
async function plant() {
  const user = await service.createUser()
  const row = await service.app.store.users.find(user.id)
  moveBeforeMidnight(row?.timezone ?? 'Australia/Sydney', 120_000)
  const { clock } = service
  const start = clock.now() - 10 * day
  const activities = Array.from({ length: 12 }, (_, index) =>
    activity({
      description: `trade ${index}`,
      tradeDate: new Date(start - index * day).toISOString(),
    }),
  )
  const broker = await linkBroker(service, user, [{ activities }])
  const [account] = broker.upstream
  assert(account !== undefined)
  async function read(offset: number, dates = {}): Promise<string[]> {
    const args = { ...dates, connectionId: broker.connection.id, limit: 5, offset }
    const { result, text } = await callTool(service, user, 'list_trades', args)
    assert.equal(result.isError, undefined, text)
    return result.structuredContent.data.map((one: { description: string }) => one.description)
  }
  async function readRest(offset: number, from: string): Promise<string[]> {
    const query = `connectionId=${broker.connection.id}&from=${from}&limit=5&offset=${offset}`
    const { status, body } = await service.get(`/v1/trades?${query}`, user)
    assert.equal(status, 200)
    return body.data.map((one: { description: string }) => one.description)
  }
  return { account, read, readRest, zone: getZone(row?.timezone ?? 'Australia/Sydney') }
}

const names = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `trade ${from + index}`)

test('R30: a walk over midnight shows each trade once, though one vanished or arrived meanwhile', async () => {
  for (const change of ['vanishes', 'arrives']) {
    const { account, read } = await plant()
    assert.deepEqual(await read(0), names(0, 5))
    if (change === 'vanishes') account.activities.splice(1, 1)
    else {
      const tradeDate = new Date(service.clock.now() - day).toISOString()
      account.activities.unshift(activity({ description: 'new', tradeDate }))
    }
    service.clock.advance(240_000)
    assert.deepEqual(await read(5), names(5, 10), change)
    assert.deepEqual(await read(10), names(10, 12), change)
  }
})

test('R30: a walk that begins after midnight meets no window of the one before', async () => {
  const { account, read } = await plant()
  await read(0)
  account.activities.splice(1, 1)
  service.clock.advance(240_000)
  assert.deepEqual(await read(5), names(5, 10))
  assert.deepEqual(await read(0), ['trade 0', ...names(2, 6)])
  assert.deepEqual(await read(5), names(6, 11))
  assert.deepEqual(await read(10), ['trade 11'])
})

test('R30: a walk from the day 366 days ago goes on after midnight, when it gets a last day', async () => {
  const { account, read, zone } = await plant()
  const from = addDays(zone.dayOf(toMicros(service.clock.now())), -366)
  assert.deepEqual(await read(0, { from }), names(0, 5))
  account.activities.splice(1, 1)
  service.clock.advance(240_000)
  assert.deepEqual(await read(5, { from }), names(5, 10))
  assert.deepEqual(await read(10, { from }), names(10, 12))
})

test('R30: a request of REST is never answered by the walk of the day before, nor beside an agent’s that is', async () => {
  const { account, read, readRest, zone } = await plant()
  const first = (): string => addDays(zone.dayOf(toMicros(service.clock.now())), -366)
  assert.deepEqual(await readRest(0, first()), names(0, 5))
  account.activities.splice(1, 1)
  service.clock.advance(240_000)
  const both = await Promise.all([read(5), readRest(5, first())])
  assert.deepEqual(both, [names(5, 10), names(6, 11)])
  assert.deepEqual(await readRest(10, first()), ['trade 11'])
})
