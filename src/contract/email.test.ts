import assert from 'node:assert/strict'
import { test } from 'node:test'
import { comparableEmails, isEmail } from './email.ts'

test('an e-mail address is one that mail could reach, without characters that a store refuses', () => {
  for (const text of [
    'a@b.example',
    'owner@localhost',
    "o'neil+bank@mail.example.com",
    'z\u00f6e@b\u00fccher.example',
  ]) {
    assert.equal(isEmail(text), true, text)
  }
  const bad = ['', 'a', '@b.example', 'a@', 'a b@c.example', 'a@@b.example', 'a@b..example']
  for (const text of [
    ...bad,
    'a\u0000@b.example',
    'a@b\u0001.example',
    `${'a'.repeat(250)}@b.example`,
    '<a@b.example>',
    'a@b.example>',
    'a@b.example>SIZE=1',
    'b>,<a@b.example',
  ]) {
    assert.equal(isEmail(text), false, text)
  }
})

test('blanks, case, forms of a letter and the encoding of a domain make no other address', () => {
  const keptAs = (text: string) => comparableEmails(text)[0]
  const one = 'zo\u00eb@b\u00fccher.example'
  for (const text of [one, ` ${one}\u00a0`, one.toUpperCase(), one.normalize('NFD')]) {
    assert.equal(keptAs(text), one)
  }
  assert.ok(comparableEmails('Zo\u00eb@xn--bcher-kva.example').includes(one))
  assert.ok(comparableEmails(one).includes('zo\u00eb@xn--bcher-kva.example'))
  assert.deepEqual(comparableEmails('A@b.example'), ['a@b.example'])
  assert.deepEqual(comparableEmails('nobody'), ['nobody'])
})
