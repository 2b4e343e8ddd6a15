import assert from 'node:assert/strict'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { maxBodyBytes } from '#contract/limits.ts'
import { ClientDisconnected } from '../client.ts'
import { BodiesInFlight, type Body, ReceivedBody } from './received-body.ts'
import { readBody } from './request-body.ts'

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

class Counted extends BodiesInFlight {
  readonly open = new Set<ReceivedBody>()
  override count(body: ReceivedBody): void {
    this.open.add(body)
    super.count(body)
  }
  override remove(body: ReceivedBody): void {
    this.open.delete(body)
    super.remove(body)
  }
}

function begin() {
  const request = new IncomingMessage(new Socket())
  Object.assign(request, { url: '/mcp', headers: { 'transfer-encoding': 'chunked' } })
  const bodies = new Counted()
  const body = new ReceivedBody(request, { bodies, countPart() {}, cutOff() {} })
  return { request, body, empty: body.held, isCounted: () => bodies.open.size > 0 }
}

interface Ending {
  end(begun: ReturnType<typeof begin>): unknown
  readonly outcome: Body
}

const endings: Readonly<Record<string, Ending>> = {
  whole: { end: ({ request }) => request.push(null), outcome: Buffer.from('ab') },
  'too large': {
    end: ({ request }) => request.push(new Uint8Array(maxBodyBytes)),
    outcome: 'too_large',
  },
  'broken off': {
    end: ({ body }) => body.leave(),
    outcome: new ClientDisconnected('the client disconnected during its request'),
  },
}

for (const [name, { end, outcome }] of Object.entries(endings)) {
  test(`a body that is ${name} is no longer counted, keeps no bytes, and reaches whoever reads it before or after`, async () => {
    for (const isReadFirst of [true, false]) {
      const begun = begin()
      const { request, body, empty, isCounted } = begun
      const early = isReadFirst ? readBody(request) : null
      request.push(Buffer.from('a'))
      request.push(Buffer.from('b'))
      assert(isCounted() && body.held > empty)
      end(begun)
      // One that would be thrown would be unhandled by now.
      await nextTurn()
      assert.deepEqual(await (early ?? readBody(request)), outcome)
      assert.deepEqual([isCounted(), body.held], [false, empty])
    }
  })
}
