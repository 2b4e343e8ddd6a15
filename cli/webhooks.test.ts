/** The commands on webhook endpoints and deliveries: as documents for scripts, as tables for people. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type TestContext, test } from 'node:test'
import { EventEnvelope } from '#contract/events.ts'
import { newId, type SyncRunId } from '#kernel/ids.ts'
import { adminToken, makeWorld } from '#tests/request/admin/world.ts'
import { startReceiver, startWorker, withStatus } from '#tests/request/webhooks/stage.ts'
import { runCommand } from '#tests/support/command.ts'
import { parseInvocation, UsageError } from './invocation.ts'

async function start(t: TestContext) {
  const syncRunId = newId<SyncRunId>()
  const world = await makeWorld(t, {
    runSync: async () => ({ syncRunId, newCount: 2, updatedCount: 0, chunks: 1 }),
  })
  await world.addUser('emma@b.example')
  const failed = (_task: string, error: unknown) => assert.fail(String(error))
  const report = { attempt: () => {}, warning: () => {}, shredded: () => {}, failed }
  const worker = startWorker(world.store, { clock: world.clock, report })
  t.after(() => worker.stop())
  const url = await world.door.listen({ host: '127.0.0.1', port: 0 })
  const environment = { NODE_ENV: 'test', ADMIN_URL: url, ADMIN_TOKEN: adminToken }
  const tributary = (...args: string[]) =>
    runCommand(args, { environment, workingDirectory: tmpdir() })
  const json = async (...args: string[]) => {
    const { code, out, err } = await tributary(...args, '--json')
    assert.equal(code, 0, err)
    return JSON.parse(out)
  }
  return { world, tributary, json, syncRunId }
}

test('the life of an endpoint as JSON documents: created, tested, replayed, rotated, disabled, enabled, removed', async (t) => {
  const { json, tributary } = await start(t)
  const receiver = await startReceiver(t, withStatus(200))
  const made = await json(
    ...['webhooks', 'create', 'emma@b.example', '--url', receiver.url],
    ...['--events', 'trades.synced,transactions.synced', '--skip-empty'],
  )
  assert.deepEqual(Object.keys(made).slice(0, 4), ['id', 'url', 'events', 'secret'])
  assert.deepEqual(made.events, ['transactions.synced', 'trades.synced'])
  assert.equal(made.skipEmpty, true)
  assert.equal((await json('webhooks', 'list', 'emma@b.example')).data.length, 1)
  const tested = await json('webhooks', 'test', made.id)
  assert.equal(tested.status, 'succeeded')
  assert.equal(tested.attempts[0].status, 200)
  const again = await json('webhooks', 'replay', tested.id)
  assert.equal(again.eventId, tested.eventId)
  const range = ['--from', '2026-11-20T00:00:00Z', '--to', '2026-11-21T00:00:00Z']
  // A test event belongs to no connection, so the range contains nothing to replay.
  assert.deepEqual(await json('webhooks', 'replay', made.id, ...range), { replayed: 0 })
  assert.equal((await json('webhooks', 'deliveries', made.id, '--limit', '1')).data.length, 1)
  const rotated = await json('webhooks', 'rotate', made.id, '--overlap-hours', '0')
  assert.notEqual(rotated.secret, made.secret)
  assert.equal((await json('webhooks', 'disable', made.id)).health, 'disabled')
  const refused = await tributary('webhooks', 'test', made.id, '--json')
  assert.equal(refused.code, 1)
  assert.equal(JSON.parse(refused.err).error.code, 'webhook_disabled')
  assert.equal((await json('webhooks', 'enable', made.id)).health, 'healthy')
  assert.deepEqual(await json('webhooks', 'remove', made.id), {})
  assert.deepEqual((await json('webhooks', 'list', 'emma@b.example')).data, [])
})

test('tables for people show what was sent, how often, and each answer in words', async (t) => {
  const { json, tributary } = await start(t)
  const receiver = await startReceiver(t, withStatus(500))
  const { id } = await json('webhooks', 'create', 'emma@b.example', '--url', receiver.url)
  const tested = await tributary('webhooks', 'test', id)
  assert.match(tested.out, /^status +pending$/m)
  assert.match(tested.out, /^attempts +1$/m)
  assert.match(tested.out, /^last attempt +the endpoint answered 500, \d+ ms$/m)
  const list = await tributary('webhooks', 'list', 'emma@b.example')
  assert.match(list.out, /^id +url +events +skipEmpty +pending +health/)
  assert.match(list.out, / {2}transactions\.synced,trades\.synced {2}/)
  assert.match(list.out, /degraded/)
  const deliveries = await tributary('webhooks', 'deliveries', id)
  assert.match(deliveries.out, /^id +eventId +createdAt +status +attempts +last attempt\n/)
  assert.match(deliveries.out, /pending +1 +the endpoint answered 500/)
  const created = await tributary('webhooks', 'create', 'emma@b.example', '--url', receiver.url)
  assert.match(created.out, /never shown again/)
  const wrong = await tributary('webhooks', 'create', 'emma@b.example', '--url', 'nonsense')
  assert.equal(wrong.code, 1)
  assert.match(wrong.err, /--url: is not a URL/)
  const events = ['--url', receiver.url, '--events', 'a,b']
  const strange = await tributary('webhooks', 'create', 'emma@b.example', ...events)
  assert.equal(strange.err.match(/--events: must be one of/g)?.length, 1)
})

test('R41: the example of docs/events.md makes an endpoint for changes of connections, and the event there is one', async (t) => {
  const page = readFileSync(new URL('../docs/events.md', import.meta.url), 'utf8')
  const section = page.split(/^## /m).find((text) => text.startsWith('Changes of connections'))
  assert.ok(section)
  const command = /tributary -- (webhooks create .*)$/m.exec(section)?.[1] ?? ''
  const { json, world } = await start(t)
  await world.addUser('emma@example.com')
  const made = await json(...command.split(' '))
  assert.deepEqual(made.events, [
    'connection.expiring',
    'connection.invalidated',
    'connection.restored',
  ])
  const example = JSON.parse(/```json\n([\s\S]*?)```/.exec(section)?.[1] ?? '')
  assert.deepEqual(EventEnvelope.parse(example), example)
  // Where no event is named, none of a connection is sent.
  const url = 'https://example.com/hook'
  const plain = await json('webhooks', 'create', 'emma@b.example', '--url', url)
  assert.deepEqual(plain.events, ['transactions.synced', 'trades.synced'])
})

test('a sync is run, and its numbers are the answer', async (t) => {
  const { json, syncRunId } = await start(t)
  const answer = await json('sync', 'run', newId())
  assert.deepEqual(answer, { syncRunId, newCount: 2, updatedCount: 0, chunks: 1 })
})

test('replay takes a delivery, or an endpoint with a time range; half a range is wrong usage', () => {
  const pathOf = (...args: string[]) => {
    const invocation = parseInvocation(['webhooks', 'replay', ...args])
    return invocation.kind === 'call' ? invocation.path : null
  }
  assert.equal(pathOf('d-1'), '/admin/deliveries/d-1/replay')
  assert.equal(pathOf('w-1', '--from', 'A', '--to', 'B'), '/admin/webhooks/w-1/replay')
  assert.equal(pathOf('w-1', '--from=A', '--to=B'), '/admin/webhooks/w-1/replay')
  for (const half of ['--from', '--to']) {
    assert.throws(
      () => pathOf('w-1', half, 'A'),
      (error) => {
        return error instanceof UsageError && /is missing/.test(error.message)
      },
    )
  }
})

test('listen takes a user and a port, or goes by a key', () => {
  const parse = (...args: string[]) => parseInvocation(['webhooks', 'listen', ...args])
  assert.deepEqual(parse('--user', 'emma@b.example', '--port', '8080', '--json'), {
    kind: 'listen',
    start: { user: 'emma@b.example', port: 8080, json: true },
  })
  const start = { user: null, key: null, baseUrl: null, json: false }
  assert.deepEqual(parse(), { kind: 'listen-by-key', start })
  for (const args of [['--user', ''], ['--user', '..'], ['emma@b.example'], ['--port', '1']]) {
    assert.throws(() => parse(...args), UsageError, args.join(' '))
  }
  for (const port of ['-1', '65536', 'x', '1.5']) {
    assert.throws(() => parse('--user', 'U', `--port=${port}`), UsageError, port)
  }
})
