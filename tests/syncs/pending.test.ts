/** Pending rows in events, for endpoints that ask for them alone (reading R39). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { z } from 'zod'
import type { TransactionsSynced } from '#contract/events.ts'
import type { Provider } from '#contract/resources.ts'
import { startService } from '#tests/support/service.ts'
import { watch } from './watcher.ts'

type Data = z.infer<typeof TransactionsSynced>['data']

const hourMs = 3_600_000
const stepsOf: Readonly<Record<string, number>> = {
  fiskil: hourMs,
  akahu: hourMs,
  up: hourMs,
  // Few calls a day are left to syncs.
  simplefin: 13 * hourMs,
  // Two of the four calls of any 24 hours are left to syncs.
  enablebanking: 25 * hourMs,
}

for (const provider of [
  'fiskil',
  'akahu',
  'up',
  'simplefin',
  'enablebanking',
] satisfies Provider[]) {
  test(`R39: at ${provider} events announce a pending row once, and take it back when its posted row is new`, async (t) => {
    const service = await startService()
    t.after(() => service.close())
    const user = await service.createUser()
    const [link] = await service.link(user, 'pending', provider)
    assert.ok(link !== undefined)
    const plain = await watch(service, user)
    const asking = await watch(service, user, { pending: true })
    const announced = new Map<string, string>()
    let [taken, settled] = [0, 0]
    for (let step = 0; step < 14; step += 1) {
      const { events } = await plain.sync(link.id)
      for (const { data, type } of events) {
        assert.deepEqual([type, Object.keys(data)], ['transactions.synced', ['new', 'updated']])
      }
      const chunks = (await asking.takeEvents()).map(({ type, data }): Data => {
        assert.deepEqual(Object.keys(data), ['new', 'updated', 'pending', 'removed_pending'])
        assert.equal(type, 'transactions.synced')
        return data as Data
      })
      const data = {
        new: chunks.flatMap((chunk) => chunk.new),
        pending: chunks.flatMap((chunk) => chunk.pending ?? []),
        removed: chunks.flatMap((chunk) => chunk.removed_pending ?? []),
      }
      assert.deepEqual(
        data.new,
        events.flatMap((one): readonly unknown[] => one.data.new),
      )
      for (const row of data.pending) {
        assert.match(row.id, /^pending_[0-9a-z]{26}$/)
        assert.deepEqual([row.object, row.status, row.post_date], ['transaction', 'pending', null])
        assert.ok(!announced.has(row.id), 'announced once')
        announced.set(row.id, `${row.amount} ${row.description}`)
      }
      const news = data.new.map((row) => `${row.amount} ${row.description}`)
      for (const id of data.removed) {
        const text = announced.get(id)
        assert.ok(text !== undefined, 'only announced rows are taken back')
        taken += 1
        if (news.includes(text)) settled += 1
        announced.delete(id)
      }
      // What was announced and not taken back is what REST shows.
      const [account] = await service.accounts(user)
      const path = `/v1/transactions?connectionId=${link.id}&accountId=${account?.id}&includePending=true&limit=500`
      const { body } = await service.get(path, user)
      const shown = body.data.filter(({ status }: { status: string }) => status === 'pending')
      assert.deepEqual(
        shown.map(({ id }: { id: string }) => id).toSorted(),
        [...announced.keys()].toSorted(),
      )
      service.clock.advance(stepsOf[provider] ?? hourMs)
    }
    assert.ok(taken > 1 && settled === taken, `${settled} of ${taken}`)
  })
}
