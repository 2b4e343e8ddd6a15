/**
 * What tests of two processes at work for one person share: another connections room on the same store stands
 * for a process, and the person links banks at Fiskil's emulator.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { request } from 'undici'
import { type Connections, makeConnections } from '#connections/connections.ts'
import type { By, Person } from '#contract/actor.ts'
import { type ConnectionId, newId, type SessionId, type UserId } from '#kernel/ids.ts'
import type { Adapters } from '#providers/port.ts'
import { need, only } from './credentials.ts'
import { makeWorld, type World } from './world.ts'

export const baseUrl = 'http://127.0.0.1:9'

/** Another process, whose adapters may be others. */
export function another(world: World, adapters: Adapters = world.adapters): Connections {
  const { store, clock, windows } = world
  const report = {
    deletion: () => undefined,
    linking: () => undefined,
    failedLate: () => assert.fail('nothing is late here'),
    notListening: () => assert.fail('nothing listens here'),
  }
  return makeConnections({ store, adapters, clock, windows, timeoutMs: 30_000, report })
}

export interface Visitor {
  readonly world: World
  readonly by: By<Person>
  readonly userId: UserId
}

export async function visit(t: TestContext): Promise<Visitor> {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const userId = (await world.addUser('a@b.example')) as UserId
  const actor = { kind: 'person', userId, sessionId: newId<SessionId>() } as const
  return { world, userId, by: { actor } }
}

/** Begins a link and agrees on the provider's page; the query of the return. */
export async function agree(
  { world, by, userId }: Visitor,
  institutionId: string | null,
  connectionId: ConnectionId | null = null,
): Promise<URLSearchParams> {
  const start = { userId, provider: 'fiskil', institutionId, connectionId, baseUrl } as const
  const { address } = await world.connections.startLinking(by, start)
  const page = new URL(address)
  const fields = { sess_id: page.searchParams.get('sess_id') ?? '', decision: 'allow' }
  const answer = await request(page, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })
  await answer.body.dump()
  return new URL(String(answer.headers.location)).searchParams
}

export function arrive({ by }: Visitor, query: URLSearchParams, connections: Connections) {
  const state = query.get('state') ?? ''
  return connections.finishLinking(by, { provider: 'fiskil', state, query, baseUrl })
}

export async function linkBank(visitor: Visitor, institutionId: string) {
  const end = await arrive(visitor, await agree(visitor, institutionId), visitor.world.connections)
  assert(end.kind === 'linked')
  return only(end.connections, () => true)
}

/** The end user that was made last. */
export const personOf = (world: World) =>
  Object.values(need(world, 'fiskil').people).at(-1) ?? assert.fail('nobody was made')

export const statusesOf = async ({ world, userId }: Visitor) =>
  (await world.store.connections.list(userId))
    .map(({ institutionId, status }) => `${institutionId} ${status}`)
    .toSorted()

/** Whether those that were made here were deleted, oldest first. */
export const endUsersOf = (world: World) =>
  Object.values(need(world, 'fiskil').people)
    .filter(({ email }) => email === 'a@b.example')
    .map(({ deleted }) => deleted)
