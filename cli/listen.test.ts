/**
 * `webhooks listen` as a process, against a whole service: it receives, verifies, prints, and leaves nothing
 * behind.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { request } from 'undici'
import { adminToken, makeWorld } from '#tests/request/admin/world.ts'
import { startWorker } from '#tests/request/webhooks/stage.ts'
import { startListening } from '#tests/support/listening.ts'
import { until } from '#tests/support/until.ts'

interface WorldOf {
  readonly allowPrivate: boolean
}

async function start(t: TestContext, { allowPrivate }: WorldOf = { allowPrivate: true }) {
  const world = await makeWorld(t, { allowPrivate })
  const userId = await world.addUser('emma@b.example')
  // Receivers judge the time of a message by the clock of the machine.
  world.clock.advance(Date.now() - world.clock.now())
  const failed = (_task: string, error: unknown) => assert.fail(String(error))
  const report = { attempt: () => {}, warning: () => {}, shredded: () => {}, failed }
  const worker = startWorker(world.store, { clock: world.clock, report })
  t.after(() => worker.stop())
  const url = await world.door.listen({ host: '127.0.0.1', port: 0 })
  const environment = { ADMIN_URL: url, ADMIN_TOKEN: adminToken }
  const listen = (...args: string[]) =>
    startListening(['--user', 'emma@b.example', ...args], environment)
  const endpoints = () => world.store.endpoints.list(userId as never)
  return { world, listen, endpoints }
}

test('listen prints each event that arrives, verified, and removes its endpoint when it is stopped', async (t) => {
  const { world, listen, endpoints } = await start(t)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const { child, lines, ended } = listen()
    await until('it listens', () => lines.length === 1)
    const [endpoint] = await endpoints()
    assert.ok(endpoint)
    assert.match(
      lines[0] ?? '',
      new RegExp(`Listening for the events of emma@b.example.*${endpoint.id}`),
    )
    const answer = await world.ask('POST', `/admin/webhooks/${endpoint.id}/test`)
    assert.equal((answer.body as { status: string }).status, 'succeeded')
    await until('it is printed', () => lines.length === 3)
    assert.match(
      lines[1] ?? '',
      /transactions\.synced {2}0 new, 0 updated {2}chunk 1 of 1 {2}signature verified/,
    )
    assert.match(lines[2] ?? '', /^ {2}\{"id":/)
    child.kill(signal)
    assert.deepEqual(await ended, { code: 0, err: '' })
    assert.deepEqual(await endpoints(), [])
  }
})

test('listen ends and removes its endpoint when its output is no longer read', async (t) => {
  const { world, listen, endpoints } = await start(t)
  const { child, lines, ended } = listen()
  await until('it listens', () => lines.length === 1)
  const [endpoint] = await endpoints()
  child.stdout.destroy()
  await world.ask('POST', `/admin/webhooks/${endpoint?.id}/test`)
  assert.deepEqual(await ended, { code: 0, err: '' })
  assert.deepEqual(await endpoints(), [])
})

test('with --json every line is a document, and an event with another signature is refused', async (t) => {
  const { world, listen, endpoints } = await start(t)
  const { child, lines, ended } = listen('--json')
  await until('it listens', () => lines.length === 1)
  const [endpoint] = await endpoints()
  assert.ok(endpoint)
  const { listening } = JSON.parse(lines[0] ?? '')
  assert.deepEqual(listening, { url: endpoint.url, webhookId: endpoint.id })
  await world.ask('POST', `/admin/webhooks/${endpoint.id}/test`)
  const forged = await request(endpoint.url, { method: 'POST', body: '{"type":"\u001b[2J"}' })
  await forged.body.dump()
  assert.equal(forged.statusCode, 401)
  await until('both are printed', () => lines.length === 3)
  const [genuine, other] = lines.slice(1).map((line) => JSON.parse(line))
  assert.equal(genuine.isGenuine, true)
  assert.equal(genuine.eventId, genuine.body.id)
  assert.equal(genuine.problem, null)
  assert.equal(other.isGenuine, false)
  assert.match(other.problem, /headers/)
  child.kill('SIGTERM')
  assert.equal((await ended).code, 0)
})

test('where the server sends nothing to private addresses, listen says so and what to do', async (t) => {
  const { listen, endpoints } = await start(t, { allowPrivate: false })
  const { lines, ended } = listen()
  const { code, err } = await ended
  assert.equal(code, 1)
  assert.match(err, /no events to private addresses/)
  assert.match(err, /WEBHOOK_ALLOW_PRIVATE=true/)
  assert.deepEqual(lines, [])
  assert.deepEqual(await endpoints(), [])
})

test('a taken port is refused before an endpoint is created', async (t) => {
  const { world, listen, endpoints } = await start(t)
  const { port } = world.door.server.address() as { port: number }
  const { ended } = listen('--port', String(port))
  const { code, err } = await ended
  assert.equal(code, 1)
  assert.match(err, /port \d+ is taken/)
  assert.deepEqual(await endpoints(), [])
})

test('an endpoint that was removed already is no failure at the end; when the server is unreachable, what remains is reported', async (t) => {
  const { world, listen, endpoints } = await start(t)
  const first = listen()
  await until('it listens', () => first.lines.length === 1)
  const [endpoint] = await endpoints()
  await world.ask('DELETE', `/admin/webhooks/${endpoint?.id}`)
  first.child.kill('SIGINT')
  assert.equal((await first.ended).code, 0)
  const second = listen()
  await until('it listens', () => second.lines.length === 1)
  const [left] = await endpoints()
  await world.door.close()
  second.child.kill('SIGINT')
  const { code, err } = await second.ended
  assert.equal(code, 1)
  assert.match(err, new RegExp(`${left?.id} could not be removed`))
})
