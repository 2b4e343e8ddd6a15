/**
 * The seal of what is stored in Redis: names reveal nothing, and values open only unchanged, with their
 * secret and key.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeSeal } from './redis-seal.ts'

const secret = new Uint8Array(32).fill(7)
const seal = makeSeal(secret, 'p:')

test('what was sealed opens to the same bytes, mark, life and age', () => {
  const facts = fc.record({
    truncated: fc.boolean(),
    lifeMs: fc.nat(),
    asOf: fc.option(fc.integer({ min: 1, max: 2 ** 47 }), { nil: undefined }),
  })
  const property = fc.property(fc.uint8Array(), facts, fc.string(), (body, given, key) => {
    const { asOf, ...others } = given
    const aged = asOf === undefined ? {} : { asOf }
    const opened = seal.open(key, seal.seal(key, { body, ...others, ...aged }))
    assert.ok(opened !== null)
    assert.deepEqual([...opened.body], [...body])
    assert.deepEqual({ ...opened, body: null }, { ...others, ...aged, body: null })
  })
  fc.assert(property)
})

test('a value changed in any byte, cut short, or under another key does not open', () => {
  const sealed = seal.seal('key', {
    body: Buffer.from('balance 12.34'),
    truncated: false,
    lifeMs: 1,
  })
  for (let at = 0; at < sealed.byteLength; at += 1) {
    const changed = Buffer.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    assert.equal(seal.open('key', changed), null, `changed at ${at}`)
    assert.equal(seal.open('key', sealed.subarray(0, at)), null, `cut at ${at}`)
  }
  assert.equal(seal.open('another key', sealed), null)
})

test('another secret neither opens a value nor finds its name', () => {
  const other = makeSeal(new Uint8Array(32).fill(8), 'p:')
  const sealed = seal.seal('key', { body: new Uint8Array(1), truncated: false, lifeMs: 1 })
  assert.equal(other.open('key', sealed), null)
  assert.notEqual(other.name('cache', 'key'), seal.name('cache', 'key'))
})

test('two seals of one answer share no bytes, so that equal answers cannot be recognised', () => {
  const answer = { body: Buffer.alloc(64, 'a'), truncated: false, lifeMs: 1 }
  const [one, two] = [seal.seal('key', answer), seal.seal('key', answer)]
  assert.equal(one.equals(two), false)
  assert.equal(one.subarray(29).equals(two.subarray(29)), false)
})

test('names of different concerns differ, and none shows its key', () => {
  const names = ['cache', 'window', 'lease', 'breaker'].map((kind) => seal.name(kind, 'user-1'))
  assert.equal(new Set(names).size, names.length)
  assert.ok(names.every((name) => name.startsWith('p:') && !name.includes('user-1')))
})

test('a secret of another size is refused', () => {
  assert.throws(() => makeSeal(new Uint8Array(16), 'p:'), /32 bytes/)
})
