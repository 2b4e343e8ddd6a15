import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BodiesInFlight, type ReceivedBody } from './received-body.ts'

const mebibyte = 1024 * 1024

function makeBody(held: number) {
  const body = {
    held,
    isEnded: false,
    request: { socket: { destroy: () => (body.isEnded = true) } },
  }
  return body as typeof body & ReceivedBody
}

test('a body that ends itself by growing takes from the count what it added, and no more when its connection closes', () => {
  const bodies = new BodiesInFlight()
  for (let round = 0; round < 100; round += 1) {
    const body = makeBody(mebibyte)
    bodies.count(body)
    body.held = 33 * mebibyte
    bodies.count(body)
    assert.ok(body.isEnded)
    bodies.remove(body)
  }
  const held = Array.from({ length: 40 }, () => makeBody(mebibyte))
  for (const body of held) bodies.count(body)
  assert.equal(held.filter(({ isEnded }) => !isEnded).length, 32)
  assert.ok(held[0]?.isEnded)
})
