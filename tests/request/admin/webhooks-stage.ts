/** The webhook endpoints of one person in the admin API, for its tests. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type ConnectionId, newId, type SyncRunId, type UserId } from '#kernel/ids.ts'
import { makeEvents } from '#webhooks/envelope.ts'
import { type Answer, makeWorld, type World, type WorldOptions } from './world.ts'

export interface Endpoint {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly secret: string
  readonly health: string
}

export const errorOf = ({ body }: Answer) =>
  (body as { error: { code?: string; message: string; details?: string[] } }).error
export const endpointOf = ({ body }: Answer) => body as Endpoint
export const rowsOf = <Row>({ body }: Answer) => (body as { data: Row[] }).data

export async function makeStage(t: TestContext, options: WorldOptions = {}) {
  const world = await makeWorld(t, options)
  const userId = await world.addUser('emma@b.example')
  const create = async (body: object = { url: 'https://receiver.example.test/hook' }) => {
    const answer = await world.ask('POST', '/admin/users/emma@b.example/webhooks', body)
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    return endpointOf(answer)
  }
  return { ...world, userId: userId as UserId, create }
}

/** Accepts one event of a run. */
export async function emit({
  store,
  clock,
  userId,
}: World & { readonly userId: UserId }): Promise<void> {
  const events = makeEvents({
    userId,
    connectionId: newId<ConnectionId>(),
    runId: newId<SyncRunId>(),
    type: 'transactions.synced',
    createdAt: clock.now(),
    new: ['{"description":"Ngā mihi"}'],
    updated: [],
  })
  await store.events.accept(await store.events.seal(events))
}
