/** What is removed while an event is on its way to it: nothing more is sent. */
import assert from 'node:assert/strict'
import type { LookupFunction } from 'node:net'
import { test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { EndpointId } from '#kernel/ids.ts'
import { until } from '#tests/support/until.ts'
import { aWhile, openStage, type Stage } from './stage.ts'

const removals: Readonly<Record<string, (stage: Stage, id: EndpointId) => Promise<unknown>>> = {
  'its user is being deleted': (stage) => stage.store.users.disarm(stage.userId, stage.now()),
  'it is removed': (stage, id) => stage.webhooks.removeEndpoint(byOperator, id),
}

for (const [what, remove] of Object.entries(removals))
  test(`an event whose connection is being made is not sent to an endpoint once ${what}`, async (t) => {
    const lookups: (() => void)[] = []
    const lookup: LookupFunction = (_name, options, callback) => {
      lookups.push(() =>
        options.all === true
          ? callback(null, [{ address: '127.0.0.1', family: 4 }])
          : callback(null, '127.0.0.1', 4),
      )
    }
    const stage = await openStage(t, { lookup })
    const receiver = await stage.receive()
    const { id } = await stage.addEndpoint(receiver.url.replace('127.0.0.1', 'consumer.test'))
    await stage.emit()
    await until('its name is looked up', () => lookups.length > 0)
    await remove(stage, id)
    // The connection can be made only now.
    for (const answer of lookups) answer()
    await aWhile()
    assert.equal(receiver.received.length, 0)
    assert.deepEqual([stage.attempts, stage.failures], [[], []])
  })

test('a change of the user ends no delivery', async (t) => {
  const stage = await openStage(t)
  const held: (() => void)[] = []
  const receiver = await stage.receive((response) => held.push(() => response.end()))
  const { id } = await stage.addEndpoint(receiver.url)
  await stage.emit()
  await until('it arrived', () => held.length === 1)
  await stage.store.users.outdate(stage.userId)
  held[0]?.()
  await until('it is delivered', async () => {
    const [delivery] = await stage.deliveries(id)
    return delivery?.status === 'succeeded'
  })
})
