/**
 * Several accounts of which one came empty: SnapTrade says by account whether its data are ready and shared,
 * so that none is left out in silence (reading R20b). The same for trades.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { activity, type BrokerAccount, linkBroker, position } from '#tests/support/broker.ts'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
after(() => service.close())
// Another minute for the budget of SnapTrade calls, another ten for the cache.
beforeEach(() => service.clock.advance(660_000))

const full = (count: number): Partial<BrokerAccount> => ({
  positions: Array.from({ length: count }, () => position()),
  activities: Array.from({ length: count }, () => activity()),
})
const waiting = { holdingsSynced: false, transactionsSynced: false }

/** Three accounts, the first two with 14 and 3 rows. */
async function link(...others: readonly Partial<BrokerAccount>[]) {
  const broker = await linkBroker(service, user, [full(14), full(3), ...others])
  const ask = (path: string, query = '') =>
    service.get(`${path}?connectionId=${broker.connection.id}${query}`, user)
  return { ...broker, ask }
}

const paths = ['/v1/holdings', '/v1/trades'] as const
const countLists = () =>
  service.sandbox.snaptrade.requests.filter(({ path }) => path === '/accounts').length

for (const path of paths) {
  test(`R20b: ${path}: a ready account without rows is empty: 14 + 3 + 0 are 17`, async () => {
    const { ask } = await link({})
    const answer = await ask(path)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.body.data.length, 17)
  })

  test(`R20b: ${path}: an account before its first sync is named in the 503 that it is alone, too`, async () => {
    const { ask, accounts, upstream } = await link({ ...waiting, name: 'Margin' })
    const margin = `the account "Margin" (${accounts[2]?.id})`
    for (const query of ['', `&accountId=${accounts[2]?.id}`]) {
      const answer = await ask(path, query)
      assert.deepEqual([answer.status, codeOf(answer)], [503, undefined], answer.text)
      assert.equal(answer.headers['retry-after'], '30')
      assert.ok(answer.body.error.message.includes(`the data of ${margin}; retry`), answer.text)
    }
    const [one, two] = accounts
    const others = await ask(path, `&accountIds=${one?.id},${two?.id}`)
    assert.equal(others.body.data.length, 17)
    Object.assign(upstream[2] ?? {}, { holdingsSynced: true, transactionsSynced: true })
    assert.equal((await ask(path)).body.data.length, 17)
  })

  test(`R20b: ${path}: all accounts that are not ready are named, and no other`, async () => {
    const { ask, accounts } = await link({}, { ...waiting, name: 'A' }, { ...waiting, name: 'B' })
    const { message } = (await ask(path)).body.error
    const [, , , a, b] = accounts.map(({ id }) => id)
    assert.ok(message.includes(`the accounts "A" (${a}), "B" (${b}); retry`), message)
  })

  test(`R20b: ${path}: an account that is imported again is 503 at once, though it was ready a second ago`, async () => {
    const { ask, accounts, upstream } = await link({})
    assert.equal((await ask(path)).body.data.length, 17)
    Object.assign(upstream[0] ?? {}, { positions: [], activities: [], ...waiting })
    service.clock.advance(1000)
    // Another query, which no cached answer serves.
    const ids = accounts.map(({ id }) => id).toReversed()
    for (const query of [`&accountIds=${ids.join()}`, `&accountId=${accounts[0]?.id}`]) {
      const answer = await ask(path, query)
      assert.equal(answer.status, 503, answer.text)
    }
  })

  test(`R20b: ${path}: an account whose import ends while another one is still read is read again`, async () => {
    const { ask, upstream } = await link({})
    const [big, small] = upstream
    assert.ok(big !== undefined && small !== undefined)
    const { positions, activities } = big
    Object.assign(big, { positions: [], activities: [], ...waiting })
    const { snaptrade } = service.sandbox
    snaptrade.addFault({
      when: (request) => request.path.includes(small.id),
      does: { kind: 'delay', ms: 400 },
    })
    const imported = sleep(200).then(() => {
      const ready = { holdingsSynced: true, transactionsSynced: true }
      Object.assign(big, { positions, activities, ...ready })
    })
    const answer = await ask(path)
    await imported
    snaptrade.clearFaults()
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.body.data.length, 17)
  })

  for (const [count, accounts] of [
    [11, [full(11)]],
    [17, [full(11), full(6)]],
  ] as const) {
    test(`R20b: ${path}: where the import ends between an empty answer and the question whether it is ready, its ${count} rows are shown`, async () => {
      const { upstream, connection } = await linkBroker(service, user, accounts)
      const [first] = upstream
      assert.ok(first !== undefined)
      const { positions, activities } = first
      Object.assign(first, { positions: [], activities: [], ...waiting })
      const ready = { positions, activities, holdingsSynced: true, transactionsSynced: true }
      service.sandbox.snaptrade.addFault({
        when: (request) => request.path.includes(first.id),
        does: {
          kind: 'edit',
          edit(reply) {
            setImmediate(() => Object.assign(first, ready))
            return reply
          },
        },
        times: 1,
      })
      const answer = await service.get(`${path}?connectionId=${connection.id}`, user)
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.body.data.length, count)
    })
  }

  test(`R20b: ${path}: SnapTrade is asked for its accounts once for all that are empty`, async () => {
    const { ask } = await link({}, {}, {}, {})
    const before = countLists()
    assert.equal((await ask(path)).status, 200)
    assert.equal(countLists() - before, 1)
  })

  test(`R20b: ${path}: SnapTrade is asked for its accounts once a minute for a login`, async () => {
    const { ask, accounts } = await link({}, {}, {}, {}, {}, {})
    for (const [place, { afterMs, asks }] of [
      { afterMs: 0, asks: 1 },
      { afterMs: 59_000, asks: 0 },
      { afterMs: 1000, asks: 1 },
    ].entries()) {
      service.clock.advance(afterMs)
      const before = countLists()
      // Other accounts each time: nothing is answered from what was read before.
      const ids = accounts.slice(0, accounts.length - place).map(({ id }) => id)
      const answer = await ask(path, `&accountIds=${ids.join()}`)
      assert.equal(answer.body.data.length, 17, answer.text)
      assert.equal(countLists() - before, asks)
    }
  })

  test(`R20b: ${path}: an account that had rows since it was found ready is asked about again`, async () => {
    const { ask, accounts, upstream } = await link({})
    const ids = accounts.map(({ id }) => id)
    const asked = (order: readonly number[]) =>
      ask(path, `&accountIds=${order.map((at) => ids[at]).join()}`)
    assert.equal((await asked([0, 1, 2])).body.data.length, 17)
    Object.assign(upstream[2] ?? {}, full(2))
    assert.equal((await asked([2, 1])).body.data.length, 5)
    Object.assign(upstream[2] ?? {}, { positions: [], activities: [], ...waiting })
    assert.equal((await asked([0, 2])).status, 503)
  })

  test(`R20b: ${path}: when SnapTrade cannot say whether an account is ready, it is no empty one`, async () => {
    const { ask } = await link({})
    service.sandbox.snaptrade.addFault({
      when: (request) => request.path === '/accounts',
      does: { kind: 'reply', reply: { status: 500, body: {} } },
      times: 1,
    })
    assert.equal((await ask(path)).status, 503)
    assert.equal((await ask(path)).status, 200)
  })

  test(`R20b: ${path}: that a part is ready does not make a lost connection active`, async () => {
    const { ask, connection, person } = await link({})
    for (const one of person.connections) one.disabled = true
    await service.app.store.connections.setStatus(connection.id, 'invalidated')
    assert.equal((await ask(path)).status, 200)
    const row = await service.app.store.connections.find(connection.id)
    assert.equal(row?.status, 'invalidated')
  })
}

test('R20b: an account whose holdings are not shared is named in a 400, and its trades are shown', async () => {
  const { ask, accounts } = await link({ name: 'Shut', holdingsUnavailable: true })
  const refused = await ask('/v1/holdings')
  assert.deepEqual([refused.status, codeOf(refused)], [400, 'upstream_bad_request'])
  const { message } = refused.body.error
  assert.match(message, /^Upstream rejected request: the brokerage does not share the holdings of /)
  assert.ok(message.includes(`the account "Shut" (${accounts[2]?.id});`), message)
  assert.equal((await ask('/v1/trades')).body.data.length, 17)
})

test('R20b: a window of trades behind the first is refused, too, while one account is not ready', async () => {
  const { ask } = await link(waiting)
  for (const offset of [0, 10, 16, 17]) {
    assert.equal((await ask('/v1/trades', `&limit=5&offset=${offset}`)).status, 503)
  }
})
