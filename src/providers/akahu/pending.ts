/**
 * Akahu's pending rows (docs/providers/akahu.md, Reading): a list of their own, without ids. A row is
 * known by all of its content with a number among equal ones, so one whose amount changes is another row.
 */
import { parseExactJson } from '#kernel/json.ts'
import type { AccountRef, CallContext, RowsQuery } from '../port.ts'
import { type PendingReading, type PendingRow, untoldDates } from '../row-details.ts'
import { keyRows } from '../row-identity.ts'
import type { AkahuClient, AkahuRequest } from './client.ts'
import { makeDateReader } from './dates.ts'
import { toPendingDetails } from './details.ts'
import { malformed } from './failures.ts'
import { isForeign, type Note, toRow, type WireRow } from './map.ts'
import { checkStranger, readEnvelope, readNext } from './reader.ts'
import { tokensOf } from './tokens.ts'

/** A person has few pending rows: more is a list that does not end. */
const maxPages = 20

/** @throws UpstreamError. */
export async function readPendingRows(
  client: AkahuClient,
  query: RowsQuery,
  call: CallContext,
  note: Note,
): Promise<PendingReading> {
  const accounts = new Map<unknown, AccountRef>(
    query.accounts.map((account) => [account.upstreamId, account]),
  )
  const readDate = makeDateReader(query)
  const found = (await readWholeList(client, query, call)).flatMap((row) => {
    const account = accounts.get(row._account)
    if (account !== undefined) return [toPending(row, { account, readDate, note })]
    checkStranger(row, accounts)
    return []
  })
  const contentOf = ({ row, type }: (typeof found)[number]) => {
    const { accountId, datetime, amount, description } = row
    return [accountId, datetime, amount, description, type]
  }
  const keys = keyRows(found, { contentOf })
  const rows = found.map(({ type: _type, ...row }, index) => ({ ...row, key: keys[index] ?? '' }))
  return { rows }
}

async function readWholeList(
  client: AkahuClient,
  query: RowsQuery,
  call: CallContext,
): Promise<readonly WireRow[]> {
  const tokens = tokensOf(query.login)
  const only = query.scoped ? query.accounts[0] : undefined
  const rows: WireRow[] = []
  for (let cursor: string | null = null, pages = 0; ; pages += 1) {
    if (pages === maxPages) throw malformed('the list of pending transactions does not end')
    const request = toRequest(only, cursor)
    const page = readEnvelope(
      await client.asUser(tokens, request, call, only === undefined ? 'user' : 'account'),
      parseExactJson,
    )
    rows.push(...page.rows)
    const next = readNext(page.cursor)
    if (next === null) return rows
    if (next === cursor) throw malformed('the cursors form a cycle')
    cursor = next
  }
}

function toRequest(only: AccountRef | undefined, cursor: string | null): AkahuRequest {
  const parameters = cursor === null ? '' : `?${new URLSearchParams({ cursor })}`
  if (only === undefined) {
    const route = '/transactions/pending'
    return { method: 'GET', route, target: `${route}${parameters}` }
  }
  return {
    method: 'GET',
    route: '/accounts/{id}/transactions/pending',
    target: `/accounts/${encodeURIComponent(only.upstreamId)}/transactions/pending${parameters}`,
  }
}

function toPending(
  row: WireRow,
  shown: {
    readonly account: AccountRef
    readonly readDate: ReturnType<typeof makeDateReader>
    readonly note: Note
  },
): Omit<PendingRow, 'key'> & { readonly type: string } {
  const { account, readDate, note } = shown
  const mapped = toRow(row, { account, id: '', status: 'pending', readDate, note })
  const found = readDate(row.date)
  if (found === null) throw malformed('a transaction has no date')
  return {
    type: typeof row.type === 'string' ? row.type : '',
    row: mapped,
    time: found.time,
    dates: untoldDates,
    isForeign: isForeign(row),
    details: toPendingDetails(row, account),
  }
}
