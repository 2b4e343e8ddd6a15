/** Runs of a process: counted by provider, and a stop waits for them before it aborts them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId, SyncRunId } from '#kernel/ids.ts'
import type { ClaimedSync } from '#store/ports/syncs.ts'
import type { SyncEnd } from './run-sync.ts'
import { makeRuns } from './runs.ts'

const lost: SyncEnd = { kind: 'lost' }
const of = (runId: string) => `of ${runId}` as ConnectionId
const claim = (runId: string, provider: Provider) =>
  ({ runId: runId as SyncRunId, provider, connectionId: of(runId) }) as ClaimedSync

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
  const start = (runId: string, provider: Provider) =>
    runs.start(claim(runId, provider), { place: runs.places.take() ?? assert.fail('no place') })
  return { runs, start, ends, aborted, freed: () => free }
}

test('runs are found while they last, and counted by provider', async () => {
  const { runs, start, ends, freed } = open()
  const found = () => runs.find(of('a'))
  const first = start('a', 'fiskil')
  void start('b', 'fiskil')
  void start('c', 'akahu')
  assert.deepEqual([found(), runs.listBusy(2), freed()], ['a', ['fiskil'], 0])
  ends.get('a')?.()
  assert.equal((await first).kind, 'lost')
  assert.deepEqual([found(), runs.listBusy(2), freed()], [null, [], 1])
  await runs.close(0)
})

test('a stop lets runs end, and aborts none that does in time', async () => {
  const { runs, start, ends, aborted } = open()
  void start('a', 'fiskil')
  const closing = runs.close(60_000)
  ends.get('a')?.()
  await closing
  assert.deepEqual([aborted, runs.find(of('a')), runs.stop.aborted], [[], null, true])
})

test('a stop aborts runs that do not end in time, and waits for their end', async () => {
  const { runs, start, aborted } = open()
  void start('a', 'fiskil')
  void start('b', 'akahu')
  await runs.close(5)
  assert.deepEqual([aborted, runs.find(of('a'))], [['a', 'b'], null])
})
