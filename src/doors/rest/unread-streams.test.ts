/** What streams that are not read hold is bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeUnreadStreams } from './unread-streams.ts'

function stage(mostBytes: number) {
  const streams = makeUnreadStreams(mostBytes)
  const ended: string[] = []
  const add = (name: string, bytes: number) => {
    const unread = { bytes, end: () => void ended.push(name) }
    streams.add(unread)
    return () => streams.remove(unread)
  }
  return { add, ended }
}

test('R42: beyond the bound the streams that have not read for longest are ended, as many as it takes', () => {
  const { add, ended } = stage(100)
  add('one', 40)
  add('two', 40)
  add('three', 20)
  assert.deepEqual(ended, [])
  add('four', 50)
  assert.deepEqual(ended, ['one', 'two'])
  add('five', 30)
  assert.deepEqual(ended, ['one', 'two'])
})

test('R42: a stream that is read, or gone, counts no longer, however often that is told', () => {
  const { add, ended } = stage(100)
  const remove = add('one', 90)
  remove()
  remove()
  add('two', 90)
  assert.deepEqual(ended, [])
  add('three', 90)
  assert.deepEqual(ended, ['two'])
})

test('R42: a stream that alone holds more than the bound is ended', () => {
  const { add, ended } = stage(100)
  add('one', 101)
  assert.deepEqual(ended, ['one'])
  add('two', 100)
  assert.deepEqual(ended, ['one'])
})
