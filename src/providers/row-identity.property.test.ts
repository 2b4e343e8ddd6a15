import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AccountId, UserId } from '#kernel/ids.ts'
import { makeRowIdentity, type RowContent } from './row-identity.ts'

const user = 'user' as UserId
const content: fc.Arbitrary<RowContent> = fc.record({
  account: fc.constantFrom('a' as AccountId, 'b' as AccountId),
  day: fc.constantFrom('2026-11-01', '2026-11-02'),
  parts: fc.array(fc.string({ maxLength: 3 }), { minLength: 1, maxLength: 3 }),
})

test('R37: an id is made of the provider and 26 letters and digits', () => {
  fc.assert(
    fc.property(content, (row) => {
      const id = makeRowIdentity('akahu', user).next(row)
      assert.match(id, /^akahu_tx_[0-9a-hjkmnp-tv-z]{26}$/)
    }),
  )
})

test('R37: the same rows have the same ids whenever they are read, and no two rows have the same', () => {
  fc.assert(
    fc.property(fc.array(content, { maxLength: 30 }), (rows) => {
      const read = () => {
        const identity = makeRowIdentity('up', user)
        return rows.map((row) => identity.next(row))
      }
      const ids = read()
      assert.deepEqual(read(), ids)
      assert.equal(new Set(ids).size, rows.length)
    }),
  )
})

test('R37: rows that come or go between others change no id of another content', () => {
  fc.assert(
    fc.property(fc.array(content, { maxLength: 20 }), content, (rows, more) => {
      const others = rows.filter((row) => JSON.stringify(row) !== JSON.stringify(more))
      const [before, after] = [makeRowIdentity('up', user), makeRowIdentity('up', user)]
      after.next(more)
      for (const row of others) assert.equal(after.next(row), before.next(row))
    }),
  )
})

test('R37: another user has another id for the same content', () => {
  fc.assert(
    fc.property(content, (row) => {
      const ids = ['one', 'two'].map((id) => makeRowIdentity('up', id as UserId).next(row))
      assert.notEqual(ids[0], ids[1])
    }),
  )
})
