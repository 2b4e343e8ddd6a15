/** Accounts that join a connection of SimpleFIN, whose later syncs look back less than first ones (R34a). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SimplefinAccount } from '#sandbox/simplefin/people.ts'
import { startService } from '#tests/support/service.ts'
import { watch } from './watcher.ts'

const dayMs = 86_400_000
/** In days before the tests begin. */
const ages = [5, 15, 25, 35, 45, 55, 65, 75, 80]
const start = Date.parse('2026-12-14T15:00:00Z')

const rowsOf = (name: string, days: readonly number[]) =>
  days.map((age) => {
    const postedAt = Math.floor(start / dayMs) * dayMs + dayMs / 2 - age * dayMs
    return { id: `${name}-${age}`, postedAt, amount: '-4.50', description: name, memo: name }
  })

async function openBank(t: { after(work: () => unknown): void }) {
  const service = await startService()
  t.after(() => service.close())
  const { clock, sandbox } = service
  clock.set(start)
  const person = sandbox.simplefin.people.healthy
  const [bank] = person?.connections ?? []
  const [first, second] = bank?.accounts ?? []
  assert.ok(person !== undefined && bank !== undefined)
  assert.ok(first !== undefined && second !== undefined)
  first.rows = rowsOf('First', ages)
  bank.accounts = [first]
  person.connections = [bank]
  const user = await service.createUser()
  const watcher = await watch(service, user)
  const [connection] = await service.link(user, 'healthy', 'simplefin')
  assert.ok(connection !== undefined)
  const asked = () => sandbox.simplefin.requests.filter(({ path }) => path.endsWith('/accounts'))
  return {
    second,
    join: (account: SimplefinAccount) => void bank.accounts.push(account),
    /** A day later: what was announced, by account, and the accounts that each request named. */
    async sync(days = 1) {
      clock.advance(days * dayMs)
      const before = asked().length
      const { new: news } = await watcher.sync(connection.id)
      const named = asked().slice(before)
      return {
        announced: news.map(({ account_name: name }) => name),
        named: named.map(({ query }) => query.getAll('account').join()),
      }
    },
  }
}

test('R34a: an account that joins later reports its whole look-back, and no row of the others is announced again', async (t) => {
  const { second, join, sync } = await openBank(t)
  assert.equal((await sync()).announced.length, ages.length)
  // The ledger lets go of the months that no look-back reaches any more.
  assert.deepEqual((await sync()).announced, [])
  second.rows = rowsOf('Second', ages)
  join(second)
  const { announced, named } = await sync()
  assert.deepEqual([announced.length, new Set(announced)], [ages.length, new Set([second.name])])
  assert.deepEqual(named, ['', second.id, second.id])
  assert.deepEqual(await sync(), { announced: [], named: [''] })
})

test('R34a: an account without any row makes one later sync long, and no other', async (t) => {
  const { second, join, sync } = await openBank(t)
  await sync()
  second.rows = []
  join(second)
  assert.deepEqual(await sync(), { announced: [], named: ['', second.id, second.id] })
  assert.deepEqual(await sync(), { announced: [], named: [''] })
  // Its month is kept while others are dropped.
  for (const days of [30, 30, 30]) {
    await sync(days)
    assert.deepEqual(await sync(), { announced: [], named: [''] })
  }
})

test('R34a: an account whose rows are too old for the ledger was read before, and none is announced again', async (t) => {
  const { second, join, sync } = await openBank(t)
  await sync()
  second.rows = rowsOf('Second', [80])
  join(second)
  assert.deepEqual((await sync()).announced, [second.name])
  for (let day = 0; day < 5; day += 1) {
    assert.deepEqual(await sync(), { announced: [], named: [''] })
  }
})
