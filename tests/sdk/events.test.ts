/** `events()` of the TypeScript client: what acknowledges, what ends it, and amounts with every digit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emit, manyDigits, transactionText } from '#tests/request/list-events/emitted.ts'
import { startService } from '#tests/support/service.ts'
import { until } from '#tests/support/until.ts'
import * as sdk from '../../sdk/typescript/index.js'

async function open(t: { after(work: () => unknown): void }) {
  const service = await startService()
  t.after(() => service.close())
  const user = await service.createUser()
  const client = new sdk.Tributary({ apiKey: user.key, baseUrl: service.baseUrl })
  await service.get('/v1/events?consumer=books', user)
  const add = () => emit(service.app.store, user.id, { rows: [transactionText()] })
  return { service, user, client, add }
}

test('R42: events() gives event after event, and goes on where an earlier loop was broken off', async (t) => {
  const { client, add } = await open(t)
  const bodies = [...(await add()), ...(await add()), ...(await add())]
  const seen: string[] = []
  for await (const event of client.events({ consumer: 'books', limit: 2 })) {
    assert.equal(event.type, 'transactions.synced')
    assert.ok('new' in event.data)
    assert.equal(event.data.new[0]?.amount, manyDigits)
    seen.push(event.id)
    if (seen.length === 3) break
  }
  assert.deepEqual(
    seen,
    bodies.map((body) => JSON.parse(body).id),
  )
  // The answer of the third was not acknowledged, that of the first two was.
  for await (const { data } of client.events({ consumer: 'books' }).batches()) {
    assert.deepEqual(
      data.map(({ id }) => id),
      seen.slice(2),
    )
    break
  }
})

test('R42: events() waits for what comes, and ends with its signal', async (t) => {
  const { client, add } = await open(t)
  const stopping = new AbortController()
  const seen: string[] = []
  const following = (async () => {
    const { signal } = stopping
    for await (const { id } of client.events({ consumer: 'books' }, { signal })) seen.push(id)
  })()
  const [body] = await add()
  await until('one is seen', () => seen.length > 0)
  assert.deepEqual(seen, [JSON.parse(body ?? '').id])
  stopping.abort()
  await assert.rejects(following, sdk.AbortedError)
})

test('R42: a cursor that is no longer kept is an error with the oldest one', async (t) => {
  const { service, client, add, user } = await open(t)
  const { next } = (await service.get('/v1/events?consumer=books', user)).body
  await add()
  const now = service.clock.now()
  await service.app.store.events.shred({ acceptedBefore: now + 1, now, limit: 9 })
  await assert.rejects(
    async () => {
      for await (const event of client.events({ after: next })) assert.fail(event.id)
    },
    (error) =>
      error instanceof sdk.ApiError &&
      error.status === 410 &&
      error.code === 'cursor_expired' &&
      /^oldest: /.test(error.details[0] ?? ''),
  )
})

test('R42: the wait ends before the timeout, unless the caller sets it', async () => {
  const asked: (string | null)[] = []
  const fetch = async (url: string) => {
    asked.push(new URL(url).searchParams.get('wait'))
    return Response.json({ data: [], next: 'c0' })
  }
  const options = { apiKey: 'trib_live_0123456789', fetch: fetch as never }
  const ask = async (timeout: number, query: { wait?: number } = {}, call = {}) => {
    const client = new sdk.Tributary({ ...options, baseUrl: 'https://tributary.example', timeout })
    await client.events(query, call).batches().next()
  }
  for (const timeout of [120_000, 60_000, 45_500, 10_000, 4000, 500]) await ask(timeout)
  await ask(120_000, {}, { timeout: 30_000 })
  await ask(4000, { wait: 7 })
  assert.deepEqual(asked, ['55', '55', '40', '5', '2', '0', '25', '7'])
})
