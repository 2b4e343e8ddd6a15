import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameText } from './input.ts'

test('a name has 1 to 100 characters, of which none is a control character or a lone surrogate', () => {
  const isName = (text: string) => nameText(1).safeParse(text).success
  for (const name of ['SimpleFIN', 'Žofia’s phone', '💶'.repeat(100), ' trimmed ']) {
    assert.ok(isName(name), name)
  }
  for (const name of ['', ' ', 'a\nb', 'a\u0085b', '\ud800', '💶'.repeat(101)]) {
    assert.ok(!isName(name), JSON.stringify(name))
  }
  assert.ok(nameText(0).safeParse('').success)
})

test('the pattern of a name is read the same by a validator without the Unicode flag', () => {
  const { pattern } = nameText(1).toJSONSchema()
  assert.ok(pattern !== undefined)
  assert.match('SimpleFIN', new RegExp(pattern))
})
