/** One query for all accounts of a connection, or one for each where the provider lists rows by account. */
import type { BankingAdapter, RowsQuery } from './port.ts'

/** Reading R16: rows of the same time are merged by account id. */
export function toQueries(
  { transactions }: Pick<BankingAdapter, 'transactions'>,
  query: RowsQuery,
): readonly RowsQuery[] {
  if (transactions.isByAccount !== true) return [query]
  const inOrder = query.accounts.toSorted((left, right) => (left.id < right.id ? -1 : 1))
  return inOrder.map((account) => ({ ...query, accounts: [account], scoped: true }))
}
