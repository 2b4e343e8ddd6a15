/** The lengths of queues over a day: the present one first; a failed look is none. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeQueueSamples, type QueueSamplesOptions } from './queue-samples.ts'

test('the present lengths are followed by those of a day, and a look that fails keeps the others', async () => {
  let now = Date.parse('2026-11-27T00:00:00Z')
  let due = 0
  let isAway = false
  const store = {
    syncs: {
      async readBacklog() {
        if (isAway) throw new Error('away')
        return { due, running: 0, oldestDueAt: null }
      },
    },
    deliveries: { readBacklog: async () => ({ pending: 2, oldestDueAt: null }) },
    mails: { readBacklog: async () => ({ waiting: 3, oldestLateAt: null }) },
  } as unknown as QueueSamplesOptions['store']
  const samples = makeQueueSamples({ store, clock: { now: () => now } })
  const { signal } = new AbortController()
  for (let looks = 0; looks < 300; looks += 1) {
    due = looks
    await samples.task.run(signal)
    now += samples.task.everyMs
  }
  isAway = true
  await assert.rejects(samples.task.run(signal), /away/)
  isAway = false
  const all = await samples.read()
  assert.equal(all.length, 289)
  assert.deepEqual(all[0], {
    at: '2026-11-28T01:00:00.000Z',
    syncsDue: 299,
    deliveriesPending: 2,
    mailsWaiting: 3,
  })
  assert.deepEqual([all[1]?.syncsDue, all.at(-1)?.syncsDue], [299, 12])
  assert.equal((await samples.read()).length, 289, 'reading keeps nothing')
})
