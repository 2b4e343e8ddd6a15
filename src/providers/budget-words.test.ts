/** What operators are told of a limit that nobody uses yet. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeBudget } from './budget-words.ts'

test('a limit of each account is one, too: only a provider without any has none', () => {
  assert.equal(describeBudget('enablebanking'), '4 a day for each account, 2 of them for people')
  assert.equal(describeBudget('simplefin'), '24 a day, 12 of them for people')
  assert.equal(describeBudget('fiskil'), 'no known limit')
})
