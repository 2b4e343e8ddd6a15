/** What the port promises of `onWork`, within one process. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WorkKind } from '#store/ports/changes.ts'
import {
  acceptChunks,
  addEndpoint,
  claimEndpoint,
  deliverAll,
  disabled,
  healthy,
  hour,
  newEvent,
} from './event-rows.ts'
import type { StoreOf } from './place.ts'
import { addLink, newConnection, now } from './rows.ts'

export function testWork(store: StoreOf): void {
  const heard = async (work: () => Promise<unknown>): Promise<readonly WorkKind[]> => {
    const kinds: WorkKind[] = []
    const stop = store().onWork((kind) => kinds.push(kind))
    await work()
    stop()
    return kinds
  }

  test('everything that makes a sync or a delivery due is announced once, before its call resolves', async () => {
    const { user, login, connection } = await addLink(store())
    const endpoint = await addEndpoint(store(), user.id)
    const save = () => store().connections.save(newConnection(user.id, login.id))
    assert.deepEqual(await heard(save), ['sync'])
    const request = () => store().syncs.request(connection.id, { at: now, reason: 'operator' })
    assert.deepEqual(await heard(request), ['sync'])
    const chunks = () => acceptChunks(store(), user.id, connection.id, 3)
    assert.deepEqual(await heard(chunks), ['delivery'])
    await deliverAll(store(), endpoint.id)
    const [sent] = await store().deliveries.list(endpoint.id, { after: null, limit: 1 })
    assert.ok(sent)
    assert.deepEqual(await heard(() => store().deliveries.replay(sent.id, now)), ['delivery'])
    const range = { from: now, to: now + 1, at: now, limit: 9 }
    const again = () => store().deliveries.replayRange(endpoint.id, range)
    assert.deepEqual(await heard(again), ['delivery'])
  })

  test('an endpoint that is released with a due delivery is announced, and one that has to wait is not', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    await acceptChunks(store(), user.id, connection.id, 1)
    for (const [notBefore, expected] of [
      [0, ['delivery']],
      [now, ['delivery']],
      [now + hour, []],
    ] as const) {
      const claimed = await claimEndpoint(store(), id)
      assert.ok(claimed)
      const release = () => store().deliveries.release(claimed.lease, { now, notBefore })
      assert.deepEqual(await heard(release), expected)
    }
  })

  test('changes that make nothing due are not announced, and neither are failed ones', async () => {
    const { user, connection } = await addLink(store())
    const { id } = await addEndpoint(store(), user.id)
    const broken = () =>
      assert.rejects(
        store().transact(async (tx) => {
          await tx.syncs.request(connection.id, { at: now, reason: 'operator' })
          throw new Error('the test breaks off')
        }),
      )
    const unwanted = async () => {
      await store().endpoints.setHealth(id, disabled)
      await store().endpoints.setHealth(id, healthy)
      await store().events.seal([newEvent(user.id, connection.id)])
      await store().connections.setStatus(connection.id, 'invalidated')
    }
    assert.deepEqual(await heard(broken), [])
    assert.deepEqual(await heard(unwanted), [])
  })
}
