import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeForStranger } from './strangers.ts'

test('work of a stranger that asks for a turn again goes on in the one that it has', async () => {
  const forStranger = makeForStranger()
  const nested = async (at: number) =>
    forStranger(`192.0.2.${at}`, async () => {
      await sleep(1)
      return forStranger(`192.0.2.${at}`, async () => at)
    })
  const asked = Array.from({ length: 12 }, (_, at) => at)
  assert.deepEqual(await Promise.all(asked.map(nested)), asked)
})

test('at most three strangers are worked for at once, and a turn that fails is given back', async () => {
  const forStranger = makeForStranger()
  let running = 0
  let most = 0
  const work = async () => {
    running += 1
    most = Math.max(most, running)
    await sleep(1)
    running -= 1
    throw new Error('of the test')
  }
  const asked = Array.from({ length: 12 }, (_, at) => forStranger(`192.0.2.${at}`, work))
  const ended = await Promise.allSettled(asked)
  assert.ok(ended.every(({ status }) => status === 'rejected'))
  assert.equal(most, 3)
  assert.equal(await forStranger('192.0.2.1', async () => 'served'), 'served')
})
