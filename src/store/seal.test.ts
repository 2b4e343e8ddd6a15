import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeSealer, SealError } from './seal.ts'

const keyA = new Uint8Array(32).fill(1)
const keyB = new Uint8Array(32).fill(2)
const text = Buffer.from('a secret')

test('what is sealed opens again for the same purpose and row', () => {
  const sealer = makeSealer([keyA])
  for (const plaintext of [text, Buffer.alloc(0), Buffer.alloc(100_000, 7)])
    assert.deepEqual(
      Buffer.from(sealer.open('login', 'row 1', sealer.seal('login', 'row 1', plaintext), null)),
      plaintext,
    )
})

test('the same text never seals to the same bytes, and never shows in them', () => {
  const sealer = makeSealer([keyA])
  const [one, two] = [sealer.seal('login', 'row', text), sealer.seal('login', 'row', text)]
  assert.notDeepEqual(one, two)
  assert.ok(!Buffer.from(one).includes(text))
})

test('another purpose, another row and any changed byte do not open', () => {
  const sealer = makeSealer([keyA])
  const sealed = sealer.seal('login', 'row', text)
  assert.throws(() => sealer.open('other', 'row', sealed, null), SealError)
  assert.throws(() => sealer.open('login', 'other', sealed, null), SealError)
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Uint8Array.from(sealed)
    changed[index] = (changed[index] ?? 0) ^ 0x10
    assert.throws(() => sealer.open('login', 'row', changed, null), SealError, `byte ${index}`)
  }
  for (const length of [0, 1, 20, sealed.length - 1])
    assert.throws(() => sealer.open('login', 'row', sealed.subarray(0, length), null), SealError)
})

test('purpose and row are kept apart, however they are spelled', () => {
  const sealer = makeSealer([keyA])
  const sealed = sealer.seal('a', 'b:c', text)
  assert.throws(() => sealer.open('a:b', 'c', sealed, null), SealError)
})

test('the first key seals, every listed key opens, an unlisted one is named by its fingerprint', () => {
  const old = makeSealer([keyA])
  const sealed = old.seal('login', 'row', text)
  const rotated = makeSealer([keyB, keyA])
  assert.deepEqual(Buffer.from(rotated.open('login', 'row', sealed, null)), text)
  assert.equal(rotated.keyOf(sealed), old.current)
  assert.equal(rotated.keyOf(rotated.seal('login', 'row', text)), makeSealer([keyB]).current)
  assert.ok(rotated.knows(old.current))
  const without = makeSealer([keyB])
  assert.ok(!without.knows(old.current))
  assert.throws(() => without.open('login', 'row', sealed, null), new RegExp(old.current))
})

test('a fingerprint is short, stable and not the key', () => {
  const { current } = makeSealer([keyA])
  assert.match(current, /^[0-9a-f]{16}$/)
  assert.equal(current, makeSealer([keyA]).current)
  assert.ok(!Buffer.from(keyA).toString('hex').includes(current))
})

test('derived keys differ by purpose and by key, and stay the same over restarts', () => {
  const sealer = makeSealer([keyA, keyB])
  const derived = sealer.derive('cookies')
  assert.equal(derived.byteLength, 32)
  assert.deepEqual(derived, makeSealer([keyA]).derive('cookies'))
  assert.notDeepEqual(derived, sealer.derive('ledger'))
  assert.notDeepEqual(derived, makeSealer([keyB]).derive('cookies'))
  // Changing the returned copy must not affect the next one.
  derived.fill(0)
  assert.notDeepEqual(derived, sealer.derive('cookies'))
})

test('no key and a key of another length are refused', () => {
  assert.throws(() => makeSealer([]), RangeError)
  assert.throws(() => makeSealer([keyA, new Uint8Array(31)]), RangeError)
})
