/** Runs of a process: counted by provider, and a stop waits for them before it aborts them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider } from '#contract/resources.ts'
import type { SyncRunId } from '#kernel/ids.ts'
import type { ClaimedSync } from '#store/ports/syncs.ts'
import type { SyncEnd } from './run-sync.ts'
import { makeRuns } from './runs.ts'

const lost: SyncEnd = { kind: 'lost' }
const claim = (runId: string, provider: Provider) =>
  ({ runId: runId as SyncRunId, provider }) as ClaimedSync

function open() {
  const ends = new Map<string, () => void>()
  const aborted: string[] = []
  let free = 0
  const runs = makeRuns({
    run: ({ runId }, { stop }) =>
      new Promise((resolve) => {
        ends.set(runId, () => {
          ends.delete(runId)
          resolve(lost)
        })
        stop.addEventListener('abort', () => {
          if (ends.delete(runId)) aborted.push(runId)
          resolve(lost)
        })
      }),
    onEnd: () => {
      free += 1
    },
  })
  return { runs, ends, aborted, freed: () => free }
}

test('runs are counted while they last, and by provider', async () => {
  const { runs, ends, freed } = open()
  const first = runs.start(claim('a', 'fiskil'))
  void runs.start(claim('b', 'fiskil'))
  void runs.start(claim('c', 'akahu'))
  assert.deepEqual([runs.count(), runs.listBusy(2), freed()], [3, ['fiskil'], 0])
  ends.get('a')?.()
  assert.equal((await first).kind, 'lost')
  assert.deepEqual([runs.count(), runs.listBusy(2), freed()], [2, [], 1])
  await runs.close(0)
})

test('a stop lets runs end, and aborts none that does in time', async () => {
  const { runs, ends, aborted } = open()
  void runs.start(claim('a', 'fiskil'))
  const closing = runs.close(60_000)
  ends.get('a')?.()
  await closing
  assert.deepEqual([aborted, runs.count(), runs.stop.aborted], [[], 0, true])
})

test('a stop aborts runs that do not end in time, and waits for their end', async () => {
  const { runs, aborted } = open()
  void runs.start(claim('a', 'fiskil'))
  void runs.start(claim('b', 'akahu'))
  await runs.close(5)
  assert.deepEqual([aborted, runs.count()], [['a', 'b'], 0])
})
