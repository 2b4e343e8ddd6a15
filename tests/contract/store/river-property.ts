/**
 * Random sequences of what accepts, sends, fails, replays, pauses, disables and crashes, compared with a
 * model after every step: each lane runs strictly in order, exactly what is due is claimed, and nothing that
 * was accepted is lost.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ConnectionId, DeliveryId, EventId } from '#kernel/ids.ts'
import type { ClaimedEndpoint, DeliveryRow } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import type { Store } from '#store/ports/store.ts'
import {
  accept,
  addEndpoint,
  claimEndpoint,
  degraded,
  disabled,
  healthy,
  minute,
  newEvent,
  recordAs,
} from './event-rows.ts'
import type { StoreOf } from './place.ts'
import {
  raceEndpointClaims,
  raceLedger,
  raceRelease,
  raceRiverDeletion,
  raceShred,
  raceSyncClaims,
} from './river-races.ts'
import { addLink, newConnection, now } from './rows.ts'

const actions = [
  'accept',
  'accept',
  'test',
  'claim',
  'claim',
  'succeed',
  'succeed',
  'retry',
  'exhaust',
  'release',
  'hold',
  'crash',
  'wait',
  'replay',
  'disable',
  'enable',
  'shred',
] as const
type Action = (typeof actions)[number]

const step = fc.record({ action: fc.constantFrom(...actions), choice: fc.nat(3) })

/** What the store must agree with. */
interface Model {
  at: number
  claimed: ClaimedEndpoint | null
  /** The holder of the lease is gone, and the lease has ended. */
  isExpired: boolean
  /** Until when the receiver asked to wait. */
  notBefore: number
  isDisabled: boolean
  isDegraded: boolean
  /** Every delivery, in the order of creation. */
  deliveries: ModelDelivery[]
}

interface ModelDelivery {
  readonly eventId: EventId
  readonly lane: string
  readonly isTest: boolean
  readonly isReplay: boolean
  status: DeliveryRow['status']
  dueAt: number
}

interface River {
  readonly store: Store
  readonly endpoint: EndpointRow
  readonly connections: readonly ConnectionId[]
  readonly model: Model
  /** Ids of deliveries by their place in the model, as the store lists them. */
  ids: readonly DeliveryId[]
}

const races = {
  'syncs are claimed': raceSyncClaims,
  'endpoints are claimed': raceEndpointClaims,
  'an endpoint is given back': raceRelease,
  'R33: an event is shredded': raceShred,
  'R34b: a ledger ends': raceLedger,
  'a user is deleted': raceRiverDeletion,
}

export function testRiver(store: StoreOf): void {
  for (const [name, race] of Object.entries(races))
    test(`${name} while others work on the same`, async () => {
      for (let round = 0; round < 5; round += 1) await race(store(), store())
    })

  test('at random: lanes in order, no delivery lost, no endpoint claimed twice or too early', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }),
        async (steps) => {
          const river = await begin(store())
          for (const { action, choice } of steps) {
            await act(river, action, choice)
            await check(river)
          }
          await drain(river)
        },
      ),
      // Shrinking a failure runs its sequences again; the limit ends it, and on a slow machine the runs.
      { numRuns: 12, interruptAfterTimeLimit: 60_000 },
    )
  })
}

async function begin(store: Store): Promise<River> {
  const { user, login, connection } = await addLink(store)
  const other = await store.connections.save(newConnection(user.id, login.id))
  const endpoint = await addEndpoint(store, user.id)
  const connections = [connection.id, other.id]
  const model = {
    at: now,
    claimed: null,
    isExpired: false,
    notBefore: now,
    isDisabled: false,
    isDegraded: false,
    deliveries: [],
  }
  return { store, endpoint, connections, model, ids: [] }
}

/** The first pending delivery of each lane, which alone is ever due. */
function firsts({ deliveries }: Model): readonly ModelDelivery[] {
  const lanes = new Set<string>()
  return deliveries.filter(({ status, lane }) => {
    if (status !== 'pending' || lanes.has(lane)) return false
    lanes.add(lane)
    return true
  })
}

function add({ model }: River, made: Omit<ModelDelivery, 'status' | 'dueAt'>): void {
  const status = model.isDisabled ? 'missed' : 'pending'
  model.deliveries.push({ ...made, status, dueAt: model.at })
}

async function act(river: River, action: Action, choice: number): Promise<void> {
  const { store, endpoint, connections, model } = river
  const { claimed } = model
  switch (action) {
    case 'accept': {
      const connection = connections[choice % 2] ?? assert.fail()
      const chunks = Array.from({ length: 1 + choice }, (_, index) =>
        newEvent(endpoint.userId, connection, { createdAt: model.at, chunk: index + 1 }),
      )
      await accept(store, chunks)
      for (const { id: eventId } of chunks)
        add(river, { eventId, lane: connection, isTest: false, isReplay: false })
      return
    }
    case 'test': {
      const event = newEvent(endpoint.userId, null, { createdAt: model.at })
      await accept(store, [event], endpoint.id)
      add(river, { eventId: event.id, lane: event.id, isTest: true, isReplay: false })
      return
    }
    case 'claim':
      if (claimed === null) return claim(river)
      assert.equal(await claimEndpoint(store, endpoint.id, model.at), null, 'it is held')
      return
    case 'succeed':
    case 'retry':
    case 'exhaust':
      return attempt(river, action, choice)
    case 'release':
    case 'hold':
      return release(river, action === 'hold' ? model.at + choice * minute : 0)
    case 'crash':
      // The lease expires, and a later step with it is refused.
      if (claimed === null) return
      model.at = Math.max(model.at, claimed.leaseUntil)
      model.claimed = null
      model.isExpired = true
      return
    case 'wait':
      model.at += choice * 20_000
      if (claimed === null) return
      model.claimed = { ...claimed, leaseUntil: model.at + minute }
      assert.equal(await store.deliveries.renew(claimed.lease, model.at + minute), true)
      return
    case 'replay':
      return replay(river, choice)
    case 'disable':
      await store.endpoints.setHealth(endpoint.id, disabled)
      model.isDisabled = true
      for (const one of model.deliveries) if (one.status === 'pending') one.status = 'missed'
      return
    case 'enable':
      await store.endpoints.setHealth(endpoint.id, healthy)
      model.isDisabled = false
      model.isDegraded = false
      model.notBefore = model.at
      return
    case 'shred':
      await store.events.shred({ acceptedBefore: model.at + 1, now: model.at, limit: 500 })
      return
  }
}

/** When the endpoint is due while it is not leased; null: never. */
function dueTime({ deliveries, notBefore, ...model }: Model): number | null {
  const times = firsts({ deliveries, notBefore, ...model }).map(({ dueAt, isTest }) =>
    isTest ? dueAt : Math.max(dueAt, notBefore),
  )
  return times.length === 0 ? null : Math.min(...times)
}

/** What may be sent: while the endpoint waits, tests alone. */
function dueNow(model: Model): readonly ModelDelivery[] {
  const isWaiting = model.notBefore > model.at
  return firsts(model).filter(({ dueAt, isTest }) => dueAt <= model.at && (isTest || !isWaiting))
}

async function release({ store, model }: River, notBefore: number): Promise<void> {
  if (model.claimed === null) return
  model.notBefore = Math.max(model.notBefore, notBefore)
  await store.deliveries.release(model.claimed.lease, { now: model.at, notBefore })
  model.claimed = null
}

async function claim(river: River): Promise<void> {
  const { store, endpoint, model } = river
  const dueAt = dueTime(model)
  const isDue = dueAt !== null && dueAt <= model.at
  const claimed = await claimEndpoint(store, endpoint.id, model.at)
  assert.equal(claimed !== null, !model.isDisabled && (isDue || model.isExpired))
  model.claimed = claimed
  if (claimed !== null) model.isExpired = false
}

async function attempt(river: River, action: 'succeed' | 'retry' | 'exhaust', choice: number) {
  const { store, endpoint, model, ids } = river
  const { claimed, at } = model
  const due = dueNow(model)
  const chosen = due[choice % Math.max(1, due.length)]
  if (claimed === null || chosen === undefined) return
  const listed = await store.deliveries.listDue(endpoint.id, { now: at, limit: 100 })
  assert.deepEqual(
    listed.map(({ eventId }) => eventId),
    due.map(({ eventId }) => eventId),
  )
  const id = ids[model.deliveries.indexOf(chosen)] ?? assert.fail('it was not listed')
  const decision =
    action === 'retry'
      ? ({ kind: 'retry', dueAt: at + choice * minute } as const)
      : ({ kind: action === 'succeed' ? 'succeeded' : 'exhausted' } as const)
  const health = decision.kind === 'retry' ? degraded : healthy
  assert.equal(
    await recordAs(store, claimed.lease, id, { decision, health, attempt: { at } }),
    true,
  )
  if (model.isDegraded && health === healthy) model.notBefore = at
  model.isDegraded = health === degraded
  if (decision.kind === 'retry') {
    chosen.dueAt = decision.dueAt
    return
  }
  chosen.status = decision.kind
  const next = firsts(model).find(({ lane }) => lane === chosen.lane)
  if (next !== undefined) next.dueAt = at
}

async function replay(river: River, choice: number): Promise<void> {
  const { store, model, ids } = river
  const place = choice * 3
  const former = model.deliveries[place]
  const id = ids[place]
  if (former === undefined || id === undefined) return
  const replays = model.deliveries.filter((one) => one.isReplay && one.eventId === former.eventId)
  const pending = replays.filter(({ status }) => status === 'pending').length
  const made = await store.deliveries.replay(id, model.at)
  const event = await store.events.find(former.eventId)
  assert.equal(made === null, event?.shreddedAt !== null)
  if (made === null) return
  // The last three are kept.
  const ended = replays.filter(({ status }) => status !== 'pending')
  const surplus = new Set(ended.slice(0, Math.max(0, ended.length + Math.min(pending, 2) - 2)))
  model.deliveries = model.deliveries.filter((one) => !surplus.has(one))
  if (pending === 3) return
  add(river, { eventId: former.eventId, lane: made, isTest: former.isTest, isReplay: true })
}

/** Every delivery is as the model says, and only the first of each lane has a due time. */
async function check(river: River): Promise<void> {
  const { store, endpoint, model } = river
  const rows = (await store.deliveries.list(endpoint.id, { after: null, limit: 1000 })).toReversed()
  river.ids = rows.map(({ id }) => id)
  const first = new Set(firsts(model))
  assert.deepEqual(
    rows.map(({ eventId, status, dueAt }) => [eventId, status, dueAt]),
    model.deliveries.map((one) => [one.eventId, one.status, first.has(one) ? one.dueAt : null]),
  )
  for (const { eventId, status } of model.deliveries)
    if (status === 'pending') assert.notEqual(await store.events.open(eventId), null)
}

/** Whatever is left arrives once the endpoint works, without anything else happening. */
async function drain(river: River): Promise<void> {
  const { store, endpoint, model } = river
  if (model.claimed !== null) model.at = model.claimed.leaseUntil
  model.claimed = null
  for (let round = 0; firsts(model).length > 0; round += 1) {
    assert.ok(round < 500, 'something is never due')
    model.at += 3 * minute
    const claimed = await claimEndpoint(store, endpoint.id, model.at)
    if (claimed === null) continue
    model.claimed = claimed
    for (const one of dueNow(model)) {
      const id = river.ids[model.deliveries.indexOf(one)] ?? assert.fail('it was not listed')
      await recordAs(store, claimed.lease, id, { attempt: { at: model.at } })
      one.status = 'succeeded'
      const next = firsts(model).find(({ lane }) => lane === one.lane)
      if (next !== undefined) next.dueAt = model.at
    }
    await store.deliveries.release(claimed.lease, { now: model.at, notBefore: model.at })
    await check(river)
  }
}
