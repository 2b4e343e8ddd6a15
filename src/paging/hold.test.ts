/** The bound of the pages in memory: compressed first, then let go as a whole, the least used first. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { type HeldSnapshot, openHolder, unpack } from './hold.ts'
import { makeSnapshot } from './snapshot.ts'

const facts = {
  generation: '',
  generationEpoch: 1,
  generationAt: 0,
  seed: { first: 1, second: 2 },
  window: { from: null, to: null },
  firsts: null,
}

function makeHeld(bytes: Uint8Array, expiresAt = 1000): HeldSnapshot {
  const bodies = new Map([['page', bytes]])
  const snapshot = makeSnapshot(facts, 1)
  return { snapshot, bodies, expiresAt, version: null, saved: new Set() }
}

const text = (length: number) => new Uint8Array(Buffer.alloc(length, 'a page of rows '))
/** Bytes that do not become smaller. */
const noise = (length: number) => crypto.getRandomValues(new Uint8Array(length))

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (isSo()) return
    await sleep(10)
  }
  assert.fail(what)
}

test('beyond the bound the bodies used least are compressed, and none is lost', async () => {
  const holder = openHolder({ maxBytes: 60_000, clock: { now: () => 0 } })
  const held = [1, 2, 3].map(() => makeHeld(text(30_000)))
  for (const [index, one] of held.entries()) holder.keep(`${index}`, one)
  const isPacked = (index: number) => (held[index]?.bodies.get('page')?.length ?? 0) < 30_000
  await until('the oldest is compressed', () => isPacked(0))
  await sleep(20)
  assert.deepEqual([isPacked(1), isPacked(2)], [true, false])
  const body = holder.get('0')?.bodies.get('page') ?? assert.fail()
  assert.deepEqual(Buffer.from(await unpack(body)), Buffer.from(text(30_000)))
  holder.close()
})

test('what compression cannot make small enough is let go as a whole, the least used first', async () => {
  const holder = openHolder({ maxBytes: 60_000, clock: { now: () => 0 } })
  holder.keep('a', makeHeld(noise(25_000)))
  holder.keep('b', makeHeld(noise(25_000)))
  assert.notEqual(holder.get('a'), null)
  holder.keep('c', makeHeld(noise(25_000)))
  // Looking at a snapshot uses it, so that nothing is asked meanwhile.
  await sleep(1000)
  assert.equal(holder.get('b'), null)
  assert.notEqual(holder.get('c'), null)
  assert.notEqual(holder.get('a'), null)
  holder.close()
})

test('a snapshot that is kept again while its bodies are compressed is not let go for its former size', async () => {
  const holder = openHolder({ maxBytes: 60_000, clock: { now: () => 0 } })
  const held = makeHeld(text(50_000))
  for (let page = 0; page < 8; page += 1) held.bodies.set(`page ${page}`, text(50_000))
  holder.keep('a', held)
  for (let turn = 0; turn < 20; turn += 1) {
    holder.keep('a', held)
    await nextTurn()
  }
  await until('all are compressed', () =>
    [...held.bodies.values()].every((body) => body.length < 5000),
  )
  await sleep(20)
  assert.equal(holder.get('a'), held)
  holder.close()
})

test('memory is bounded while pages are being compressed, and one large snapshot is kept', () => {
  const holder = openHolder({ maxBytes: 10_000, clock: { now: () => 0 } })
  holder.keep('a', makeHeld(noise(15_000)))
  holder.keep('b', makeHeld(noise(15_000)))
  assert.equal(holder.get('a'), null)
  assert.notEqual(holder.get('b'), null)
  holder.close()
})

test('R19: an expired snapshot is let go even when no request uses it', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  const holder = openHolder({ maxBytes: 10_000, clock: { now: () => now } })
  holder.keep('a', makeHeld(text(10), 1000))
  now = 999
  t.mock.timers.tick(30_000)
  assert.notEqual(holder.get('a'), null)
  now = 1000
  t.mock.timers.tick(30_000)
  assert.equal(holder.get('a'), null)
  holder.close()
})
