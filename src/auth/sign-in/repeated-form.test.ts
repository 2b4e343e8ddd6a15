/** Forms that create something, sent again: after the first one was carried out, refused, or failed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeMemoryWindows } from '#fast/memory-windows.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import { makeOnce, makeRunIdempotent } from './repeated-form.ts'

const minute = 60_000

function makeGround() {
  const clock = { at: Date.UTC(2026, 10, 22), now: () => clock.at }
  const carryOut = makeRunIdempotent({ windows: makeMemoryWindows(clock), clock })
  const userId = newId<UserId>()
  const form = new URLSearchParams({ once: makeOnce(), name: 'laptop' })
  const sent = { userId, form, isDone: (result: string) => result === 'made' }
  let begun = 0
  const send = (result: Promise<string>) =>
    carryOut(sent, () => {
      begun += 1
      return result
    })
  return { clock, send, begun: () => begun }
}

test('a form that was carried out is repeated for ten minutes', async () => {
  const { clock, send, begun } = makeGround()
  assert.equal(await send(Promise.resolve('made')), 'made')
  clock.at += 9 * minute
  assert.equal(await send(Promise.resolve('made')), 'repeated')
  assert.equal(begun(), 1)
})

test('a form that was refused or failed made nothing, and may be sent again', async () => {
  const { send } = makeGround()
  assert.equal(await send(Promise.resolve('refused')), 'refused')
  await assert.rejects(send(Promise.reject(new Error('locked'))), /locked/)
  assert.equal(await send(Promise.resolve('made')), 'made')
  assert.equal(await send(Promise.resolve('made')), 'repeated')
})

test('the second of two at once waits for the first, and is carried out when that one fails', async () => {
  const { send, begun } = makeGround()
  const first = Promise.withResolvers<string>()
  const answers = [send(first.promise), send(Promise.resolve('made'))]
  first.reject(new Error('locked'))
  const [one, two] = await Promise.allSettled(answers)
  assert.equal(one?.status, 'rejected')
  assert.deepEqual(two, { status: 'fulfilled', value: 'made' })
  assert.equal(begun(), 2)
})

test('a form that does not end is not called carried out; when its process was killed, it may soon be sent again', async () => {
  const { clock, send } = makeGround()
  void send(new Promise(() => {}))
  assert.equal(await send(Promise.resolve('made')), 'under_way')
  clock.at += minute
  assert.equal(await send(Promise.resolve('made')), 'made')
})
