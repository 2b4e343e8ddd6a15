/** Proves that request ids are unique within a process and between processes, and valid in a header. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRequestIds } from './request-id.ts'

test('a hundred thousand ids are all different and fit for a header', () => {
  const next = makeRequestIds()
  const ids = Array.from({ length: 100_000 }, next)
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids)
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('two makers share no id', () => {
  const [one, other] = [makeRequestIds(), makeRequestIds()]
  const ids = Array.from({ length: 1000 }, () => [one(), other()]).flat()
  assert.equal(new Set(ids).size, ids.length)
})
