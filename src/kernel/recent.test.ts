/** A bounded memory keeps what is used, and never more than its bound. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRecent } from './recent.ts'

test('a memory of recent values never holds more than its bound', () => {
  const recent = makeRecent<number>(10)
  for (let key = 0; key < 1000; key += 1) {
    recent.set(String(key), key)
    recent.get(String(key >> 1))
    assert(recent.size <= 10, `${recent.size} values`)
  }
})

test('what is asked for again and again stays, however many others are set between', () => {
  const recent = makeRecent<number>(10)
  recent.set('kept', 1)
  for (let key = 0; key < 1000; key += 1) {
    recent.set(String(key), key)
    assert.equal(recent.get('kept'), 1)
  }
})

test('a value that was set again replaces the earlier one, whether that was recent or not', () => {
  const recent = makeRecent<number>(4)
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['c', 3],
    ['a', 4],
  ] as const) {
    recent.set(key, value)
  }
  assert.equal(recent.get('a'), 4)
  for (const key of ['d', 'e', 'f', 'g', 'h']) recent.set(key, 0)
  assert.equal(recent.get('a'), undefined)
})
