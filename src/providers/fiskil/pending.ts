/**
 * Fiskil's pending rows (docs/providers/fiskil.md, Reading): a list of their own by status. They tell
 * neither posting nor execution time, so a list with bounds would leave them out, and are posted under
 * another id.
 */
import type { AccountRef, CallContext, RowsQuery } from '../port.ts'
import type { PendingReading, PendingRow } from '../row-details.ts'
import type { FiskilClient } from './client.ts'
import { toPendingDetails } from './details.ts'
import { pageSize, readExactJson } from './lists.ts'
import {
  findTime,
  isForeign,
  readId,
  toFields,
  toRow,
  toRowDates,
  wantedAccount,
} from './reader.ts'
import { type Row, readText } from './row.ts'

export interface PendingSource {
  readonly client: FiskilClient
  /** Receives values outside the known lists. */
  readonly odd: (what: string) => void
}

/** @throws UpstreamError. */
export async function readPendingRows(
  { client, odd }: PendingSource,
  query: RowsQuery,
  call: CallContext,
): Promise<PendingReading> {
  const only = query.scoped ? query.accounts[0] : undefined
  const rows = await client.list(
    {
      path: '/v1/banking/transactions',
      key: 'transactions',
      query: {
        end_user_id: query.login.upstreamUserId,
        status: 'PENDING',
        'page[size]': String(pageSize),
        ...(only === undefined ? {} : { account_id: only.upstreamId }),
      },
      parse: readExactJson,
    },
    call,
  )
  const accounts = new Map<unknown, AccountRef>(
    query.accounts.map((account) => [account.upstreamId, account]),
  )
  return {
    rows: rows.map(toRow).flatMap((row, index): readonly PendingRow[] => {
      const account = wantedAccount(row, index, query.connection.upstreamId, accounts)
      const isPending = readText(row.status, index, 'status') === 'PENDING'
      return account === null || !isPending ? [] : [toPending(row, index, { account, query, odd })]
    }),
  }
}

function toPending(
  row: Row,
  index: number,
  shown: {
    readonly account: AccountRef
    readonly query: RowsQuery
    readonly odd: (what: string) => void
  },
): PendingRow {
  const { account, query } = shown
  const found = findTime(row, index, query)
  return {
    key: readId(row, index),
    row: toFields(row, index, {
      ...shown,
      frame: {
        status: 'pending',
        date: found === null ? '' : (found.day ?? query.zone.dayOf(found.time)),
        datetime: found?.text ?? null,
      },
    }),
    time: found?.time ?? null,
    dates: toRowDates(row, index, query),
    isForeign: isForeign(row, index, account),
    details: toPendingDetails(row, index, account),
  }
}
