/** The claim of due syncs: thousands of them leave the event loop its turns. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectionId, SyncRunId } from '#kernel/ids.ts'
import type { ClaimedSync, SyncStore } from '#store/ports/syncs.ts'
import { makeRuns } from './runs.ts'
import { makeSyncClaim } from './worker.ts'

test('other work has a turn after every claim, although claims and runs end without one', async () => {
  let left = 200
  const claimDue: SyncStore['claimDue'] = async () => {
    left -= 1
    const name = `of ${left}`
    const sync = { runId: name as SyncRunId, connectionId: name as ConnectionId }
    return left < 0 ? [] : [{ ...sync, provider: 'simplefin' } as ClaimedSync]
  }
  const runs = makeRuns({ run: async () => ({ kind: 'lost' }), onEnd: () => undefined })
  const claim = makeSyncClaim({
    syncs: { claimDue } as SyncStore,
    clock: { now: () => 0 },
    runs,
  })
  let turns = 0
  const count = () => {
    turns += 1
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  while (left > 0) await claim.run(new AbortController().signal)
  clearImmediate(timer)
  assert.ok(turns >= 199, `${turns} turns`)
})
