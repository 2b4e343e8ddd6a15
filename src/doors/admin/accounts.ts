/** The accounts of a user in the admin API, in the contract's public form: numbers are masked, and there is no money data. */
import type { FastifyInstance } from 'fastify'
import { toAccount } from '#resources/list-accounts.ts'
import { sortAccounts } from '#resources/sort-accounts.ts'
import type { AdminDoorDeps } from './deps.ts'
import { findUser } from './subjects.ts'

export function addAccountRoute(admin: FastifyInstance, deps: AdminDoorDeps): void {
  admin.get<{ Params: { user: string } }>('/users/:user/accounts', async ({ params }) => {
    const { id } = await findUser(deps, params.user)
    return { data: sortAccounts(await deps.store.accounts.list(id)).map(toAccount) }
  })
}
