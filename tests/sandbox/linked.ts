/**
 * A magic user linked to a fresh user of the service at one provider, and the requests that tests ask of it.
 */
import assert from 'node:assert/strict'
import {
  type MagicName,
  magicUsers,
  type SandboxProvider,
  sandboxProviders,
} from '#sandbox/magic-users.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { Answer, Service, ServiceUser } from '#tests/support/service.ts'

export interface Linked {
  readonly user: ServiceUser
  /** The one with the most accounts, as it was when it was linked. */
  readonly connection: ConnectionRow
  readonly accounts: readonly AccountRow[]
  /** What the REST API says of the connection now. */
  status(): Promise<string>
  /** Transactions, trades or holdings of the connection; `more` is further query, e.g. `&limit=5`. */
  rows(more?: string): Promise<Answer>
  holdings(): Promise<Answer>
  balances(): Promise<Answer>
  account(name: string): AccountRow
}

export async function linkMagic(
  service: Service,
  person: MagicName,
  provider: SandboxProvider,
): Promise<Linked> {
  const user = await service.createUser()
  const linked = await service.link(user, person, provider)
  const all = await service.accounts(user)
  const count = (row: ConnectionRow) =>
    all.filter(({ connectionId }) => connectionId === row.id).length
  // Ids and times of creation are no order: two links of one millisecond stand in any.
  const [connection] = linked.toSorted(
    (left, right) =>
      count(right) - count(left) || left.institutionName.localeCompare(right.institutionName, 'en'),
  )
  assert.ok(connection !== undefined, `${person} has nothing to link at ${provider}`)
  const accounts = all.filter((row) => row.connectionId === connection.id)
  const path = provider === 'snaptrade' ? 'trades' : 'transactions'
  const ask = (query: string) => service.get(query, user)
  return {
    user,
    connection,
    accounts,
    async status() {
      const { body } = await ask('/v1/connections')
      return body.data.find((row: { id: string }) => row.id === connection.id)?.status
    },
    rows: (more = '') => ask(`/v1/${path}?connectionId=${connection.id}${more}`),
    holdings: () => ask(`/v1/holdings?connectionId=${connection.id}`),
    balances: () => ask(`/v1/balances?accountIds=${accounts.map(({ id }) => id).join()}`),
    account(name) {
      const found = accounts.find((row) => row.name === name)
      assert.ok(found !== undefined, `there is no account ${name}`)
      return found
    },
  }
}

/** The providers that have this person. */
export const providersWith = (name: MagicName): readonly SandboxProvider[] =>
  sandboxProviders.filter((provider) =>
    magicUsers.some((one) => one.name === name && one.at[provider] !== null),
  )
