/** What deliveries report to operators. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectionId, newId } from '#kernel/ids.ts'
import { until } from '#tests/support/until.ts'
import { openStage, withStatus } from './stage.ts'

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

test('an attempt is reported with what became of its delivery, also when the endpoint was disabled meanwhile', async (t) => {
  const stage = await openStage(t, { workers: 0 })
  const answers: (() => void)[] = []
  const receiver = await stage.receive((response) => {
    answers.push(() => response.writeHead(410).end())
  })
  const { id } = await stage.addEndpoint(receiver.url)
  for (let count = 0; count < 3; count += 1) await stage.emit()
  await stage.addWorker()
  stage.pass(1)
  await until('three are in flight', () => answers.length === 3)
  for (const answer of answers) answer()
  await until('all are kept', () => stage.attempts.length === 3)
  const rows = await stage.deliveries(id)
  assert.deepEqual(rows.map(({ status }) => status).toSorted(), ['exhausted', 'missed', 'missed'])
  assert.deepEqual(
    stage.attempts.map(({ outcome }) => outcome).toSorted(),
    rows.map(({ status }) => status).toSorted(),
  )
})
