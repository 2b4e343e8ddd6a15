import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatheredBytes } from './gathered-bytes.ts'

test('parts are one text in their order, and are held in little more memory than they have bytes', () => {
  const bytes = new GatheredBytes(10_000)
  const part = Buffer.from('x')
  for (let count = 0; count < 5000; count += 1) {
    part[0] = 97 + (count % 26)
    assert(bytes.add(part))
    assert(bytes.held <= Math.max(1024, 2 * (count + 1)))
  }
  const text = bytes.take().toString()
  assert.equal(text.length, 5000)
  assert.equal(text.slice(24, 28), 'yzab')
  assert.equal(bytes.take().length, 0)
})

test('as many bytes as may be are taken, and no more', () => {
  const bytes = new GatheredBytes(3)
  assert.equal(bytes.add(Buffer.from('ab')), true)
  assert.equal(bytes.add(Buffer.from('cd')), false)
  assert.equal(bytes.add(Buffer.from('c')), true)
  assert.equal(bytes.add(Buffer.from('d')), false)
  assert.equal(bytes.take().toString(), 'abc')
})
