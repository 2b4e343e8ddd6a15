/**
 * Two returns of one person from one bank at two processes at once: another connections room on the same
 * store stands for a process. Of both sessions one is used, and the other one ends at the bank.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Connections, makeConnections } from '#connections/connections.ts'
import { type By, byOperator, type Person } from '#contract/actor.ts'
import { newId, type SessionId, type UserId } from '#kernel/ids.ts'
import type { Adapters } from '#providers/port.ts'
import type { Store } from '#store/ports/store.ts'
import { agreeAtBank } from '#tests/support/bank-page.ts'
import { need } from './credentials.ts'
import { makeWorld, type World } from './world.ts'

const baseUrl = 'http://127.0.0.1:9'
const provider = 'enablebanking'
const institutionId = 'FI:Pankki Kaarna'

interface Visitor {
  readonly world: World
  readonly by: By<Person>
  readonly userId: UserId
}

async function visit(t: TestContext): Promise<Visitor> {
  const world = await makeWorld(t, { providers: [provider] })
  const userId = (await world.addUser('a@b.example')) as UserId
  const actor = { kind: 'person', userId, sessionId: newId<SessionId>() } as const
  return { world, userId, by: { actor } }
}

/** Begins a link and agrees on the bank's page; the query of the return. */
async function agree({ world, by, userId }: Visitor): Promise<URLSearchParams> {
  const start = { userId, provider, institutionId, connectionId: null, baseUrl } as const
  const { address } = await world.connections.startLinking(by, start)
  return (await agreeAtBank(address)).searchParams
}

async function arrive({ by }: Visitor, query: URLSearchParams, connections: Connections) {
  const state = query.get('state') ?? ''
  const end = await connections.finishLinking(by, { provider, state, query, baseUrl })
  assert.equal(end.kind, 'linked')
}

/** Another process, in which `work` is done between the reading of a return and the saving of its login. */
function another({ world }: Visitor, work: () => Promise<void>): Connections {
  const { clock, windows, readings } = world
  const bank = world.adapters[provider]
  assert(bank?.linking !== undefined)
  const { linking } = bank
  let isRead = false
  const finish: typeof linking.finish = async (asked, call) => {
    const result = await linking.finish(asked, call)
    isRead = true
    return result
  }
  const adapters = {
    ...world.adapters,
    [provider]: { ...bank, linking: { ...linking, finish } },
  } as Adapters
  const store: Store = {
    ...world.store,
    async transact(change) {
      if (isRead) {
        isRead = false
        await work()
      }
      return world.store.transact(change)
    },
  }
  const report = {
    deletion: () => undefined,
    linking: () => undefined,
    failedLate: () => assert.fail('nothing is late here'),
    notListening: () => assert.fail('nothing listens here'),
  }
  return makeConnections({ store, adapters, readings, clock, windows, timeoutMs: 5000, report })
}

const statusesOf = ({ world }: Visitor) =>
  [...need(world, provider).site.sessions.sessions.values()].map(({ status }) => status).toSorted()

for (const [before, title] of [
  [0, 'of two first returns at two processes'],
  [1, 'of two renewals at two processes'],
] as const) {
  test(`${title} one session is used, and none is open once the connection is removed`, async (t) => {
    const visitor = await visit(t)
    const { world, userId } = visitor
    const { connections, store } = world
    if (before > 0) await arrive(visitor, await agree(visitor), connections)
    const queries = [await agree(visitor), await agree(visitor)] as const
    const other = another(visitor, () => arrive(visitor, queries[1], connections))
    await arrive(visitor, queries[0], other)
    const closed = Array.from({ length: before + 1 }, () => 'CLOSED')
    assert.deepEqual(statusesOf(visitor), ['AUTHORIZED', ...closed])
    const rows = await store.connections.list(userId)
    assert.deepEqual([rows.length, (await store.logins.listIds(userId)).length], [1, 1])
    for (const { id } of rows) await connections.removeConnection(byOperator, id)
    assert.deepEqual(statusesOf(visitor), [...closed, 'CLOSED'])
    assert.deepEqual(await store.logins.listIds(userId), [])
  })
}
