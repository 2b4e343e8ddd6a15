/** A first request with data in its answer: the newest transactions of an account of this person. */
import { listAccounts, listCategories, listTransactions } from '#contract/operations.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { KeyRow } from '#store/ports/keys.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { PagesContext } from '../context.ts'
import { type Asked, toQueryText } from '../money/own-reads.ts'

/** All accounts, where this person has none at a bank whose consent is active. */
export async function findExample(
  { store }: Pick<PagesContext, 'store'>,
  user: UserRow,
  { limit, key }: { readonly limit: number; readonly key?: KeyRow },
): Promise<Asked> {
  // Every key may read it.
  if (key !== undefined && isNarrow(key)) return { operation: listCategories, query: {} }
  const connections = await store.connections.list(user.id)
  const banks = new Set(
    connections
      .filter(
        ({ provider, status }) => factsOf(provider).category === 'banking' && status === 'active',
      )
      .map(({ id }) => id),
  )
  const accounts = await store.accounts.list(user.id)
  const account = accounts.find(({ connectionId }) => banks.has(connectionId))
  if (account === undefined) return { operation: listAccounts, query: {} }
  const { connectionId, id } = account
  const query = { connectionId, accountId: id, limit: `${limit}` }
  return { operation: listTransactions, query }
}

function isNarrow({ scopes, connectionIds, accountIds }: KeyRow): boolean {
  return scopes !== null || connectionIds !== null || accountIds !== null
}

/** @param base the origin of the API. */
export function toExampleUrl(base: string, { operation, query }: Asked): string {
  const text = toQueryText(query)
  return `${base}${operation.path}${text === '' ? '' : `?${text}`}`
}
