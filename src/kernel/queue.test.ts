/** The queue: work with one key runs in sequence, work with different keys concurrently. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeQueue } from './queue.ts'

test('work of one key runs in the order it came, one at a time', async () => {
  const queue = makeQueue()
  const events: string[] = []
  const work = (name: string, ms: number) => async () => {
    events.push(`${name} begins`)
    await sleep(ms)
    events.push(`${name} ends`)
    return name
  }
  const results = await Promise.all([
    queue.take('key', work('first', 15)),
    queue.take('key', work('second', 1)),
  ])
  assert.deepEqual(results, ['first', 'second'])
  assert.deepEqual(events, ['first begins', 'first ends', 'second begins', 'second ends'])
})

test('other keys do not wait', async () => {
  const queue = makeQueue()
  const blocked = Promise.withResolvers<void>()
  const waiting = queue.take('one', () => blocked.promise)
  assert.equal(await queue.take('other', async () => 'done'), 'done')
  blocked.resolve()
  await waiting
})

test('a failure reaches only its own caller', async () => {
  const queue = makeQueue()
  const failing = queue.take('key', () => Promise.reject(new Error('no')))
  const next = queue.take('key', async () => 'runs all the same')
  await assert.rejects(failing, /no/)
  assert.equal(await next, 'runs all the same')
})
