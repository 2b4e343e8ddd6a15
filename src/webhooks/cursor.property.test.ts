/** Cursors come back as they were written, to their user alone, and no other text is one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { FeedId, UserId } from '#kernel/ids.ts'
import { makeCursors } from './cursor.ts'

const [current, former] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
const cursors = makeCursors([current])
const aCursor = fc.record({
  userId: fc.uuid().map((id) => id as string as UserId),
  feedId: fc.uuid().map((id) => id as string as FeedId),
  position: fc.nat({ max: 2 ** 31 - 1 }),
})

test('R42: a cursor comes back as it was written, also after a rotation of the key', () => {
  fc.assert(
    fc.property(aCursor, ({ userId, ...cursor }) => {
      const text = makeCursors([former]).write(userId, cursor)
      assert.match(text, /^[A-Za-z0-9_-]{1,100}$/)
      assert.deepEqual(makeCursors([current, former]).read(userId, text), cursor)
      assert.equal(cursors.read(userId, text), null)
    }),
  )
})

test('R42: one changed character, or another user, makes it none', () => {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const aChange = fc.record({ at: fc.nat({ max: 42 }), letter: fc.constantFrom(...letters) })
  fc.assert(
    fc.property(aCursor, aChange, fc.uuid(), ({ userId, ...cursor }, { at, letter }, other) => {
      const text = cursors.write(userId, cursor)
      const changed = text.slice(0, at) + letter + text.slice(at + 1)
      if (changed !== text) assert.equal(cursors.read(userId, changed), null)
      if (other !== userId) assert.equal(cursors.read(other as string as UserId, text), null)
    }),
  )
})

test('R42: other texts are no cursors', () => {
  const userId = '1b4e28ba-2fa1-41d2-883f-0016d3cca427' as string as UserId
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
      assert.equal(cursors.read(userId, text), null)
    }),
  )
})
