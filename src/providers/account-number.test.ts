import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hideNumbers } from './account-number.ts'

const hide = (name: string, number: string, mask: string | null) =>
  hideNumbers(name, [{ number, mask }])

test('a number in a name is masked, however it is spelled', () => {
  for (const spelled of [
    '10348821',
    '1034 8821',
    '1034-8821',
    '10.34.88.21',
    '１０３４/８８２１',
  ]) {
    assert.equal(hide(`Rent ${spelled} joint`, '1034-8821', 'xxxx8821'), 'Rent xxxx8821 joint')
  }
  assert.equal(hide('Joint U1234567', 'u1234567', 'xxxx4567'), 'Joint xxxx4567')
})

test('the long parts of a number are numbers too, with their leading zeros and without', () => {
  const number = '01-0242-0100194-000'
  for (const spelled of ['0100194', '100194', '0100194-000', number]) {
    assert.equal(hide(`Kiwi ${spelled}`, number, 'xxxx4000').replace(/-000$/, ''), 'Kiwi xxxx4000')
  }
})

test('other numbers stay, and so does a number of four characters, which is all that a mask shows', () => {
  assert.equal(hide('Holiday 2027', '10348821', 'xxxx8821'), 'Holiday 2027')
  assert.equal(hide('Card 8821', '8821', 'xxxx8821'), 'Card 8821')
  assert.equal(hide('Member saver', 'MEMBER', null), 'Member saver')
  assert.equal(hideNumbers('Bills', [{ number: null, mask: null }]), 'Bills')
})

test('no name keeps the number', () => {
  const digits = fc.stringMatching(/^[0-9]{5,16}$/)
  fc.assert(
    fc.property(digits, fc.string(), fc.string(), (number, before, after) => {
      const hidden = hide(`${before}${number}${after}`, number, 'xxxx')
      assert(!hidden.includes(number) || `${before}${after}`.includes(number))
    }),
  )
})
