import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hideNumber } from './account-number.ts'

test('a number in a name is masked, however it is spelled', () => {
  for (const spelled of ['10348821', '1034 8821', '1034-8821', '10.34.88.21']) {
    assert.equal(
      hideNumber(`Rent ${spelled} joint`, '1034-8821', 'xxxx8821'),
      'Rent xxxx8821 joint',
    )
  }
  assert.equal(hideNumber('Joint U1234567', 'u1234567', 'xxxx4567'), 'Joint xxxx4567')
})

test('other numbers stay, and so does a number of four characters, which is all that a mask shows', () => {
  assert.equal(hideNumber('Holiday 2027', '10348821', 'xxxx8821'), 'Holiday 2027')
  assert.equal(hideNumber('Card 8821', '8821', 'xxxx8821'), 'Card 8821')
})

test('no name keeps the number', () => {
  const digits = fc.stringMatching(/^[0-9]{5,16}$/)
  fc.assert(
    fc.property(digits, fc.string(), fc.string(), (number, before, after) => {
      const hidden = hideNumber(`${before}${number}${after}`, number, 'xxxx')
      assert(!hidden.includes(number) || `${before}${after}`.includes(number))
    }),
  )
})
