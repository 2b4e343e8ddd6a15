/**
 * The contract of every driver for snapshots that processes share: the first to save is not overwritten, and
 * expiry is kept. A driver that shares nothing says so, always.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { SharedSnapshots } from '#fast/port.ts'
import { type KvHarness, minute } from './harness.ts'

const bytes = (text: string) => new Uint8Array(Buffer.from(text))

async function save(
  snapshots: SharedSnapshots,
  key: string,
  text: string,
  expected: string | null,
) {
  const saved = await snapshots.save(key, { expected, bytes: bytes(text), ttlMs: minute })
  return saved.kind === 'saved' ? saved.version : saved.kind
}

async function load(snapshots: SharedSnapshots, key: string, known: string | null = null) {
  const found = await snapshots.load(key, known)
  return found.kind === 'found' ? Buffer.from(found.bytes).toString() : found.kind
}

export function snapshotTests(harness: () => KvHarness): void {
  test('R18: anchors are shared where snapshots are, and neither is found under the name of the other', async () => {
    const { snapshots, anchors } = harness().kv
    const key = randomUUID()
    assert.equal(anchors === null, snapshots === null)
    if (snapshots === null || anchors === null) return
    const first = await save(anchors, key, 'an anchor', null)
    assert.equal(await load(snapshots, key), 'none')
    await save(snapshots, key, 'a snapshot', null)
    assert.equal(await load(anchors, key), 'an anchor')
    assert.equal(await save(anchors, key, 'rival', null), 'conflict')
    assert.equal(await load(anchors, key, first), 'same')
  })

  test('R18: a saved snapshot is continued by another process, and an older version overwrites nothing', async () => {
    const { snapshots, connections } = harness().kv
    const key = randomUUID()
    // Without another process there is nobody who could continue it.
    assert.equal(snapshots === null, connections().length === 0)
    if (snapshots === null) return
    assert.equal(await load(snapshots, key), 'none')
    const first = await save(snapshots, key, 'one', null)
    assert.equal(await save(snapshots, key, 'rival', null), 'conflict')
    assert.equal(await load(snapshots, key), 'one')
    assert.equal(await load(snapshots, key, first), 'same')
    const second = await save(snapshots, key, 'two', first)
    assert.notEqual(second, first)
    assert.equal(await save(snapshots, key, 'late', first), 'conflict')
    assert.equal(await load(snapshots, key, first), 'two')
    assert.equal(await load(snapshots, key, second), 'same')
    assert.equal(await load(snapshots, randomUUID(), second), 'none')
  })

  test('R19: a snapshot is kept for the given time, and none is saved for a time of zero', async () => {
    const h = harness()
    const { snapshots } = h.kv
    if (snapshots === null) return
    const key = randomUUID()
    const life = { expected: null, bytes: bytes('one'), ttlMs: h.scale(minute) }
    assert.equal((await snapshots.save(key, life)).kind, 'saved')
    await h.pass(minute)
    assert.equal(await load(snapshots, key), 'none')
    assert.equal((await snapshots.save(key, { ...life, ttlMs: 0 })).kind, 'unavailable')
    assert.equal(await load(snapshots, key), 'none')
  })

  test('of many who save at once exactly one is first', async () => {
    const { snapshots } = harness().kv
    if (snapshots === null) return
    const key = randomUUID()
    const texts = ['a', 'b', 'c', 'd', 'e']
    const results = await Promise.all(texts.map((text) => save(snapshots, key, text, null)))
    const winners = texts.filter((_text, index) => results[index] !== 'conflict')
    assert.equal(winners.length, 1)
    assert.equal(await load(snapshots, key), winners[0])
  })

  test('a snapshot that is too large to be shared stays in its process', async () => {
    const { snapshots } = harness().kv
    if (snapshots === null) return
    const large = { expected: null, bytes: new Uint8Array(8 * 1024 * 1024), ttlMs: minute }
    assert.equal((await snapshots.save(randomUUID(), large)).kind, 'unavailable')
  })
}
