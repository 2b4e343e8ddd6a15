/**
 * Banking connections for tests, written directly into the store for cases without a provider: names, ids,
 * times and states that the emulators do not produce.
 */
import { randomUUID } from 'node:crypto'
import type { NewAccount } from '#connections/discovery/match-accounts.ts'
import { upstreamId } from '#kernel/ids.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow, NewConnection } from '#store/ports/connections.ts'
import { replaceAccounts } from '#tests/contract/store/rows.ts'
import type { Service, ServiceUser } from './service.ts'

export interface Bank {
  readonly connection: ConnectionRow
  readonly accounts: readonly AccountRow[]
}

export interface BankPlan extends Partial<NewConnection> {
  readonly accounts?: readonly Partial<NewAccount>[]
  /** The secret of the login; null by default. */
  readonly secret?: string
}

/** A connection with these accounts, active by default; of Fiskil, with an unknown end user. */
export async function plantBank(
  service: Service,
  user: ServiceUser,
  plan: BankPlan = {},
): Promise<Bank> {
  const { accounts = [], secret = null, ...fields } = plan
  const { store } = service.app
  const login = await store.logins.save({
    userId: user.id,
    provider: fields.provider ?? 'fiskil',
    upstreamUserId: `nobody-${randomUUID()}`,
    secret,
  })
  const connection = await store.connections.save({
    userId: user.id,
    loginId: login.id,
    provider: 'fiskil',
    upstreamId: upstreamId(randomUUID()),
    institutionId: '22',
    institutionName: 'Planted Bank',
    institutionLogo: null,
    status: 'active',
    lastRefreshedAt: null,
    consentExpiresAt: null,
    createdAt: service.clock.now(),
    ...fields,
  })
  const rows = await replaceAccounts(
    store,
    connection.id,
    accounts.map((account, index) => ({
      upstreamId: upstreamId(randomUUID()),
      previousUpstreamId: null,
      name: `Account ${index}`,
      type: 'transaction',
      accountNumber: null,
      currency: 'AUD',
      ...account,
    })),
  )
  return { connection, accounts: rows }
}
