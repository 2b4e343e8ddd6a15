/**
 * The parameters of `/simplefin/accounts`. Nothing in them fails a request: what cannot be read counts as
 * absent and is named in the answer, because clients take any other status for a broken link.
 */

export interface AccountsQuery {
  /** Epoch seconds; a row counts from the start on, and before the end. */
  readonly start: number | null
  readonly end: number | null
  readonly withRows: boolean
  /** Null: all accounts. */
  readonly accounts: ReadonlySet<string> | null
  /** For the developer of the client. */
  readonly notes: readonly string[]
}

const knownVersions = new Set(['1', '2'])
/** Accounts that a filter may name; a person has no more. */
const maxAccounts = 1000

export function readAccountsQuery(params: URLSearchParams): AccountsQuery {
  const notes: string[] = []
  const readTime = (name: string): number | null => {
    const text = params.get(name)
    if (text === null || text === '') return null
    // Fractions are cut off. Sixteen digits are more than any calendar has seconds.
    const digits = /^(-?\d{1,15})(?:\.\d*)?$/.exec(text.trim())?.[1]
    if (digits === undefined) notes.push(`${name} is no number of seconds and was ignored`)
    return digits === undefined ? null : Number(digits)
  }
  const [start, end] = [readTime('start-date'), readTime('end-date')]
  const version = params.get('version')
  if (version !== null && !knownVersions.has(version))
    notes.push('the version is unknown: this is 1 and 2 in one')
  const wanted = params
    .getAll('account')
    .filter((id) => id !== '')
    .slice(0, maxAccounts)
  const balancesOnly = params.get('balances-only')
  return {
    start,
    end,
    withRows: balancesOnly === null || balancesOnly === '0',
    accounts: wanted.length === 0 ? null : new Set(wanted.map((id) => id.toLowerCase())),
    notes,
  }
}
