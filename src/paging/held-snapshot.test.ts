/**
 * The bound of the pages in memory: bodies are compressed, and whole snapshots are let go, the least used
 * first.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serialize } from 'node:v8'
import { packAll, unpack } from '#kernel/packed.ts'
import { ageOf } from '#providers/data-age.ts'
import { endOf, type HeldSnapshot } from './held-snapshot.ts'
import { decode, encode, openPlace } from './place.ts'
import { makeSnapshot, type SnapshotPage } from './snapshot.ts'

const facts = {
  generation: '',
  generationEpoch: 1,
  generationAt: 0,
  seed: 1,
  window: { from: null, to: null },
  firsts: null,
}

function makeHeld(bytes: Uint8Array, expiresAt = 1000): HeldSnapshot {
  const bodies = new Map([['page', bytes]])
  const snapshot = makeSnapshot(facts, [[]])
  return { snapshot, bodies, expiresAt, readAt: 0, version: null, saved: new Set() }
}

const text = (length: number) => new Uint8Array(Buffer.alloc(length, 'a page of rows '))
const openHolder = (maxBytes: number, clock = { now: () => 1 }) =>
  openPlace({ maxBytes, clock, shared: null })

test('a compressed body is smaller and comes back as it was, an empty one too', async () => {
  for (const length of [0, 2, 511, 512, 30_000, 3_000_000]) {
    const held = makeHeld(text(length))
    await packAll(held.bodies)
    const once = held.bodies.get('page') ?? assert.fail()
    assert.ok(length < 1000 || once.length < length / 5)
    await packAll(held.bodies)
    assert.equal(held.bodies.get('page'), once)
    assert.deepEqual(Buffer.from(await unpack(once)), Buffer.from(text(length)))
  }
})

test('beyond the bound whole snapshots are let go, the least used first', () => {
  const holder = openHolder(60_000)
  holder.keep('a', makeHeld(text(25_000)))
  holder.keep('b', makeHeld(text(25_000)))
  assert.notEqual(holder.own.get('a'), undefined)
  holder.keep('c', makeHeld(text(25_000)))
  assert.equal(holder.own.get('b'), undefined)
  assert.notEqual(holder.own.get('c'), undefined)
  assert.notEqual(holder.own.get('a'), undefined)
  holder.own.clear()
})

test('a snapshot that is kept again counts with its present size alone', () => {
  const holder = openHolder(60_000)
  const grown = makeHeld(text(20_000))
  holder.keep('a', makeHeld(text(20_000)))
  for (let turn = 0; turn < 20; turn += 1) holder.keep('b', grown)
  assert.notEqual(holder.own.get('a'), undefined)
  grown.bodies.set('next', text(30_000))
  holder.keep('b', grown)
  assert.equal(holder.own.get('a'), undefined)
  holder.own.delete('b')
  for (const key of ['c', 'd']) holder.keep(key, makeHeld(text(25_000)))
  assert.notEqual(holder.own.get('c'), undefined)
  holder.own.clear()
})

test('one snapshot beyond the bound is kept alone', () => {
  const holder = openHolder(10_000)
  holder.keep('a', makeHeld(text(15_000)))
  holder.keep('b', makeHeld(text(15_000)))
  assert.equal(holder.own.get('a'), undefined)
  assert.notEqual(holder.own.get('b'), undefined)
  holder.own.clear()
})

test('R19: an expired snapshot is let go even when no request uses it', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let now = 1
  const holder = openHolder(10_000, { now: () => now })
  holder.keep('a', makeHeld(text(10), 1000))
  now = 1000
  t.mock.timers.tick(999)
  assert.equal(holder.own.size, 1)
  now = 1001
  t.mock.timers.tick(1)
  assert.equal(holder.own.size, 0)
})

test('R36: rows are as old as the oldest of their pages, and end with the first of them', () => {
  const page = (age: SnapshotPage['age']) => ({ age }) as SnapshotPage
  const read = page(null)
  assert.deepEqual(ageOf([read]), { goodUntil: Number.POSITIVE_INFINITY })
  assert.equal(endOf({ expiresAt: 50 }, [[read]]), 50)
  const lists = [
    [page({ asOf: 9, goodUntil: 40 }), read],
    [page({ asOf: 7, goodUntil: 60 }), page({ asOf: null, goodUntil: 70 })],
  ]
  assert.deepEqual(ageOf(lists.flat()), { asOf: 7, goodUntil: 40 })
  assert.deepEqual([endOf({ expiresAt: 50 }, lists), endOf({ expiresAt: 30 }, lists)], [40, 30])
})

test('what has another layout, or is no value of ours, is not read', () => {
  const value = { marks: new Map([[1, 2]]) }
  assert.deepEqual(decode(encode(value)), value)
  for (const other of [{ layout: 4, value }, { value }, value, null]) {
    assert.equal(decode(serialize(other)), null)
  }
  assert.equal(decode(new Uint8Array(8)), null)
})
