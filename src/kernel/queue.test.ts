/** The queue: work with one key runs in sequence, work with different keys concurrently. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MissedTurnError, makeQueue } from './queue.ts'

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

test('whoever waits for their turn until a time is told at that time, and their work never runs', async () => {
  const queue = makeQueue()
  const blocked = Promise.withResolvers<void>()
  const waiting = queue.take('key', () => blocked.promise)
  const events: string[] = []
  const work = (name: string) => async () => void events.push(name)
  const ending = new AbortController()
  const missed = queue.take('key', work('missed'), ending.signal)
  const patient = queue.take('key', work('patient'), new AbortController().signal)
  ending.abort()
  await assert.rejects(missed, MissedTurnError)
  await assert.rejects(queue.take('key', work('late'), ending.signal), MissedTurnError)
  assert.deepEqual(events, [])
  blocked.resolve()
  await Promise.all([waiting, patient])
  await queue.take('key', work('last'))
  assert.deepEqual(events, ['patient', 'last'])
})

test('work that has begun is not missed any more, however long it takes', async () => {
  const queue = makeQueue()
  const ending = new AbortController()
  const work = async () => {
    ending.abort()
    await sleep(5)
    return 'done'
  }
  assert.equal(await queue.take('key', work, ending.signal), 'done')
})
