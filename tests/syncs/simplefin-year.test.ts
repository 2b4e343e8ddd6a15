/** A year of a SimpleFIN server that issues its ids anew every month: each row is announced once (R37). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SimplefinRow } from '#sandbox/simplefin/people.ts'
import { startService } from '#tests/support/service.ts'
import { watch } from './watcher.ts'

const dayMs = 86_400_000
const days = 365

test('R37: in a year of daily syncs each row is announced exactly once, although ids of rows and accounts are issued anew every month', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const { clock, sandbox } = service
  // A day begins for the bank at noon of UTC.
  clock.set(Date.parse('2026-11-20T15:00:00Z'))
  const person = sandbox.simplefin.people.healthy
  const [bank] = person?.connections ?? []
  assert.ok(person !== undefined && bank !== undefined)
  person.connections = [bank]
  bank.accounts = bank.accounts.slice(0, 2)
  const [checking, savings] = bank.accounts
  assert.ok(checking !== undefined && savings !== undefined)
  for (const account of bank.accounts) account.rows = []
  let count = 0
  const row = (over: Partial<SimplefinRow>): SimplefinRow => {
    count += 1
    return {
      id: `TRN-${count}`,
      postedAt: Math.floor(clock.now() / dayMs) * dayMs + dayMs / 2,
      amount: '-4.50',
      description: 'Coffee',
      memo: 'SQ *COFFEE',
      ...over,
    }
  }
  const user = await service.createUser()
  const watcher = await watch(service, user)
  const [connection] = await service.link(user, 'healthy', 'simplefin')
  assert.ok(connection !== undefined)
  const announced: string[] = []
  const updated: string[] = []
  let planted = 0
  const read = async () => {
    const { new: news, updated: changed } = await watcher.sync(connection.id)
    announced.push(...news.map(({ id }) => String(id)))
    updated.push(...changed.map(({ id }) => String(id)))
  }
  await read()
  for (let day = 1; day <= days; day += 1) {
    clock.advance(dayMs)
    // Two equal payments, one of its own, and every third day one that the bank tells three days late.
    checking.rows.push(row({}), row({}), row({ amount: `-${day}.10`, description: `Shop ${day}` }))
    savings.rows.push(row({}))
    planted += 4
    if (day % 3 === 0) {
      savings.rows.push(row({ amount: '1.00', postedAt: row({}).postedAt - 3 * dayMs }))
      planted += 1
    }
    if (day % 30 === 0) {
      for (const account of bank.accounts) {
        account.id = `ACT-${day}-${account.name}`
        account.rows = account.rows.map((one, index) => ({ ...one, id: `TRN-${day}-${index}` }))
        account.rows.reverse()
      }
    }
    await read()
  }
  assert.equal(announced.length, planted)
  assert.equal(new Set(announced).size, planted)
  assert.deepEqual(updated, [])
  const accounts = await service.accounts(user)
  assert.equal(accounts.length, 2, 'the accounts kept their ids')
  const requests = sandbox.simplefin.requests.length
  t.diagnostic(`${requests} requests to the server in ${days} days of syncs`)
  assert.ok(requests <= days * 12)
})
