/**
 * A bank connection for tests of syncs: one account of the healthy person whose rows the test writes, all
 * others empty.
 */
import assert from 'node:assert/strict'
import type { ConnectionId } from '#kernel/ids.ts'
import type { AkahuRow } from '#sandbox/akahu/people.ts'
import type { FiskilSandboxRow } from '#sandbox/fiskil/index.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { Service, ServiceUser } from '#tests/support/service.ts'
import { akahuRow, fiskilRow } from '../request/list-transactions/planted.ts'
import { type Watcher, watch } from './watcher.ts'

export interface WatchedBank<Row> {
  readonly user: ServiceUser
  readonly watcher: Watcher
  readonly account: AccountRow
  readonly connectionId: ConnectionId
  /** The account has these rows from now on. */
  plant(rows: readonly Row[]): void
  sync(): ReturnType<Watcher['sync']>
}

/** The first bank of the healthy person at Fiskil, which has these rows when it is linked. */
export async function watchFiskil(
  service: Service,
  rows: readonly FiskilSandboxRow[] = [],
): Promise<WatchedBank<FiskilSandboxRow>> {
  const { consents } = service.sandbox.fiskil.people.healthy
  for (const account of consents.flatMap(({ accounts }) => accounts)) {
    account.grownThrough = 1_000_000
    account.rows = []
  }
  const consent = consents[0] ?? assert.fail()
  const upstream = consent.accounts[0] ?? assert.fail()
  const ids = {
    account_id: upstream.body.account_id,
    arrangement_id: consent.arrangementId,
    institution_id: consent.institutionId,
  }
  function plant(given: readonly FiskilSandboxRow[]): void {
    upstream.rows = given
      .map((row) => ({ ...row, body: { ...ids, ...row.body } }))
      .toSorted((one, other) => other.postsAtMs - one.postsAtMs)
  }
  plant(rows)
  return { ...(await watchBank(service, 'fiskil', upstream.body.account_id)), plant }
}

/** The login of the healthy person at Akahu that `Rainy Day` belongs to. */
export async function watchAkahu(service: Service): Promise<WatchedBank<AkahuRow>> {
  const { accounts } = service.sandbox.akahu.people.healthy
  for (const account of accounts) {
    if (account.growth !== undefined) account.growth.through = '9999-12-31'
    account.rows = []
  }
  const upstream = accounts.find(({ name }) => name === 'Rainy Day')
  assert(upstream !== undefined)
  return {
    ...(await watchBank(service, 'akahu', upstream._id)),
    plant(rows) {
      upstream.rows = [...rows]
    },
  }
}

async function watchBank(service: Service, provider: 'fiskil' | 'akahu', upstreamId: string) {
  const user = await service.createUser()
  const watcher = await watch(service, user)
  await service.link(user, 'healthy', provider)
  const rows = await service.accounts(user)
  const account = rows.find((row) => row.upstreamId === upstreamId)
  assert(account !== undefined, 'the account is linked')
  const { connectionId } = account
  return { user, watcher, account, connectionId, sync: () => watcher.sync(connectionId) }
}

const dayMs = 86_400_000

/** A posted row of Fiskil so many days ago. */
export function fiskilAgo(
  service: Service,
  id: string,
  days: number,
  body: Readonly<Record<string, unknown>> = {},
): FiskilSandboxRow {
  return fiskilRow(id, agoAt(service, days), body)
}

/** A row of Akahu so many days ago. */
export function akahuAgo(
  service: Service,
  id: string,
  days: number,
  fields: Partial<AkahuRow> = {},
): AkahuRow {
  return akahuRow(id, agoAt(service, days), fields)
}

function agoAt({ clock }: Service, days: number): string {
  return new Date(clock.now() - days * dayMs).toISOString()
}

/** What the rows of an event are called. */
export const idsOf = (objects: readonly { readonly id: string }[]): readonly string[] =>
  objects.map(({ id }) => id)
