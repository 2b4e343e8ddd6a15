/**
 * The Fiskil adapter (Australia, Consumer Data Right): the banking port over Fiskil's Data API. A login is an
 * end user, a connection one of its consents. Ending a consent is its only write (docs/providers/fiskil.md,
 * Consent).
 */
import type { Balance } from '#contract/resources.ts'
import { hourMs, toIso, toMillis } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type {
  AccountRef,
  BalanceQuery,
  BalanceReading,
  BankingAdapter,
  CallContext,
  ConnectionRef,
  ConsentState,
  PageCursor,
  RowsQuery,
  TransactionPage,
} from '../port.ts'
import { type FiskilClient, type FiskilOptions, makeFiskilClient } from './client.ts'
import {
  accountKey,
  type ConsentOptions,
  confirmConsent,
  discoverConnections,
  listBalanceRows,
  refuseLostConsent,
  sightConsents,
} from './consent.ts'
import { deleteEndUser, identify } from './end-user.ts'
import { makeFiskilLinking } from './linking.ts'
import { pageSize } from './lists.ts'
import { toBalance } from './map.ts'
import { readPendingRows } from './pending.ts'
import { openTransactionPage } from './reader.ts'
import { makeFiskilWebhooks } from './webhook.ts'

export type { FiskilOptions } from './client.ts'

/** Makes the adapter and opens its connection pool; `close` closes the pool. */
export function makeFiskil(options: FiskilOptions): BankingAdapter {
  const client = makeFiskilClient(options)
  const consentOptions: ConsentOptions = { client, clock: options.clock, report: options.report }
  const odd = (what: string) => options.report.oddity({ provider: 'fiskil', what })
  const { webhookSecret: secret = null, teamId, clientId, clock } = options

  const open = (query: RowsQuery, cursor: PageCursor | null, body: Uint8Array): TransactionPage =>
    openTransactionPage({ query, cursor, body, base: client.base, odd })

  return {
    provider: 'fiskil',
    category: 'banking',
    freshness: 'reads',
    access: {
      hasOwnCredentials: true,
      mode: 'team',
      off: [],
      nextStep:
        'Run `tributary connections link U --provider fiskil --end-user-id X` with an end user who has given consent.',
    },
    describeLogin: (_login, email) => ({
      obstacle: null,
      renewal: `${email} presses Reconnect on the page of the connection (/connections), which leads to the bank`,
      whenRefused: 'Look at the consent of this end user in the Fiskil Console',
    }),

    identify: (credentials, call) => identify(client, credentials, call),
    discover: (login, call) => discoverConnections(consentOptions, login, call),

    async revoke(login, connection, { last }, call) {
      await revoke(client, connection, call)
      if (last && login.isOurs === true) await deleteEndUser(client, login, call)
    },

    endLogin: (login, call) => deleteEndUser(client, login, call),
    confirmEmpty: (login, connection, call) =>
      confirmConsent(consentOptions, { login, connection }, call),

    async balances(query, call) {
      const reading = await readBalances(consentOptions, query, call)
      if (reading.balances.some((balance) => balance.currency === null)) odd('unreadable balance')
      return reading
    },

    transactions: {
      pageSize,
      overlap: 0,
      open,
      async read(query, cursor, call) {
        try {
          const body = await client.get(
            '/v1/banking/transactions',
            toTransactionsQuery(query, cursor),
            call,
          )
          return open(query, cursor, body)
        } catch (error) {
          if (isRefused(error, [403, 404])) await explainRefusal(consentOptions, query, call)
          throw error
        }
      },
    },

    pending: (query, call) => readPendingRows({ client, odd }, query, call),
    linking: makeFiskilLinking({ client, teamId: teamId ?? clientId, odd }),
    probe: (call) => client.probe(call),
    ...(secret === null ? {} : { webhooks: makeFiskilWebhooks({ secret, clock, odd }) }),
    close: () => client.close(),
  }
}

/**
 * An end user that was adopted is kept even after the last consent: it may have consents that we never
 * adopted. One that was made here has no other use. The call may be repeated, because an unknown consent
 * gives 204 too.
 */
async function revoke(
  client: FiskilClient,
  { upstreamId }: ConnectionRef,
  call: CallContext,
): Promise<void> {
  try {
    await client.one('DELETE', '/v1/consent', upstreamId, call)
  } catch (error) {
    if (!isRefused(error, [404])) throw error
  }
}

/**
 * A read that was forbidden, or whose end user is unknown, may have lost its consent; then `consent_lost` is
 * thrown (reading R20). Otherwise, and when the consents cannot be read, the caller throws the refusal
 * itself.
 */
async function explainRefusal(
  consentOptions: ConsentOptions,
  query: RowsQuery,
  call: CallContext,
): Promise<void> {
  try {
    await refuseLostConsent(consentOptions, query, call)
  } catch (error) {
    const isLost = error instanceof UpstreamError && error.failure.kind === 'consent_lost'
    if (isLost || call.signal.aborted) throw error
    consentOptions.report.oddity({ provider: 'fiskil', what: 'consent unknown after a refusal' })
  }
}

/**
 * The balances and what they prove about the consents: rows prove a consent active; missing rows and a
 * refusal are checked against the list of consents (reading R20b).
 */
async function readBalances(
  consentOptions: ConsentOptions,
  query: BalanceQuery,
  call: CallContext,
): Promise<BalanceReading> {
  const { login } = query
  const connections = [
    ...new Map(query.accounts.map(({ connection }) => [connection.id, connection])).values(),
  ]
  let rows: Awaited<ReturnType<typeof listBalanceRows>>
  try {
    rows = await listBalanceRows(consentOptions.client, login, call)
  } catch (error) {
    if (!isRefused(error, [403, 404])) throw error
    const consents = await sightConsents(consentOptions, { login, connections }, call)
    // When all consents are active they do not explain the refusal, so it is thrown.
    if (consents === null || consents.every(({ status }) => status === 'active')) throw error
    return { balances: [], consents }
  }
  const listed = new Set(rows.map((row) => row.arrangement_id))
  const isListed = ({ upstreamId }: ConnectionRef) => listed.has(upstreamId)
  const silent = connections.filter((connection) => !isListed(connection))
  const doubted =
    silent.length === 0
      ? []
      : ((await sightConsents(consentOptions, { login, connections: silent }, call)) ?? [])
  const sighted = connections
    .filter(isListed)
    .map(({ id }): ConsentState => ({ connectionId: id, status: 'active', lastRefreshedAt: null }))
  return { balances: pickBalances(rows, query), consents: [...sighted, ...doubted] }
}

function isRefused(error: unknown, statuses: readonly number[]): boolean {
  return (
    error instanceof UpstreamError &&
    error.failure.kind === 'rejected' &&
    statuses.includes(error.failure.status)
  )
}

/** Rows are matched by consent and account, and keep the provider's order. */
function pickBalances(
  rows: readonly Readonly<Record<string, unknown>>[],
  query: BalanceQuery,
): readonly Balance[] {
  const wanted = new Map<string, AccountRef>()
  for (const { account, connection } of query.accounts) {
    const ids = { arrangement_id: connection.upstreamId, account_id: account.upstreamId }
    wanted.set(accountKey(ids), account)
  }
  const balances: Balance[] = []
  for (const row of rows) {
    const { arrangement_id, account_id } = row
    if (typeof arrangement_id !== 'string' || typeof account_id !== 'string') continue
    const key = accountKey({ arrangement_id, account_id })
    const account = wanted.get(key)
    if (account === undefined) continue
    balances.push(toBalance(row, account))
    // A row that is sent twice is used once.
    wanted.delete(key)
  }
  return balances
}

/** The last instant that RFC 3339 can write. */
const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
/** A bank's zone, where a day without a time was written, is at most this far away (reading R16a). */
const slackMs = 26 * hourMs

/**
 * Bounds are date-times with `Z` (a bare day gives 400) and wider than the window on both sides. It is not
 * documented whether the provider's bounds are inclusive, nor when a day without a time counts; the walk
 * filters the rows again.
 */
function toTransactionsQuery(query: RowsQuery, cursor: PageCursor | null): Record<string, string> {
  const sent: Record<string, string> = {
    end_user_id: query.login.upstreamUserId,
    status: 'POSTED',
    'page[size]': String(pageSize),
  }
  const account = query.scoped ? query.accounts[0] : undefined
  if (account !== undefined) sent.account_id = account.upstreamId
  const { from, to } = query.window
  if (from !== null) sent.from = toStamp(toMillis(from) - slackMs)
  if (to !== null) sent.to = toStamp(Math.ceil(to / 1000) + slackMs)
  if (cursor !== null) sent['page[after]'] = cursor
  return sent
}

function toStamp(ms: number): string {
  return toIso(Math.min(Math.max(ms, 0), lastMs))
}
