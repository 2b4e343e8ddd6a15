/**
 * Counted requests in memory: what is counted under what, days by the user's zone, failed writings, bounds.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '#auth/caller.ts'
import { operations } from '#contract/operations.ts'
import { usageDoors } from '#contract/usage.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import { maxUsageReaders, otherReaders, type UsageRow } from '#store/ports/usage.ts'
import { makeUsageCounts, type UsageCounts } from './counts.ts'

function callerOf(
  userId: UserId = newId<UserId>(),
  timezone = 'Australia/Sydney',
  bucketId = 'key',
): Caller {
  const plan = { plan: null, status: 'active', legacyUntil: null, grandfathered: false } as const
  return { userId, bucketId, timezone, plan, scopes: ['mcp:read'], epoch: 0 }
}

/** A store that adds up, and fails while `failing` says so. */
function stage(start = '2026-11-21T12:59:59Z', maxTallies = 100) {
  const kept = new Map<string, number>()
  const calls: (readonly UsageRow[])[] = []
  const dropped: number[] = []
  let now = Date.parse(start)
  const world = {
    isFailing: false,
    failAfter: Number.POSITIVE_INFINITY,
    advance: (ms: number) => {
      now += ms
    },
    kept,
    calls,
    dropped,
    counts: null as unknown as UsageCounts,
  }
  world.counts = makeUsageCounts({
    clock: { now: () => now },
    onDropped: (requests) => dropped.push(requests),
    maxTallies,
    store: {
      usage: {
        async add(rows) {
          if (world.isFailing || calls.length >= world.failAfter) throw new Error('unavailable')
          calls.push(rows)
          const names = rows.map((row) =>
            [row.userId, row.day, row.reader, row.door, row.operation, row.result].join(' '),
          )
          assert.equal(new Set(names).size, names.length, 'a row twice in one batch')
          for (const [at, name] of names.entries())
            kept.set(name, (kept.get(name) ?? 0) + (rows[at]?.requests ?? 0))
        },
      },
    },
  })
  return world
}

const ok = { door: 'rest', operation: 'list_accounts', status: 200, cache: 'HIT' } as const
const dayOf = (text: string) => Date.parse(text) / 86_400_000

test('every combination of door, operation and result is counted for itself', async () => {
  const { counts, kept } = stage()
  const caller = callerOf()
  const outcomes = [
    [200, 'HIT', 'HIT'],
    [200, 'MISS', 'MISS'],
    [200, 'BYPASS', 'BYPASS'],
    [429, 'BYPASS', 'limited'],
    [404, 'MISS', 'refused'],
    [499, 'MISS', 'disconnected'],
    [503, 'MISS', 'failed'],
  ] as const
  const expected = new Map<string, number>()
  for (const door of usageDoors)
    for (const operation of [...operations.map(({ name }) => name), null])
      for (const [status, cache, result] of outcomes) {
        counts.count({ caller, door, operation, status, cache })
        const name = `${caller.userId} ${dayOf('2026-11-21')} key ${door} ${operation ?? 'other'} ${result}`
        expected.set(name, (expected.get(name) ?? 0) + 1)
      }
  await counts.flush()
  assert.deepEqual([...kept].sort(), [...expected].sort())
})

test('requests without a caller are not counted, and without requests nothing is written', async () => {
  const { counts, calls } = stage()
  counts.count({ ...ok, caller: null })
  await counts.flush()
  assert.deepEqual(calls, [])
})

test('the day is that of the user’s zone, also when it ends between two requests or the zone changes', async () => {
  const { counts, kept, advance } = stage('2026-11-21T12:59:59Z')
  const sydney = callerOf()
  counts.count({ ...ok, caller: sydney })
  advance(2000)
  counts.count({ ...ok, caller: sydney })
  counts.count({ ...ok, caller: callerOf(sydney.userId, 'Europe/London') })
  advance(-2000)
  counts.count({ ...ok, caller: sydney })
  await counts.flush()
  const [first, second] = [dayOf('2026-11-21'), dayOf('2026-11-22')]
  assert.deepEqual(
    [...kept].sort(),
    [
      [`${sydney.userId} ${first} key rest list_accounts HIT`, 3],
      [`${sydney.userId} ${second} key rest list_accounts HIT`, 1],
    ].sort(),
  )
})

test('a failed writing keeps every count for the next one, which writes each once', async () => {
  const world = stage()
  const { counts, kept } = world
  const caller = callerOf()
  counts.count({ ...ok, caller })
  world.isFailing = true
  await assert.rejects(counts.flush(), /unavailable/)
  await assert.rejects(counts.settle(caller.userId), /unavailable/)
  counts.count({ ...ok, caller })
  world.isFailing = false
  await counts.flush()
  await counts.flush()
  assert.deepEqual([...kept.values()], [2])
})

test('batches are bounded; a failure between two of them loses and repeats nothing', async () => {
  const world = stage('2026-11-21T00:00:00Z', 5000)
  for (let user = 0; user < 1234; user += 1) world.counts.count({ ...ok, caller: callerOf() })
  world.failAfter = 1
  await assert.rejects(world.counts.flush())
  world.failAfter = Number.POSITIVE_INFINITY
  await world.counts.flush()
  assert.deepEqual(
    world.calls.map((rows) => rows.length),
    [500, 500, 234],
  )
  assert.deepEqual(
    [world.kept.size, [...world.kept.values()].every((count) => count === 1)],
    [1234, true],
  )
})

test('settling writes one user’s requests alone', async () => {
  const { counts, calls } = stage()
  const [mine, other] = [callerOf(), callerOf()]
  for (const caller of [mine, other, mine]) counts.count({ ...ok, caller })
  await counts.settle(mine.userId)
  await counts.settle(mine.userId)
  assert.deepEqual(
    calls.map((rows) => rows.map(({ userId, requests }) => [userId, requests])),
    [[[mine.userId, 2]]],
  )
})

test('beyond the bound further users are not counted, which is reported, and those in memory still are', async () => {
  const { counts, kept, dropped } = stage('2026-11-21T00:00:00Z', 3)
  const callers = [callerOf(), callerOf(), callerOf(), callerOf()]
  for (const caller of [...callers, ...callers]) counts.count({ ...ok, caller })
  await counts.flush()
  assert.deepEqual([kept.size, [...kept.values()], dropped], [3, [2, 2, 2], [2]])
  counts.count({ ...ok, caller: callerOf() })
  await counts.flush()
  assert.deepEqual([kept.size, dropped], [4, [2]])
})

test('each key and agent of a user is counted for itself, and beyond a bound the others together', async () => {
  const { counts, kept, calls } = stage('2026-11-21T00:00:00Z', 1000)
  const { userId } = callerOf()
  const ask = (bucketId: string) =>
    counts.count({ ...ok, caller: callerOf(userId, 'Australia/Sydney', bucketId) })
  for (let at = 0; at < maxUsageReaders + 5; at += 1) {
    ask(`key-${at}`)
    ask('key-0')
  }
  await counts.settle(userId)
  assert.equal(calls[0]?.length, maxUsageReaders + 1)
  const of = (reader: string) => `${userId} ${dayOf('2026-11-21')} ${reader} rest list_accounts HIT`
  assert.equal(kept.get(of('key-0')), maxUsageReaders + 6)
  assert.equal(kept.get(of('key-1')), 1)
  assert.equal(kept.get(of(otherReaders)), 5)
  ask('key-1')
  await counts.flush()
  assert.equal(kept.get(of('key-1')), 2)
})
