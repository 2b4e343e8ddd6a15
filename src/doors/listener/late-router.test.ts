import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { request } from 'undici'
import { type LateDoors, makeLateRouter } from './late-router.ts'

async function serve(t: TestContext, doors: LateDoors) {
  const server = createServer(doors.serve).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return async () => {
    const { statusCode, headers, body } = await request(`http://127.0.0.1:${port}/`)
    return {
      status: statusCode,
      text: await body.text(),
      id: headers['x-request-id'],
      retryAfter: headers['retry-after'],
    }
  }
}

const makeDoors = () => {
  const state = { closed: 0 }
  const doors: LateDoors = {
    serve: (_request, response) => void response.end('served'),
    async close() {
      state.closed += 1
    },
  }
  return { state, doors }
}

test('doors that cannot be loaded are 503 with the envelope and one report, however many requests wait, and the next request tries again', async (t) => {
  const { doors } = makeDoors()
  const failures: unknown[] = []
  const three = Promise.withResolvers<void>()
  let requests = 0
  let attempts = 0
  const open = async () => {
    attempts += 1
    if (attempts > 1) return doors
    await three.promise
    throw new Error('its files are gone')
  }
  const router = makeLateRouter(open, (error) => failures.push(error))
  const ask = await serve(t, {
    ...router,
    serve(request, response) {
      router.serve(request, response)
      requests += 1
      if (requests === 3) three.resolve()
    },
  })
  const refused = await Promise.all([ask(), ask(), ask()])
  for (const { status, text, id, retryAfter } of refused) {
    assert.equal(status, 503)
    assert.equal(retryAfter, '5')
    assert.match(JSON.parse(text).error.message, /temporarily unavailable/)
    assert.equal(typeof id, 'string')
    assert.doesNotMatch(text, /files are gone/)
  }
  assert.equal(failures.length, 1)
  for (const { status, text } of [await ask(), await ask()]) {
    assert.deepEqual({ status, text }, { status: 200, text: 'served' })
  }
  assert.equal(attempts, 2)
})

test('doors are closed once, also when they are loaded after the end; those that nobody asked for are never opened', async (t) => {
  const early = makeDoors()
  const asked = makeLateRouter(async () => early.doors, assert.ifError)
  const ask = await serve(t, asked)
  await ask()
  await asked.close()
  assert.equal(early.state.closed, 1)

  const late = makeDoors()
  const opening = Promise.withResolvers<LateDoors>()
  const slow = makeLateRouter(() => opening.promise, assert.ifError)
  const answer = (await serve(t, slow))()
  await new Promise((resolve) => setTimeout(resolve, 50))
  await slow.close()
  opening.resolve(late.doors)
  await answer
  assert.equal(late.state.closed, 1)

  await makeLateRouter(() => assert.fail('nobody asked'), assert.ifError).close()
})
