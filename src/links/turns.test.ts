/** Turns: one after another for one key, side by side for several. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeTurns } from './turns.ts'

test('work of one key runs in the order it came, one at a time', async () => {
  const turns = makeTurns()
  const events: string[] = []
  const work = (name: string, ms: number) => async () => {
    events.push(`${name} begins`)
    await sleep(ms)
    events.push(`${name} ends`)
    return name
  }
  const results = await Promise.all([
    turns.take('key', work('first', 15)),
    turns.take('key', work('second', 1)),
  ])
  assert.deepEqual(results, ['first', 'second'])
  assert.deepEqual(events, ['first begins', 'first ends', 'second begins', 'second ends'])
})

test('other keys do not wait', async () => {
  const turns = makeTurns()
  const blocked = Promise.withResolvers<void>()
  const waiting = turns.take('one', () => blocked.promise)
  assert.equal(await turns.take('other', async () => 'done'), 'done')
  blocked.resolve()
  await waiting
})

test('a failure is the affair of its own caller alone', async () => {
  const turns = makeTurns()
  const failing = turns.take('key', () => Promise.reject(new Error('no')))
  const next = turns.take('key', async () => 'runs all the same')
  await assert.rejects(failing, /no/)
  assert.equal(await next, 'runs all the same')
})
