/** The state of a walk survives encoding and decoding, and other bytes are refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeByteReader, makeByteWriter } from './byte-code.ts'
import { makePageMemory } from './page-memory.ts'
import { decodeWalk, encodeWalk } from './walk-code.ts'
import { makeWalkState } from './walk-state.ts'

test('any numbers and texts come back as they were written', () => {
  const count = fc.nat({ max: Number.MAX_SAFE_INTEGER })
  const whole = fc.integer({ min: -(2 ** 52), max: 2 ** 52 - 1 })
  const text = fc.option(fc.string({ unit: 'grapheme', maxLength: 2000 }))
  const item = fc.tuple(count, whole, fc.double({ noNaN: true }), fc.integer(), text)
  fc.assert(
    fc.property(fc.array(item, { maxLength: 60 }), (items) => {
      const out = makeByteWriter()
      for (const [a, b, c, d, e] of items) {
        out.count(a)
        out.whole(b)
        out.number(c)
        out.bits(d)
        out.text(e)
      }
      const from = makeByteReader(out.end())
      for (const [a, b, c, d, e] of items) {
        assert.equal(from.count(), a)
        assert.equal(from.whole(), b)
        assert(Object.is(from.number(), c))
        assert.equal(from.bits(), d)
        assert.equal(from.text(), e)
      }
      assert(from.isAtEnd())
    }),
  )
})

test('bytes of another layout, truncated bytes and random bytes are refused', () => {
  const reader = { pageSize: 1, read: () => assert.fail(), open: () => assert.fail() }
  const state = makeWalkState({ reader, queries: [] }, makePageMemory(0))
  const bytes = encodeWalk(state, 5)
  assert.equal(decodeWalk(bytes)?.expiresAt, 5)
  assert.equal(decodeWalk(new Uint8Array([2, ...bytes.slice(1)])), null)
  for (let length = 0; length < bytes.length; length += 1) {
    assert.equal(decodeWalk(bytes.subarray(0, length)), null)
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (some) => {
      assert.equal(decodeWalk(some), null)
    }),
  )
})
