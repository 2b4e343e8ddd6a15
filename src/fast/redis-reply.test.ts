/** Replies of another shape than our scripts give: from a proxy, or from something that is no Redis. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readReply } from './redis-reply.ts'

test('a reply that looks into the cache is four numbers and what follows', () => {
  const items = [5, 7, 60_000, 1, Buffer.from('sealed'), 1000]
  const { kind, count, leftMs, foreign, items: given } = readReply(items)
  assert.deepEqual([kind, count, leftMs, foreign], [5, 7, 60_000, 1])
  assert.deepEqual(given, items)
})

const others: Readonly<Record<string, unknown>> = {
  nothing: null,
  'a text': 'OK',
  'an empty list': [],
  'three numbers': [1, 2, 3],
  'texts for numbers': ['1', '2', '3', '0'],
  'more deleted names than a script has': [3, 1, 60_000, 999_999_999],
  'fewer than none': [3, 1, 60_000, -1],
}
for (const [what, reply] of Object.entries(others)) {
  test(`${what} as a reply is refused`, () => {
    assert.throws(() => readReply(reply), /^Error: (?:the reply of a script|a script cannot)/)
  })
}
