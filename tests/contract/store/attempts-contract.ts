/** What the port promises of the results of attempts: what each changes, alone and several at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndpointId } from '#kernel/ids.ts'
import type { DeliveryPage } from '#store/ports/deliveries.ts'
import type { EndpointRow, HealthChange } from '#store/ports/endpoints.ts'
import {
  accept,
  acceptChunks,
  addEndpoint,
  claimEndpoint,
  degraded,
  disabled,
  hour,
  minute,
  newEvent,
  paused,
  recordAs,
  resultAs,
} from './event-rows.ts'
import type { StoreOf } from './place.ts'
import { addLink, newConnection, now } from './rows.ts'

export function testAttempts(store: StoreOf): void {
  const deliveries = () => store().deliveries
  const stage = async (chunks: number) => {
    const link = await addLink(store())
    const endpoint = await addEndpoint(store(), link.user.id, { secret: 'whsec_one' })
    await acceptChunks(store(), link.user.id, link.connection.id, chunks)
    return { ...link, endpoint }
  }
  const demandClaim = async (id: EndpointId) =>
    (await claimEndpoint(store(), id)) ?? assert.fail('the endpoint was not claimed')
  const demandDue = async (id: EndpointId) =>
    (await deliveries().listDue(id, { now, limit: 1 }))[0] ?? assert.fail('nothing is due')

  test('attempts of an endpoint are listed from a time on, of its newest deliveries, with whether there are older ones', async () => {
    const [mine, theirs] = [await stage(3), await stage(1)]
    for (const { endpoint } of [theirs, mine]) {
      const { lease } = await demandClaim(endpoint.id)
      for (let at = 1; at <= 3; at += 1) {
        const [due] = await deliveries().listDue(endpoint.id, { now: now + hour, limit: 1 })
        if (due === undefined) break
        const failure = at === 2 ? 'no answer' : null
        await deliveries().record([
          resultAs(lease, due.id, { attempt: { at: now + at * minute, failure, durationMs: at } }),
        ])
      }
    }
    const list = async (since: number, limit: number) => {
      const found = await deliveries().listAttempts(mine.endpoint.id, { since, limit })
      assert.equal(found.isCut, limit < 3)
      return found.attempts.map(({ at, isFailed, durationMs }) => [
        (at - now) / minute,
        isFailed,
        durationMs,
      ])
    }
    assert.deepEqual((await list(now, 9)).toSorted(), [
      [1, false, 1],
      [2, true, 2],
      [3, false, 3],
    ])
    assert.deepEqual(await list(now + 3 * minute, 9), [[3, false, 3]])
    assert.deepEqual(await list(now, 1), [[3, false, 3]])
    assert.equal((await list(now, 3)).length, 3)
  })

  test('deliveries are counted for each endpoint of a user, from a time on and up to a limit, whatever was attempted', async () => {
    const [mine, theirs] = [await stage(3), await stage(1)]
    const second = await addEndpoint(store(), mine.user.id)
    const idle = await addEndpoint(store(), mine.user.id)
    const later = { chunk: 1, totalChunks: 1, createdAt: now + hour }
    const late = newEvent(mine.user.id, mine.connection.id, later)
    await accept(store(), [late], second.id)
    const { lease } = await demandClaim(mine.endpoint.id)
    for (let at = 1; at <= 3; at += 1) {
      const decision = { kind: 'retry', dueAt: now } as const
      await recordAs(store(), lease, (await demandDue(mine.endpoint.id)).id, { decision })
    }
    const count = async (since: number, limit: number) => {
      const counts = await deliveries().count(mine.user.id, { since, limit })
      assert.deepEqual([counts.size, counts.get(theirs.endpoint.id)], [3, undefined])
      return [mine.endpoint, second, idle].map(({ id }) => counts.get(id))
    }
    assert.deepEqual(await count(now, 9), [3, 1, 0])
    assert.deepEqual(await count(now + 1, 9), [0, 1, 0])
    assert.deepEqual(await count(now + hour + 1, 9), [0, 0, 0])
    assert.deepEqual(await count(now, 2), [2, 1, 0])
  })

  test('deliveries are searched by state and time, and one that is missed counts as such', async () => {
    const { endpoint, user } = await stage(3)
    const ids = (await deliveries().list(endpoint.id, { after: null, limit: 9 }))
      .map(({ eventId }) => eventId)
      .toReversed()
    const { lease } = await demandClaim(endpoint.id)
    const due = await demandDue(endpoint.id)
    await recordAs(store(), lease, due.id, { decision: { kind: 'exhausted' } })
    const search = async (over: Partial<DeliveryPage>) => {
      const page = { after: null, limit: 9, ...over }
      return (await deliveries().list(endpoint.id, page)).map(({ eventId }) => eventId)
    }
    assert.deepEqual(await search({ states: ['exhausted', 'missed'] }), ids.slice(0, 1))
    assert.deepEqual(await search({ states: ['pending'] }), ids.slice(1).toReversed())
    assert.deepEqual(await search({ states: ['pending'], limit: 1 }), ids.slice(2))
    assert.deepEqual(await search({ since: now + hour }), [])
    assert.equal((await search({ since: 0 })).length, 3)
    await store().endpoints.setHealth(endpoint.id, disabled)
    assert.deepEqual(await search({ states: ['pending'] }), [])
    assert.equal((await search({ states: ['exhausted', 'missed'] })).length, 3)
    const [row] = await deliveries().list(endpoint.id, { after: null, limit: 1 })
    assert.deepEqual([row?.type, row?.isTest, row?.userId], ['transactions.synced', false, user.id])
  })

  test('attempts of several endpoints are kept at once, as if one after another', async () => {
    const [mine, theirs, lost] = [await stage(2), await stage(2), await stage(1)]
    const other = await store().connections.save(newConnection(mine.user.id, mine.login.id))
    const [second] = await acceptChunks(store(), mine.user.id, other.id, 1)
    const lease = (await demandClaim(mine.endpoint.id)).lease
    const lease2 = (await demandClaim(theirs.endpoint.id)).lease
    const lost2 = (await demandClaim(lost.endpoint.id)).lease
    await store().endpoints.delete(lost.endpoint.id)
    const [one, two] = await deliveries().listDue(mine.endpoint.id, { now, limit: 9 })
    assert.ok(one && two)
    assert.equal(two.eventId, second)
    const three = await demandDue(theirs.endpoint.id)
    const seen: string[] = []
    const health = (next: HealthChange) => (current: EndpointRow) => {
      seen.push(current.health)
      return next
    }
    const decision = { kind: 'retry', dueAt: now + minute } as const
    const states = await deliveries().record([
      { ...resultAs(lease, one.id, { attempt: { at: now + 1 } }), health: health(degraded) },
      resultAs(lost2, three.id),
      { ...resultAs(lease, two.id, { decision }), health: health(paused) },
      resultAs(lease2, three.id, { attempt: { at: now + 2, response: Buffer.from('yes') } }),
    ])
    assert.deepEqual(seen, ['healthy', 'degraded'])
    assert.deepEqual(
      states.map((state) => state?.endpoint.health ?? null),
      ['degraded', null, 'paused', 'healthy'],
    )
    const [after] = await deliveries().listDue(theirs.endpoint.id, { now: now + 2, limit: 1 })
    assert.ok(after)
    assert.deepEqual(
      states.map((state) => state?.next?.dueAt ?? null),
      [now + 1, null, null, now + 2],
    )
    assert.deepEqual(states[3]?.next, after)
    assert.equal((await store().endpoints.find(mine.endpoint.id))?.health, 'paused')
    const show = async (id: EndpointId) =>
      (await deliveries().list(id, { after: null, limit: 9 }))
        .map(({ status, dueAt, attempts }) => [status, dueAt, attempts.map((made) => made.at)])
        .reverse()
    assert.deepEqual(await show(mine.endpoint.id), [
      ['succeeded', null, [now + 1]],
      ['pending', now + 1, []],
      ['pending', now + minute, [now]],
    ])
    assert.deepEqual(await show(theirs.endpoint.id), [
      ['succeeded', null, [now + 2]],
      ['pending', now + 2, []],
    ])
    const [attempt] = (await deliveries().find(three.id))?.attempts ?? []
    assert.equal(attempt?.response, 'yes')
    await deliveries().release(lease, { now, notBefore: 0 })
    await deliveries().release(lease2, { now, notBefore: 0 })
  })

  test('a delivery recorded after an attempt that disables the endpoint is missed, unless it was delivered', async () => {
    const { user, login, endpoint } = await stage(1)
    for (let count = 0; count < 2; count += 1) {
      const { id } = await store().connections.save(newConnection(user.id, login.id))
      await acceptChunks(store(), user.id, id, 1)
    }
    const { lease } = await demandClaim(endpoint.id)
    const [one, two, three] = await deliveries().listDue(endpoint.id, { now, limit: 9 })
    assert.ok(one && two && three)
    const decision = { kind: 'retry', dueAt: now + hour } as const
    await deliveries().record([
      resultAs(lease, one.id, { decision: { kind: 'exhausted' }, health: disabled }),
      resultAs(lease, two.id, { decision, health: disabled }),
      resultAs(lease, three.id, { health: disabled }),
    ])
    const rows = await deliveries().list(endpoint.id, { after: null, limit: 9 })
    assert.deepEqual(
      rows.map(({ status, attempts }) => [status, attempts.length]),
      [
        ['succeeded', 1],
        ['missed', 1],
        ['exhausted', 1],
      ],
    )
  })

  test('an answer is sealed under the key that came with the body that was sent', async () => {
    const { endpoint } = await stage(1)
    const { lease } = await demandClaim(endpoint.id)
    const { id, eventId } = await demandDue(endpoint.id)
    const body = (await store().events.readBodies([eventId])).get(eventId)
    const decision = { kind: 'retry', dueAt: now } as const
    const answer = (text: string) => ({ attempt: { response: Buffer.from(text) }, decision })
    await deliveries().record([
      { ...resultAs(lease, id, answer('one')), body },
      resultAs(lease, id, answer('two')),
      { ...resultAs(lease, id), body },
    ])
    const found = await deliveries().find(id)
    assert.equal(found?.status, 'succeeded')
    assert.deepEqual(
      found.attempts.map(({ response }) => response),
      ['one', 'two', null],
    )
  })

  test('health is computed from what the endpoint is when the attempt is recorded', async () => {
    const { endpoint } = await stage(2)
    const { lease } = await demandClaim(endpoint.id)
    await store().endpoints.setHealth(endpoint.id, degraded)
    const { id } = await demandDue(endpoint.id)
    const next = { ...paused, warnedDays: 3 }
    const health = (current: EndpointRow) => {
      assert.deepEqual(current, { ...endpoint, ...degraded })
      return next
    }
    const [after] = await deliveries().record([{ ...resultAs(lease, id), health }])
    const secrets = { current: 'whsec_one', previous: null }
    assert.ok(after)
    const { next: following, ...state } = after
    assert.deepEqual(state, {
      endpoint: { ...endpoint, ...next },
      secrets,
      status: 'succeeded',
    })
    assert.deepEqual(following, await demandDue(endpoint.id))
    assert.deepEqual(await store().endpoints.find(endpoint.id), after.endpoint)
  })

  test('an attempt that disables the endpoint ends everything there', async () => {
    const { endpoint } = await stage(3)
    const { lease } = await demandClaim(endpoint.id)
    const due = await demandDue(endpoint.id)
    const attempt = { status: 410, failure: 'gone' }
    const health = { ...disabled, disabledReason: 'gone' } as const
    const decision = { kind: 'exhausted' } as const
    assert.equal(await recordAs(store(), lease, due.id, { attempt, decision, health }), true)
    const rows = await deliveries().list(endpoint.id, { after: null, limit: 10 })
    assert.deepEqual(
      rows.map(({ status }) => status),
      ['missed', 'missed', 'exhausted'],
    )
    await deliveries().release(lease, { now, notBefore: now })
    assert.equal(await claimEndpoint(store(), endpoint.id, now + hour), null)
  })

  test('an attempt is recorded only for a delivery of the leased endpoint, and not once the delivery has ended', async () => {
    const [mine, theirs] = [await stage(1), await stage(1)]
    const due = await demandDue(theirs.endpoint.id)
    const own = await demandDue(mine.endpoint.id)
    const { lease } = await demandClaim(mine.endpoint.id)
    await assert.rejects(recordAs(store(), lease, due.id), /does not cover/)
    assert.equal(await recordAs(store(), lease, own.id), true)
    await assert.rejects(recordAs(store(), lease, own.id), /does not cover/)
    assert.equal((await deliveries().find(own.id))?.attempts.length, 1)
  })
}
