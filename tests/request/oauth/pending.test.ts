/** Requests that wait for a person: bounded in size, per address and in all, and gone after ten minutes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authorize, decide, type Fields, Jar, loopback, makePkce, register, send } from './dance.ts'
import { startWorld, type World } from './world.ts'

const { challenge } = makePkce()

async function newClient(world: World, at = '203.0.113.200'): Promise<string> {
  const metadata = { client_name: 'Probe', redirect_uris: [loopback] }
  return (await register(world, metadata, { 'x-test-address': at })).body.client_id
}

const ask = (world: World, clientId: string, address: string, over: Fields = {}) =>
  authorize(world, { clientId, challenge, over, headers: { 'x-test-address': address } })

/** Rows that wait, as the store counts them: one more is refused where there are `most` already. */
async function isWaiting(world: World, most: number): Promise<boolean> {
  const row = {
    model: 'Interaction' as const,
    id: new Uint8Array(32).fill(9),
    grantId: null,
    origin: null,
    payload: '{}',
    createdAt: world.clock.now(),
    expiresAt: world.clock.now() + 1000,
  }
  const bounds = { at: world.clock.now(), ofOrigin: 1, inAll: most }
  const outcome = await world.store.oauth.savePending(row, bounds)
  await world.store.oauth.delete('Interaction', row.id)
  return outcome === 'full'
}

test('a flood of requests from one address leaves fifty that wait, and nothing of the refused ones', async () => {
  const world = await startWorld()
  const clientId = await newClient(world)
  const replies = await Promise.all(
    Array.from({ length: 200 }, (_, index) => ask(world, clientId, `2001:db8:1:2::${index + 1}`)),
  )
  const waiting = replies.filter(({ status }) => status === 303)
  const refused = replies.filter(({ status }) => status === 429)
  assert.deepEqual([waiting.length, refused.length], [50, 150])
  for (const reply of refused) {
    assert.equal(reply.headers.location, undefined)
    assert.equal(reply.headers['retry-after'], '60')
    assert.equal(reply.headers['set-cookie'], undefined)
    assert.match(String(reply.headers['content-type']), /^text\/html/)
    assert.match(reply.text, /too many requests.*href="\/"/s)
  }
  assert.deepEqual([await isWaiting(world, 51), await isWaiting(world, 50)], [false, true])
  assert.deepEqual(world.reachedBounds, Array(150).fill('address'))
  // Others are not affected, and this network is admitted again once its requests have expired.
  assert.equal((await ask(world, clientId, '2001:db8:1:3::1')).status, 303)
  world.clock.advance(10 * 60_000)
  assert.equal((await ask(world, clientId, '2001:db8:1:2::1')).status, 303)
  await world.sweep()
  assert.deepEqual([await isWaiting(world, 2), await isWaiting(world, 1)], [false, true])
  assert.deepEqual(world.failures, [])
  await world.close()
})

test('a request that was decided makes room for the next', async () => {
  const world = await startWorld()
  const clientId = await newClient(world)
  const jar = new Jar()
  const headers = { 'x-test-address': '192.0.2.1' }
  const first = await authorize(world, { clientId, challenge, headers }, jar)
  for (let count = 1; count < 50; count += 1)
    assert.equal((await ask(world, clientId, '192.0.2.1')).status, 303)
  assert.equal((await ask(world, clientId, '192.0.2.1')).status, 429)
  const person = await world.addPerson()
  const url = await decide(world, String(first.headers.location), jar, { person })
  assert.ok(url.searchParams.get('code'))
  assert.equal((await ask(world, clientId, '192.0.2.1')).status, 303)
  await world.close()
})

test('a query or a parameter of excess length is refused on a page, and nothing of it waits', async () => {
  const world = await startWorld()
  const clientId = await newClient(world)
  const long = {
    state: 2048,
    scope: 512,
    nonce: 512,
    login_hint: 512,
    unheard_of: 512,
    resource: 2048,
    redirect_uri: 2048,
    client_id: 2048,
  }
  for (const [name, most] of Object.entries(long)) {
    const reply = await ask(world, clientId, '192.0.2.1', { [name]: 'x'.repeat(most + 1) })
    assert.equal(reply.status, 400, name)
    assert.equal(reply.headers.location, undefined)
    assert.match(reply.text, new RegExp(`<code>invalid_request</code>, ${name} is longer than`))
  }
  const many = Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => [`p${at}`, 'x'.repeat(500)]),
  )
  const reply = await ask(world, clientId, '192.0.2.1', many)
  assert.equal(reply.status, 400)
  assert.match(reply.text, /the query is longer than 8192 characters/)
  assert.equal(await isWaiting(world, 1), false)
  const kept = await ask(world, clientId, '192.0.2.1', { state: 'x'.repeat(2048) })
  assert.equal(kept.status, 303)
  await world.close()
})

test('a request waits ten minutes and no longer', async () => {
  const world = await startWorld()
  const clientId = await newClient(world)
  const jar = new Jar()
  const reply = await authorize(world, { clientId, challenge }, jar)
  const url = world.url + String(reply.headers.location)
  const shown = async () => (await send(url, { headers: jar.header(url) })).status
  world.clock.advance(10 * 60_000 - 1000)
  assert.equal(await shown(), 200)
  world.clock.advance(1000)
  assert.equal(await shown(), 410)
  await world.close()
})
