/** A year of a bank at Enable Banking whose rows have new ids at every read: each is announced once (R37). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { BankRow } from '#sandbox/enablebanking/people.ts'
import { startService } from '#tests/support/service.ts'
import { watch } from './watcher.ts'

const dayMs = 86_400_000
const days = 365
const renewalDays = 160

test('R37: in a year of daily syncs each row is announced exactly once, although ids are new at every read and the consent is renewed', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const { clock, sandbox } = service
  clock.set(Date.parse('2026-11-20T15:00:00Z'))
  const person = sandbox.enablebanking.people.reissued
  const [giro] = person?.accounts ?? []
  assert.ok(person !== undefined && giro !== undefined)
  giro.rows = []
  // As many as large banks send at once: ten would be thirty calls a day.
  sandbox.enablebanking.site.pageSize = 500
  let count = 0
  const row = (over: Partial<BankRow>): BankRow => {
    count += 1
    return {
      id: `N${count}`,
      bookedAt: Math.floor(clock.now() / dayMs) * dayMs,
      amount: '-4.50',
      description: 'KARTENZAHLUNG CAFE NORDLICHT',
      payee: 'Café Nordlicht',
      ...over,
    }
  }
  const user = await service.createUser()
  const watcher = await watch(service, user)
  const [connection] = await service.link(user, 'reissued', 'enablebanking')
  assert.ok(connection !== undefined)
  const announced: string[] = []
  const updated: string[] = []
  let planted = 0
  let mostCalls = 0
  const read = async () => {
    const { new: news, updated: changed } = await watcher.sync(connection.id)
    announced.push(...news.map(({ id }) => String(id)))
    updated.push(...changed.map(({ id }) => String(id)))
  }
  await read()
  for (let day = 1; day <= days; day += 1) {
    clock.advance(dayMs)
    // Two equal payments, one of its own, and every third day one that the bank tells three days late.
    giro.rows.push(row({}), row({}), row({ amount: `-${day}.10`, description: `Shop ${day}` }))
    planted += 3
    if (day % 3 === 0) {
      giro.rows.push(row({ amount: '1.00', bookedAt: row({}).bookedAt - 3 * dayMs }))
      planted += 1
    }
    if (day % 30 === 0) giro.rows.reverse()
    if (day % renewalDays === 0) {
      // A new session, with other ids of accounts.
      for (const session of sandbox.enablebanking.site.sessions.sessions.values()) {
        Object.assign(session, { validUntil: clock.now() + 170 * dayMs })
      }
      const people = sandbox.person('reissued')
      const again = people.find(({ provider }) => provider === 'enablebanking')
      assert.ok(again !== undefined)
      await service.app.connections.linkConnections(byOperator, user.id, again)
    }
    const before = sandbox.enablebanking.requests.length
    await read()
    const calls = sandbox.enablebanking.requests
      .slice(before - sandbox.enablebanking.requests.length || undefined)
      .filter(({ path, query }) => path.startsWith('/accounts/') && !query.has('continuation_key'))
    mostCalls = Math.max(mostCalls, calls.length)
  }
  assert.equal(announced.length, planted)
  assert.equal(new Set(announced).size, planted)
  assert.equal(updated.length, 0)
  assert.equal((await service.accounts(user)).length, 1, 'the account kept its id')
  t.diagnostic(`at most ${mostCalls} calls to the bank in a day of syncs`)
  assert.ok(mostCalls <= 2)
})
