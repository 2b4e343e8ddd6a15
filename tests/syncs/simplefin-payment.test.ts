/** A SimpleFIN server whose subscription has ended (402): the refusal is a failure of the run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '#contract/errors.ts'
import { startService } from '#tests/support/service.ts'
import { watch } from './watcher.ts'

for (const hasLedger of [false, true]) {
  const whose = hasLedger ? 'with events' : 'without events'
  test(`a sync that the server refuses for payment fails, and is no success (${whose})`, async (t) => {
    const service = await startService()
    t.after(() => service.close())
    const user = await service.createUser()
    if (hasLedger) await watch(service, user)
    const [connection = assert.fail()] = await service.link(user, 'healthy', 'simplefin')
    const { store, syncs } = service.app
    const by = { actor: { kind: 'operator' } } as const
    await syncs.runSync(by, connection.id)
    const [success] = await store.syncs.listLastRuns(user.id, ['succeeded'])
    const person = service.sandbox.simplefin.people.healthy
    assert.ok(person !== undefined)
    person.isUnpaid = true
    service.clock.advance(2 * 3_600_000)
    await assert.rejects(syncs.runSync(by, connection.id), (error: unknown) => {
      assert.ok(error instanceof ApiError)
      assert.match(error.message, /subscription/)
      return true
    })
    const [latest] = await store.syncs.listLastRuns(user.id, ['succeeded'])
    assert.equal(latest?.endedAt, success?.endedAt)
  })
}
