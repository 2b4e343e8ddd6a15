/** What deliveries report to operators. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectionId, newId } from '#kernel/ids.ts'
import { openStage, until, withStatus } from './stage.ts'

test('the first attempt of every delivery is reported with its lag since acceptance, later ones without', async (t) => {
  const stage = await openStage(t)
  const receiver = await stage.receive(withStatus(500))
  await stage.addEndpoint(receiver.url)
  const connectionId = newId<ConnectionId>()
  await stage.emit([], { connectionId })
  await until('it was tried', () => stage.attempts.length === 1)
  await stage.emit([], { connectionId })
  receiver.answer = withStatus(200)
  stage.pass(6000)
  await until('both have arrived', () => stage.attempts.length === 3)
  assert.deepEqual(
    stage.attempts.map(({ outcome, lagMs }) => [outcome, lagMs]),
    [
      ['retry', 0],
      ['succeeded', null],
      // It waited for the one before it.
      ['succeeded', 6000],
    ],
  )
})
