/**
 * Pages of 1,000 transactions as Fiskil sends them, fetched once from its emulator, and the query that they
 * answer.
 */
import { request } from 'undici'
import { type AccountId, type ConnectionId, newId, upstreamId } from '#kernel/ids.ts'
import { getZone, systemClock } from '#kernel/time.ts'
import { openTransactionPage } from '#providers/fiskil/reader.ts'
import type { RowsQuery, TransactionPage } from '#providers/port.ts'
import { startSandbox } from '#sandbox/start.ts'

export interface LedgerPages {
  readonly query: RowsQuery
  readonly accountIds: readonly AccountId[]
  /** The bytes of a page; each number gives other row ids. */
  body(number: number): Uint8Array
  open(body: Uint8Array): TransactionPage
}

interface Row {
  readonly arrangement_id: string
  readonly account_id: string
}

const base = new URL('http://127.0.0.1/')

/** `connectionId` and the accounts are made up; the store gets rows of these ids. */
export async function fetchPages(connectionId: ConnectionId): Promise<LedgerPages> {
  const text = await fetchPage()
  const { transactions } = JSON.parse(text) as { transactions: readonly Row[] }
  const upstreamIds = [...new Set(transactions.map((row) => row.account_id))]
  const accounts = upstreamIds.map((id) => ({
    id: newId<AccountId>(),
    connectionId,
    upstreamId: upstreamId(id),
    name: 'Everyday',
    currency: 'AUD',
  }))
  const query: RowsQuery = {
    userId: newId(),
    login: { id: newId(), upstreamUserId: 'person', secret: null, version: 1 },
    connection: {
      id: connectionId,
      status: 'active',
      upstreamId: upstreamId(transactions[0]?.arrangement_id ?? ''),
    },
    accounts,
    scoped: true,
    window: { from: null, to: null },
    zone: getZone('Australia/Sydney'),
  }
  return {
    query,
    accountIds: accounts.map(({ id }) => id),
    body: (number) => Buffer.from(text.replaceAll('"fiskil_id":"', `"fiskil_id":"${number}-`)),
    open: (body) => openTransactionPage({ query, cursor: null, body, base, odd: () => {} }),
  }
}

async function fetchPage(): Promise<string> {
  const sandbox = await startSandbox({ clock: systemClock })
  try {
    const { fiskil } = sandbox.access
    const person = sandbox.person('history').find(({ provider }) => provider === 'fiskil')
    if (fiskil === null || person?.provider !== 'fiskil') throw new Error('there is no Fiskil')
    const minted = await request(`${fiskil.baseUrl}/v1/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_id: fiskil.clientId, client_secret: fiskil.clientSecret }),
    })
    const { token } = (await minted.body.json()) as { token: string }
    const query = new URLSearchParams({
      end_user_id: person.endUserId,
      status: 'POSTED',
      'page[size]': '1000',
    })
    const answer = await request(`${fiskil.baseUrl}/v1/banking/transactions?${query}`, {
      headers: { authorization: `Bearer ${token}`, 'x-fiskil-version': 'v3' },
    })
    return await answer.body.text()
  } finally {
    await sandbox.close()
  }
}
