/**
 * Webhooks of providers without any provider: what an adapter would say of one, and what then became of the
 * connections of a store.
 */
import type { TestContext } from 'node:test'
import { type Connections, makeConnections } from '#connections/connections.ts'
import type { Provider } from '#contract/resources.ts'
import { makeMemoryWindows } from '#fast/memory-windows.ts'
import { type ConnectionId, upstreamId } from '#kernel/ids.ts'
import type { Adapter, Adapters, WebhookNotice, WebhookVerdict } from '#providers/port.ts'
import type { Store } from '#store/ports/store.ts'
import { makeMigratedPlace } from '#tests/contract/store/place.ts'
import {
  addKey,
  addUser,
  epochOf,
  newAccount,
  newConnection,
  now,
  replaceAccounts,
} from '#tests/contract/store/rows.ts'

export const minute = 60_000
export const anyRequest = { header: () => undefined, body: new Uint8Array() }

export interface Ground {
  readonly store: Store
  /** What the adapters say of the next webhook. */
  next: WebhookVerdict | Error
  time: number
  receive(provider?: Provider): Promise<string>
  /** A webhook with these notices, unlike any before. */
  tell(...notices: readonly WebhookNotice[]): Promise<string>
  /** Connections whose sync was requested since the last look. */
  requested(): Promise<readonly ConnectionId[]>
}

/** The room over a store, with these adapters; nothing is linked and nothing is ended. */
export function makeBare(
  store: Store,
  adapters: Adapters,
  clock = { now: () => now },
): Connections {
  return makeConnections({
    store,
    adapters,
    clock,
    windows: makeMemoryWindows(clock),
    timeoutMs: 1000,
    report: {
      deletion: () => undefined,
      linking: () => undefined,
      failedLate: () => undefined,
      notListening: () => undefined,
    },
  })
}

export async function makeGround(t: TestContext, of: (store: Store) => Store = (store) => store) {
  const place = makeMigratedPlace()
  const store = await place.open()
  t.after(async () => {
    await store.close()
    await place.remove()
  })
  let told = 0
  const clock = { now: () => ground.time }
  const receive = async () => {
    if (ground.next instanceof Error) throw ground.next
    return ground.next
  }
  const adapter = { webhooks: { receive }, access: {} } as unknown as Adapter
  const adapters = { fiskil: adapter, akahu: adapter, snaptrade: adapter }
  const connections = makeBare(of(store), adapters, clock)
  const ground: Ground = {
    store,
    next: { kind: 'refused', reason: 'forged' },
    time: now,
    receive: (provider = 'snaptrade') => connections.receiveWebhook(provider, anyRequest),
    tell(...notices) {
      told += 1
      ground.next = { kind: 'accepted', key: `k${told}`, keyLifeMs: 10 * minute, notices }
      return ground.receive()
    },
    async requested() {
      const claimed = await store.syncs.claimDue({ now: ground.time, leaseMs: minute, limit: 100 })
      const outcome = {
        kind: 'succeeded',
        newCount: 0,
        updatedCount: 0,
        chunks: 0,
        rowsReadAt: null,
        ledgerFrom: null,
      } as const
      for (const { runId } of claimed) {
        const end = { outcome, endedAt: ground.time, nextDueAt: ground.time + 1000 * minute }
        await store.syncs.finish(runId, end)
      }
      return claimed.filter(({ reason }) => reason === 'provider').map((sync) => sync.connectionId)
    },
  }
  return ground
}

/** A login at SnapTrade with connections of these upstream ids and institutions. */
export async function addPerson(
  { store }: Ground,
  upstreamUserId: string,
  links: readonly {
    readonly id: string
    readonly institution?: string
    readonly account?: string
  }[],
) {
  const user = await addUser(store)
  const { hash } = await addKey(store, user.id)
  const login = await store.logins.save({
    userId: user.id,
    provider: 'snaptrade',
    upstreamUserId,
    secret: 'the secret',
  })
  const ids: ConnectionId[] = []
  for (const { id, institution = 'inst-1', account } of links) {
    const connection = await store.connections.save(
      newConnection(user.id, login.id, {
        provider: 'snaptrade',
        upstreamId: upstreamId(id),
        institutionId: institution,
        createdAt: now - minute,
      }),
    )
    ids.push(connection.id)
    if (account === undefined) continue
    const accounts = [newAccount({ upstreamId: upstreamId(account) })]
    await replaceAccounts(store, connection.id, accounts)
  }
  return { user, login, ids, epoch: () => epochOf(store, hash) }
}

export const notice = (
  change: WebhookNotice['change'],
  about: Partial<WebhookNotice> = {},
): WebhookNotice => ({
  login: { upstreamUserId: 'person-1' },
  connection: null,
  institutionId: null,
  account: null,
  refreshedAt: null,
  change,
  ...about,
})

export async function statusOf({ store }: Ground, id: ConnectionId | undefined): Promise<string> {
  const row = id === undefined ? null : await store.connections.find(id)
  return row?.status ?? 'gone'
}
