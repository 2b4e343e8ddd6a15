/** Places of a process for runs: bounded, and given to callers who wait, in their order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRunPlaces } from './run-places.ts'

const never = new AbortController().signal

test('the number of places is bounded, and a place is released once', () => {
  const places = makeRunPlaces({ inAll: 2, waiting: 1 })
  const first = places.take() ?? assert.fail()
  assert.notEqual(places.take(), null)
  assert.equal(places.take(), null)
  first.release()
  first.release()
  assert.notEqual(places.take(), null)
  assert.equal(places.take(), null)
})

test('callers who wait get places before anybody else, in their order', async () => {
  const places = makeRunPlaces({ inAll: 1, waiting: 2 })
  const held = (await places.wait(never)) ?? assert.fail()
  const order: string[] = []
  const wait = async (name: string) => {
    const place = (await places.wait(never)) ?? assert.fail()
    order.push(name)
    return place
  }
  const [first, second] = [wait('first'), wait('second')]
  assert.equal(await places.wait(never), null, 'two wait already')
  held.release()
  assert.equal(places.take(), null, 'it is not free in between')
  ;(await first).release()
  ;(await second).release()
  assert.deepEqual(order, ['first', 'second'])
  assert.notEqual(places.take(), null)
})

test('a caller that stops waiting takes no place from the others', async () => {
  const places = makeRunPlaces({ inAll: 1, waiting: 2 })
  const held = places.take() ?? assert.fail()
  const leaving = new AbortController()
  const [gone, next] = [places.wait(leaving.signal), places.wait(never)]
  leaving.abort()
  assert.equal(await gone, null)
  assert.equal(await places.wait(leaving.signal), null)
  held.release()
  assert.notEqual(await next, null)
})

test('after closing, no waiting caller gets a place', async () => {
  const places = makeRunPlaces({ inAll: 1, waiting: 2 })
  places.take()
  const waiting = places.wait(never)
  places.close()
  assert.deepEqual([await waiting, await places.wait(never)], [null, null])
})
