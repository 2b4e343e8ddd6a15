/**
 * Whatever two processes on one Redis are asked in whatever order, neither serves an answer of before a
 * change (reading R10), nor one past its life, although both keep opened answers of their own.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { openKv } from '#fast/open.ts'
import { systemClock } from '#kernel/time.ts'
import { newAdmission, store, textOf } from '../contract/kv/admit-contract.ts'
import { type Fleet, type LinkedUser, startFleet } from './fleet.ts'

let fleet: Fleet
before(async () => {
  fleet = await startFleet()
})
after(() => fleet?.close())

const side = fc.constantFrom<'one' | 'two'>('one', 'two')

const kvStep = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('read' as const), by: side }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('store' as const),
      by: side,
      lifeMs: fc.integer({ min: 20, max: 200 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const), by: side }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.integer({ min: 1, max: 120 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('flush' as const) }) },
)

test('after any sequence on two processes only the latest answer is served, and only in its life', async (t) => {
  const cacheKey = randomBytes(32)
  const open = () =>
    openKv({
      redisUrl: fleet.redis.url,
      clock: systemClock,
      cacheMaxBytes: 1024 * 1024,
      cacheMaxEntryBytes: 1024,
      cacheKey,
    })
  const kvs = { one: await open(), two: await open() }
  t.after(() => Promise.all([kvs.one.close(), kvs.two.close()]))
  let stored = 0
  let hits = 0
  const property = fc.asyncProperty(fc.array(kvStep, { maxLength: 25 }), async (steps) => {
    const asked = newAdmission({ window: null, places: null })
    let latest = { text: '', until: 0 }
    for (const step of steps) {
      if (step.kind === 'wait') await sleep(step.ms)
      else if (step.kind === 'drop') kvs[step.by].cache.drop(asked.owner)
      else if (step.kind === 'flush') {
        await fleet.redis.call('FLUSHALL')
        latest = { text: '', until: 0 }
      } else if (step.kind === 'store') {
        stored += 1
        const text = `answer ${stored}`
        assert.equal(await store(kvs[step.by], asked, text, step.lifeMs), true)
        // Redis counts the life from a moment before this one.
        latest = { text, until: performance.now() + step.lifeMs }
      } else {
        const startedAt = performance.now()
        const text = textOf(await kvs[step.by].admit(asked))
        if (text === 'miss') continue
        hits += 1
        assert.equal(text, latest.text, 'the latest')
        assert.ok(startedAt <= latest.until, 'in its life')
      }
    }
  })
  await fc.assert(property, { numRuns: 40 })
  assert.ok(hits > 5, `${hits} hits: the property was tried`)
})

/** Changes of reading R10, each made on one of the processes. */
const changes: Readonly<
  Record<string, (user: LinkedUser, on: Fleet['one'], count: number) => Promise<unknown>>
> = {
  'a consent is lost or given again': async (user, on) => {
    for (const consent of fleet.sandbox.fiskil.people.healthy.consents) {
      consent.active = !consent.active
      consent.terminationReason = consent.active ? '' : 'Expired or Revoked'
    }
    await on.admin('POST', `/connections/${user.connectionId}/refresh`)
  },
  'a bank is linked': (user, on) =>
    on.admin('POST', `/users/${user.id}/connections`, {
      provider: 'fiskil',
      endUserId: fleet.sandbox.fiskil.people.history.endUserId,
    }),
  'the time zone changes': (user, on, count) =>
    on.admin('PUT', `/users/${user.id}/profile`, {
      timezone: count % 2 === 0 ? 'Pacific/Auckland' : 'Australia/Perth',
    }),
  'the connection is removed': (user, on) =>
    on.admin('DELETE', `/connections/${user.connectionId}`),
}

const ofConnection = ['a consent is lost or given again', 'the connection is removed']

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      on: side,
      path: fc.nat({ max: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      on: side,
      change: fc.constantFrom(...Object.keys(changes)),
    }),
  },
)

test('R10: after any sequence of reads and changes on two processes a hit is what a new answer would be', async (t) => {
  const { consents } = fleet.sandbox.fiskil.people.healthy
  const giveConsents = () => {
    for (const consent of consents) consent.active = true
  }
  t.after(giveConsents)
  let [hits, changed, fresh] = [0, 0, 0]
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 15, maxLength: 25 }),
    async (steps) => {
      giveConsents()
      const user = await fleet.createLinked()
      const paths = ['/v1/connections?a', '/v1/accounts?a', user.transactions()]
      let isRemoved = false
      for (const one of steps) {
        if (one.kind === 'change') {
          // There is nothing to refresh or to remove any more.
          if (isRemoved && ofConnection.includes(one.change)) continue
          isRemoved ||= one.change === 'the connection is removed'
          changed += 1
          await changes[one.change]?.(user, fleet[one.on], changed)
          continue
        }
        const path = paths[one.path] ?? ''
        const answer = await fleet[one.on].get(path, user.key)
        if (answer.headers['x-cache'] !== 'HIT') continue
        hits += 1
        // An unknown parameter is ignored, and makes another cache key.
        fresh += 1
        const computed = await fleet[one.on].get(`${path}&fresh=${fresh}`, user.key)
        assert.notEqual(computed.headers['x-cache'], 'HIT')
        assert.deepEqual(readOf(answer), readOf(computed), path)
      }
    },
  )
  await fc.assert(property, { numRuns: 8, endOnFailure: true })
  assert.ok(hits > 5 && changed > 3, `${hits} hits, ${changed} changes`)
})

/**
 * Without the time of the latest refresh: a read updates it beside its answer, which is no change of reading
 * R10.
 */
function readOf({ status, text }: { readonly status: number; readonly text: string }) {
  return [status, text.replaceAll(/"lastRefreshedAt":"[^"]*"/g, '')]
}
