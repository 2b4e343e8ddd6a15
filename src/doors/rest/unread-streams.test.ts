/** What streams that are not read hold is bounded. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeUnreadStreams } from './unread-streams.ts'

function stage(t: TestContext, graceMs = 0) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let time = 0
  const streams = makeUnreadStreams({ mostBytes: 100, graceMs, now: () => time })
  const ended: string[] = []
  const add = (
    name: string,
    bytes: number,
    shared: { of: object; bytes: number } | null = null,
  ) => {
    const unread = {
      bytes,
      shared: shared ?? { of: {}, bytes: 0 },
      end: () => void ended.push(name),
    }
    streams.add(unread)
    return () => streams.remove(unread)
  }
  const advance = (ms: number) => {
    time += ms
    t.mock.timers.tick(ms)
  }
  return { add, ended, advance }
}

test('R42: beyond the bound the streams that have not read for longest are ended, as many as it takes', (t) => {
  const { add, ended } = stage(t)
  add('one', 40)
  add('two', 40)
  add('three', 20)
  assert.deepEqual(ended, [])
  add('four', 50)
  assert.deepEqual(ended, ['one', 'two'])
  add('five', 30)
  assert.deepEqual(ended, ['one', 'two'])
})

test('R42: a stream that is read, or gone, counts no longer, however often that is told', (t) => {
  const { add, ended } = stage(t)
  const remove = add('one', 90)
  remove()
  remove()
  add('two', 90)
  assert.deepEqual(ended, [])
  add('three', 90)
  assert.deepEqual(ended, ['two'])
})

test('R42: what many streams share counts once, as long as one of them holds it', (t) => {
  const { add, ended } = stage(t)
  const batch = { of: {}, bytes: 60 }
  const removals = ['one', 'two', 'three'].map((name) => add(name, 10, batch))
  assert.deepEqual(ended, [])
  for (const remove of removals.slice(1)) remove()
  add('four', 30)
  assert.deepEqual(ended, [])
  add('five', 1)
  assert.deepEqual(ended, ['one'])
  add('six', 69)
  assert.deepEqual(ended, ['one'])
})

test('R42: a stream is ended only when its client has had time to read', (t) => {
  const { add, ended, advance } = stage(t, 1000)
  const remove = add('one', 60)
  add('two', 60)
  advance(999)
  add('three', 60)
  assert.deepEqual(ended, [])
  remove()
  advance(1)
  assert.deepEqual(ended, ['two'])
  advance(1000)
  assert.deepEqual(ended, ['two'])
})
