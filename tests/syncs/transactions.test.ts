/** What syncs of banks announce, from the providers' own rows to the events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrateAccount } from '#sandbox/akahu/people.ts'
import { type Service, startService } from '#tests/support/service.ts'
import type { SyncedEvent } from '#tests/support/synced-event.ts'
import { akahuAgo, fiskilAgo, idsOf, watchAkahu, watchFiskil } from './banks.ts'

const dayMs = 86_400_000

async function openFiskil(t: { after(work: () => Promise<void>): void }) {
  const service = await startService()
  t.after(() => service.close())
  const bank = await watchFiskil(service)
  const ago = (id: string, days: number, body: Readonly<Record<string, unknown>> = {}) =>
    fiskilAgo(service, id, days, body)
  return { service, bank, ago }
}

test('R34a: the first sync announces the rows of 90 days as new, and nothing older', async (t) => {
  const { bank, ago } = await openFiskil(t)
  bank.plant([ago('today', 0.1), ago('in spring', 89.9), ago('before', 90.1)])
  const { answer, events, ...found } = await bank.sync()
  assert.deepEqual(idsOf(found.new), ['today', 'in spring'])
  assert.deepEqual(found.updated, [])
  assert.deepEqual(
    [answer.newCount, answer.updatedCount, answer.chunks, events.length],
    [2, 0, 1, 1],
  )
  assert.equal(events[0]?.type, 'transactions.synced')
  assert.equal(events[0]?.metadata.sync_run_id, answer.syncRunId)
})

test('a later sync announces what is new and what changed, each once, and nothing else', async (t) => {
  const { service, bank, ago } = await openFiskil(t)
  const rows = [ago('kept', 3), ago('changed', 4), ago('removed', 5), ago('moved', 40)]
  bank.plant(rows)
  assert.equal((await bank.sync()).new.length, 4)
  const [kept = assert.fail()] = rows
  const changed = ago('changed', 4, { description: 'Another text' })
  bank.plant([ago('late', 20), kept, changed, ago('moved', 4)])
  const second = await bank.sync()
  assert.deepEqual(idsOf(second.new), ['late'])
  assert.deepEqual(idsOf(second.updated).toSorted(), ['changed', 'moved'])
  const shown = second.updated.find(({ id }) => id === 'changed')
  assert.equal(shown?.description, 'Another text')
  const third = await bank.sync()
  assert.deepEqual([third.new, third.updated], [[], []])
  assert.match(await service.metrics.text(), /sync_rows_total\{provider="fiskil",kind="gone"\} 1\b/)
})

test('a row that was removed and comes back is known', async (t) => {
  const { bank, ago } = await openFiskil(t)
  const rows = [ago('a', 1), ago('b', 2)]
  bank.plant(rows)
  await bank.sync()
  bank.plant(rows.slice(1))
  assert.deepEqual((await bank.sync()).new, [])
  bank.plant(rows)
  const back = await bank.sync()
  assert.deepEqual([back.new, back.updated], [[], []])
})

test('months that no look-back reaches any more leave the ledger with the next sync', async (t) => {
  const { service, bank, ago } = await openFiskil(t)
  bank.plant([ago('a', 1)])
  await bank.sync()
  const { ledgers } = service.app.store
  const read = async () => {
    const months = await ledgers.read([bank.account.id])
    return months.map(({ month }) => month)
  }
  const [newest] = await ledgers.read([bank.account.id])
  assert(newest !== undefined)
  await ledgers.write([{ ...newest, month: newest.month - 8 }])
  assert.equal((await read()).length, 2)
  await bank.sync()
  assert.deepEqual(await read(), [newest.month])
})

test('syncs while the clock is ahead by 200 days make no row unknown and announce later rows once it is corrected', async (t) => {
  const { service, bank, ago } = await openFiskil(t)
  const rows = [ago('a', 1), ago('b', 20)]
  bank.plant(rows)
  await bank.sync()
  const ahead = 200 * 86_400_000
  service.clock.advance(ahead)
  for (let count = 0; count < 2; count += 1) assert.deepEqual((await bank.sync()).new, [])
  service.clock.advance(-ahead)
  bank.plant([ago('new', 0.1), ...rows])
  const { new: found, updated } = await bank.sync()
  assert.deepEqual([idsOf(found), updated], [['new'], []])
})

test('R32: a sync without new or updated rows sends an event without objects', async (t) => {
  const { bank } = await openFiskil(t)
  const { answer, events } = await bank.sync()
  assert.deepEqual([answer.newCount, answer.chunks], [0, 1])
  assert.deepEqual(
    events.map(({ data, metadata }) => [data, metadata.new_count]),
    [[{ new: [], updated: [] }, 0]],
  )
})

test('identical rows with ids of their own are as many', async (t) => {
  const { bank, ago } = await openFiskil(t)
  const body = { description: 'Coffee', amount: '-4.50' }
  bank.plant([ago('one', 2, body), ago('two', 2, body)])
  assert.deepEqual(idsOf((await bank.sync()).new), ['one', 'two'])
})

test('R34b: before there is a ledger a sync makes no event; the first one after it reports the look-back', async (t) => {
  const { service, bank, ago } = await openFiskil(t)
  bank.plant([ago('a', 1)])
  await service.app.store.ledgers.end(bank.user.id)
  const asked = () => service.sandbox.fiskil.requests.length
  const before = asked()
  const { answer, events } = await bank.sync()
  assert.deepEqual([answer.newCount, answer.chunks, events.length], [0, 0, 0])
  assert.ok(asked() > before, 'status and accounts are kept true')
  await service.app.store.ledgers.begin(bank.user.id)
  assert.deepEqual(idsOf((await bank.sync()).new), ['a'])
})

test('R34b: without a ledger answers that were cached before a sync are not served after it', async (t) => {
  const { service, bank, ago } = await openFiskil(t)
  await service.app.store.ledgers.end(bank.user.id)
  const read = async () => {
    const path = `/v1/transactions?connectionId=${bank.connectionId}&accountId=${bank.account.id}`
    const { headers, body } = await service.get(path, bank.user)
    return [headers['x-cache'], body.data.length]
  }
  bank.plant([ago('a', 1)])
  assert.deepEqual(await read(), ['MISS', 1])
  bank.plant([ago('a', 1), ago('b', 1)])
  assert.deepEqual(await read(), ['HIT', 1])
  await bank.sync()
  assert.deepEqual(await read(), ['MISS', 2])
})

test('a sync that finds changes invalidates cached answers; a sync without changes keeps them', async (t) => {
  const { service, bank, ago } = await openFiskil(t)
  const path = `/v1/transactions?connectionId=${bank.connectionId}&accountId=${bank.account.id}`
  const cacheOf = async () => (await service.get(path, bank.user)).headers['x-cache']
  bank.plant([ago('a', 1)])
  await bank.sync()
  assert.deepEqual([await cacheOf(), await cacheOf()], ['MISS', 'HIT'])
  await bank.sync()
  assert.equal(await cacheOf(), 'HIT')
  bank.plant([ago('a', 1), ago('b', 1)])
  await bank.sync()
  assert.equal(await cacheOf(), 'MISS')
})

test('R34a: a sync after a long pause reads back to what was read last, and announces late rows', async (t) => {
  const { service, bank, ago } = await openFiskil(t)
  const known = ago('known', 1)
  bank.plant([known])
  await bank.sync()
  const late = ago('ten days before the last sync', 10)
  service.clock.advance(200 * dayMs)
  bank.plant([ago('fresh', 1), known, late])
  const consent = service.sandbox.fiskil.people.healthy.consents[0] ?? assert.fail()
  consent.expiresAtMs = service.clock.now() + dayMs
  const { new: fresh, updated } = await bank.sync()
  assert.deepEqual(idsOf(fresh), ['fresh', 'ten days before the last sync'])
  assert.deepEqual(updated, [])
})

test('R24b: amounts finer than the minor unit are rounded in events, and counted once they are sent', async (t) => {
  const { service, bank, ago } = await openFiskil(t)
  bank.plant([ago('fine', 1, { amount: '-0.125' }), ago('plain', 1, { amount: '-0.12' })])
  const { new: found } = await bank.sync()
  const amounts = found.map((one) => ('amount' in one ? one.amount : null))
  assert.deepEqual(amounts, [-12, -12])
  const rounded = /sync_rows_total\{provider="fiskil",kind="rounded"\} 1\b/
  assert.match(await service.metrics.text(), rounded)
  await bank.sync()
  assert.match(await service.metrics.text(), rounded)
})

test('R33: chunks of one run are accepted together, each with the counts of the whole run', async (t) => {
  const { bank, ago } = await openFiskil(t)
  const count = 250
  bank.plant(Array.from({ length: count }, (_, index) => ago(`row ${index}`, 1 + index / 1000)))
  const { answer, events, new: found } = await bank.sync()
  assert.deepEqual([answer.newCount, answer.chunks, events.length], [count, 3, 3])
  assert.equal(new Set(idsOf(found)).size, count)
  const places = ({ metadata }: SyncedEvent) => [metadata.new_count, metadata.chunk]
  assert.deepEqual(events.map(places), [
    [count, 1],
    [count, 2],
    [count, 3],
  ])
})

test('more rows than one window are each announced once', async (t) => {
  const { bank, ago } = await openFiskil(t)
  const count = 6_500
  bank.plant(Array.from({ length: count }, (_, index) => ago(`row ${index}`, 1 + index / 1000)))
  const { answer, new: found } = await bank.sync()
  assert.equal(answer.newCount, count)
  assert.equal(new Set(idsOf(found)).size, count)
  assert.equal((await bank.sync()).answer.newCount, 0)
})

test('a user’s zone decides the local day of a row', async (t) => {
  const { service, bank, ago } = await openFiskil(t)
  await service.app.store.users.setTimezone(bank.user.id, 'Pacific/Auckland')
  bank.plant([ago('late in the evening', 0, { posting_date_time: '2026-11-19T11:30:00Z' })])
  const [row] = (await bank.sync()).new
  assert.ok(row !== undefined && 'local_date' in row)
  assert.equal(row.local_date, '2026-11-20')
})

for (const provider of ['fiskil', 'akahu'] as const) {
  test(`another zone of the user announces no row of ${provider} again, although its local days change`, async (t) => {
    const service = await startService()
    t.after(() => service.close())
    // At every hour of two days, and at both ends of months.
    const ages = [...Array.from({ length: 48 }, (_, hour) => hour / 24), 19.9, 20.4, 50.9, 51.4]
    const bank = await openBankWith(service, provider, ages)
    assert.equal((await bank.sync()).answer.newCount, ages.length)
    for (const zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', null]) {
      await service.app.store.users.setTimezone(bank.user.id, zone)
      const { answer } = await bank.sync()
      assert.deepEqual([answer.newCount, answer.updatedCount], [0, 0], String(zone))
    }
  })
}

/** A bank with a row of each of these ages in days. */
async function openBankWith(
  service: Service,
  provider: 'fiskil' | 'akahu',
  ages: readonly number[],
) {
  if (provider === 'fiskil') {
    const bank = await watchFiskil(service)
    bank.plant(ages.map((days, index) => fiskilAgo(service, `row_${index}`, days)))
    return bank
  }
  const bank = await watchAkahu(service)
  bank.plant(ages.map((days, index) => akahuAgo(service, `row_${index}`, days)))
  return bank
}

test('R35: rows of an account that Akahu moved to other ids are not announced again', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const bank = await watchAkahu(service)
  bank.plant([akahuAgo(service, 'a', 1), akahuAgo(service, 'b', 2)])
  assert.deepEqual(idsOf((await bank.sync()).new), ['trans_a', 'trans_b'])
  const { accounts } = service.sandbox.akahu.people.healthy
  const moved = accounts.find(({ _id }) => _id === bank.account.upstreamId) ?? assert.fail()
  migrateAccount(moved, moved.connection)
  const second = await bank.sync()
  assert.deepEqual([second.new, second.updated], [[], []])
  const [first = assert.fail()] = moved.rows
  first.description = 'Another text'
  const third = await bank.sync()
  assert.deepEqual([third.new, idsOf(third.updated)], [[], ['trans_a_official']])
})

test('R35: a webhook of a move that the list of accounts does not tell yet announces nothing again', async (t) => {
  const service = await startService({ webhooks: true })
  t.after(() => service.close())
  const bank = await watchAkahu(service)
  bank.plant([akahuAgo(service, 'a', 1), akahuAgo(service, 'b', 2)])
  await bank.sync()
  const before = await service.accounts(bank.user)
  const { people, faultControls, webhooks } = service.sandbox.akahu
  const { accounts } = people.healthy
  const index = accounts.findIndex(({ _id }) => _id === bank.account.upstreamId)
  const moved = accounts[index] ?? assert.fail()
  const listed = { ...moved, rows: moved.rows.map((row) => ({ ...row })) }
  const order = { kind: 'ACCOUNT_MIGRATE', account: moved._id }
  const [sent] = faultControls.webhooks.fire('healthy', order, {})
  accounts[index] = listed
  await webhooks.settled()
  assert.deepEqual(sent?.statuses, [200])
  const told = await bank.sync()
  assert.deepEqual([told.new, told.updated], [[], []])
  accounts[index] = moved
  const last = await bank.sync()
  assert.deepEqual([last.new, last.updated], [[], []])
  const idOf = ({ id }: { readonly id: string }) => id
  assert.deepEqual((await service.accounts(bank.user)).map(idOf), before.map(idOf))
})

test('R34a: an account that appears later reports its whole look-back', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const bank = await watchAkahu(service)
  bank.plant([akahuAgo(service, 'a', 1)])
  await bank.sync()
  const { accounts } = service.sandbox.akahu.people.healthy
  const known = accounts.find(({ _id }) => _id === bank.account.upstreamId) ?? assert.fail()
  service.clock.advance(10 * dayMs)
  accounts.push({
    ...known,
    _id: 'acc_opened_later',
    name: 'Opened later',
    rows: [akahuAgo(service, 'old', 85), akahuAgo(service, 'older', 95)],
  })
  assert.deepEqual(idsOf((await bank.sync()).new), ['trans_old'])
})
