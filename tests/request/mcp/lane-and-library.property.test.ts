/**
 * What the lane answers itself, the protocol library would answer with the same status, headers and bytes, at
 * the same cost, and with the same record for log and counts. The library's own conformance thereby covers
 * the lane.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { makeStillClock } from '#tests/support/service.ts'
import { drawnRequest } from './messages-drawn.ts'
import { openDoor, type Sent } from './two-doors.ts'

const clock = makeStillClock()
const lane = await openDoor(clock, false)
const library = await openDoor(clock, true)
after(async () => {
  await lane.close()
  await library.close()
})

const runs = 1500

async function assertSame(sent: Sent): Promise<void> {
  const [ours, theirs] = await Promise.all([lane.ask(sent), library.ask(sent)])
  assert.deepEqual(ours, theirs)
  assert.deepEqual(lane.takeRecords(), library.takeRecords())
}

test('the lane answers every message exactly as the library does', async () => {
  let asked = 0
  await fc.assert(
    fc.asyncProperty(drawnRequest, async (sent) => {
      asked += 1
      // Windows fill up and begin anew.
      if (asked % 400 === 0) clock.advance(61_000)
      await assertSame(sent)
    }),
    { numRuns: runs },
  )
  const share = lane.plainCalls() / asked
  assert(share > 0.25, `of ${asked} messages ${lane.plainCalls()} are plain calls`)
})
