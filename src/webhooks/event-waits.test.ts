/** Whose wait ends where more would wait than may. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { UserId } from '#kernel/ids.ts'
import { makeEventWaits } from './event-waits.ts'

function stage(t: TestContext, maxWaits: number) {
  const silent = () => () => {}
  const waits = makeEventWaits({ store: { onFeed: silent, onChange: silent }, maxWaits })
  t.after(() => waits.end())
  const ended: string[] = []
  const join = (user: string, name: string) => {
    const wait = waits.join(user as UserId)
    void wait.next(60_000).then((woken) => woken === 'ended' && ended.push(name))
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return { join, ended, settle, count: waits.count }
}

test('R42: the many waits of one user end none of others', async (t) => {
  const { join, ended, settle, count } = stage(t, 4)
  for (const name of ['h1', 'h2', 'h3']) join('hog', name)
  join('other', 'o1')
  join('other', 'o2')
  await settle()
  assert.deepEqual(ended, ['h1'])
  join('hog', 'h4')
  join('third', 't1')
  await settle()
  assert.deepEqual(ended, ['h1', 'h2', 'h3'])
  assert.equal(count(), 4)
})

test('R42: of users with as many waits it is one of who asks that ends, and each keeps one', async (t) => {
  const { join, ended, settle } = stage(t, 2)
  join('one', 'a')
  join('two', 'b')
  join('two', 'c')
  await settle()
  assert.deepEqual(ended, ['b'])
})
