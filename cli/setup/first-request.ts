/**
 * The request that a setup prints: it reads one account of the person, if possible one of which the provider
 * returns rows. That is found out by asking, for a few accounts and a few seconds.
 */
import type { ReportedAccount, ReportedConnection } from './setup-report.ts'

interface Linked {
  readonly connections: readonly ReportedConnection[]
  readonly accounts: readonly ReportedAccount[]
}

/** Together with the time that one of them may take (`setup-admin.ts`): six seconds. */
const maxAsked = 3

/**
 * The path with its query.
 * @param read what the path answers; it rejects where the account cannot be read.
 */
export async function chooseRequest(
  linked: Linked,
  read: (path: string) => Promise<unknown>,
): Promise<string> {
  const paths = listPaths(linked)
  for (const path of paths.slice(0, maxAsked)) {
    if (await hasRows(read(path))) return path
  }
  return paths[0] ?? '/v1/connections'
}

async function hasRows(reading: Promise<unknown>): Promise<boolean> {
  try {
    return ((await reading) as { readonly data: readonly unknown[] }).data.length > 0
  } catch {
    // Whatever the reason is, another account is the better one to begin with; a request for this one tells
    // it.
    return false
  }
}

/** Those of banks first: everybody knows what to expect of transactions. */
function listPaths({ connections, accounts }: Linked): readonly string[] {
  // An everyday account is more likely to have rows of the last 30 days than savings.
  const byUse = accounts.toSorted((one, other) => rankOf(one) - rankOf(other))
  const usable = connections.filter(({ status }) => status === 'active')
  return (['banking', 'brokerage'] as const).flatMap((category) =>
    usable
      .filter((connection) => connection.category === category)
      .flatMap((connection) =>
        byUse
          .filter(({ connectionId }) => connectionId === connection.id)
          .map((account) => toPath(connection, account)),
      ),
  )
}

function toPath({ id, category }: ReportedConnection, account: ReportedAccount): string {
  const what = `connectionId=${id}&accountId=${account.id}`
  return category === 'banking' ? `/v1/transactions?${what}&limit=3` : `/v1/holdings?${what}`
}

const rankOf = ({ type }: ReportedAccount) => (type === 'transaction' ? 0 : 1)
