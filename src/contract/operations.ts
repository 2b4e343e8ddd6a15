/**
 * The one table of operations: each read is one descriptor, and the REST route, the OpenAPI operation, the
 * agent tool, limits, cache life and documentation derive from it. Nothing about an operation is written
 * twice.
 */
import { z } from 'zod'
import type { ErrorName } from './errors.ts'
import { followed } from './event-query.ts'
import { EventEnvelope } from './events.ts'
import type { KeyScope } from './key-scopes.ts'
import {
  accountPages,
  dateText,
  idList,
  idText,
  included,
  includedCurrency,
  pendingSwitch,
  rowPages,
  uuidList,
} from './query.ts'
import {
  Account,
  Balance,
  Category,
  Connection,
  Holding,
  Pagination,
  Trade,
  Transaction,
} from './resources.ts'
import { TransactionSummary } from './summary.ts'
import * as tools from './tools.ts'

export type Bucket = 'cheap' | 'mid' | 'heavy'
/** `brokerage` needs the Professional plan in addition to API access. */
export type Access = 'api' | 'brokerage'

export interface Operation<
  Query extends z.ZodObject = z.ZodObject,
  Reply extends z.ZodType = z.ZodType,
  Name extends string = OperationName,
> {
  readonly name: Name
  readonly path: string
  /** Its group in the OpenAPI document. */
  readonly tag: 'Connections' | 'Banking' | 'Brokerage' | 'Events' | 'Reference'
  readonly title: string
  readonly description: string
  readonly query: Query
  /** A call without this parameter is deprecated (reading R9). */
  readonly deprecatedWithout?: string
  readonly reply: Reply
  /** A cap may end a page early, which `X-Service-Truncated` says. */
  readonly mayTruncate?: true
  /** Its data come from institutions: `X-Data-As-Of` says how old they are, where that is known. */
  readonly hasAge?: true
  /** `total` is a number on every page; otherwise it is null while there are more rows (reading R18). */
  readonly totalWhileMore?: true
  /** The rate bucket; `heavy` also limits the requests in flight. */
  readonly bucket: Bucket
  /** 0: it is never cached. */
  readonly cacheSeconds: number
  /** `Accept: text/event-stream` gets the rows one by one, as they come. */
  readonly canStream?: true
  readonly access: Access
  /** What an agent's token needs. */
  readonly scope: 'mcp:read' | 'brokerage:read'
  /** What a narrow key needs (reading R43); null: nothing. */
  readonly keyScope: KeyScope | null
  /** In addition to those that follow from the other fields (`listErrors`). */
  readonly errors: readonly ErrorName[]
  /** Null: available through REST only. */
  readonly tool: tools.ToolFacts | null
}

/** Errors that any operation may return before its own rules are checked. */
export const commonErrors: readonly ErrorName[] = [
  'missing_authorization',
  'invalid_token',
  'plan_required',
  'rate_limited',
  'internal',
  'service_unavailable',
]

/**
 * Every error that an operation may return. Any other method on its path gets `not_found` (contract, Errors).
 */
export function listErrors({ errors, keyScope }: Operation): readonly ErrorName[] {
  const narrow: readonly ErrorName[] = keyScope === null ? [] : ['key_lacks_scope']
  return [...commonErrors, ...narrow, ...errors, 'not_found']
}

const page = <Row extends z.ZodType>(row: Row) =>
  z.object({ data: z.array(row), pagination: Pagination })
const list = <Row extends z.ZodType>(row: Row) => z.object({ data: z.array(row) })

const define = <Query extends z.ZodObject, Reply extends z.ZodType, const Name extends string>(
  operation: Operation<Query, Reply, Name>,
): Operation<Query, Reply, Name> => operation

const fromRule =
  'YYYY-MM-DD (that day in the account time zone, inclusive) or RFC 3339 with Z or an offset.'

export const listConnections = define({
  name: 'list_connections',
  path: '/v1/connections',
  tag: 'Connections',
  title: 'List connections',
  description: 'Every linked institution, newest first, with the state of its consent.',
  query: z.object({ include: included }),
  reply: list(Connection).meta({ id: 'ConnectionList' }),
  bucket: 'cheap',
  cacheSeconds: 60,
  access: 'api',
  scope: 'mcp:read',
  keyScope: 'accounts',
  errors: ['invalid_params'],
  tool: tools.connectionsTool,
})

export const listAccounts = define({
  name: 'list_accounts',
  path: '/v1/accounts',
  tag: 'Connections',
  title: 'List accounts',
  description: 'Every bank and brokerage account, ordered by name.',
  query: z.object({ ...accountPages.query, include: included }),
  reply: page(Account).meta({ id: 'AccountPage' }),
  totalWhileMore: true,
  bucket: 'cheap',
  cacheSeconds: 60,
  access: 'api',
  scope: 'mcp:read',
  keyScope: 'accounts',
  errors: ['invalid_params'],
  tool: tools.accountsTool,
})

export const listBalances = define({
  name: 'list_balances',
  path: '/v1/balances',
  tag: 'Banking',
  title: 'List balances',
  description:
    'Live balances of banking accounts. An account whose balance the provider does not return has nulls; it is never left out.',
  query: z.object({
    accountIds: uuidList('Comma-separated ids of banking accounts, at most 100 distinct ones.'),
  }),
  reply: list(Balance).meta({ id: 'BalanceList' }),
  hasAge: true,
  bucket: 'mid',
  cacheSeconds: 300,
  access: 'api',
  scope: 'mcp:read',
  keyScope: 'balances',
  errors: [
    'invalid_params',
    'too_many_accounts',
    'wrong_endpoint_for_category',
    'accounts_not_found',
    'balances_not_available',
  ],
  tool: tools.balancesTool,
})

const upstreamErrors: readonly ErrorName[] = [
  'upstream_bad_request',
  'connection_not_found',
  'account_not_found',
  'wrong_endpoint_for_category',
  'too_many_concurrent',
  'provider_unavailable',
]

const transactionErrors: readonly ErrorName[] = [
  'invalid_params',
  'invalid_dates',
  'invalid_date_range',
  'from_too_old',
  ...upstreamErrors,
  'upstream_breaker_open',
]

export const listTransactions = define({
  name: 'list_transactions',
  path: '/v1/transactions',
  tag: 'Banking',
  title: 'List transactions',
  description:
    'Posted bank transactions, fetched live; with `includePending=true` those that are still pending too. Name an accountId: calls without one are deprecated and read fewer pages.',
  query: z.object({
    connectionId: idText('Id of a banking connection.'),
    accountId: idText('Id of one account of the connection; strongly advised.').optional(),
    from: dateText(
      `${fromRule} Default: the whole day 30 days before today, or before the day of an earlier to. At most 7 years back. Many banks give only the last 60 to 90 days: no rows of an earlier time do not mean that nothing happened then.`,
      '2026-10-01',
    ).optional(),
    to: dateText(
      `${fromRule} Default: now; a row that tells only its day then counts once that day has begun where it was written.`,
      '2026-10-31',
    ).optional(),
    ...rowPages.query,
    includePending: pendingSwitch,
    include: includedCurrency,
  }),
  deprecatedWithout: 'accountId',
  reply: page(Transaction).meta({ id: 'TransactionPage' }),
  mayTruncate: true,
  totalWhileMore: true,
  hasAge: true,
  bucket: 'heavy',
  cacheSeconds: 1800,
  access: 'api',
  scope: 'mcp:read',
  keyScope: 'transactions',
  errors: transactionErrors,
  tool: tools.transactionsTool,
})

const accountIdsRule =
  'Comma-separated ids of accounts of the connection; takes precedence over accountId.'

export const listHoldings = define({
  name: 'list_holdings',
  path: '/v1/holdings',
  tag: 'Brokerage',
  title: 'List holdings',
  description:
    'Positions of brokerage accounts, fetched live. An account without any adds nothing; asked for alone, one that cannot share them is 400 and one in its first sync is 503, each named in the message.',
  query: z.object({
    connectionId: idText('Id of a brokerage connection.'),
    accountId: idText('Id of one account of the connection. Default: all of them.').optional(),
    accountIds: idList(accountIdsRule, 4000).optional(),
  }),
  reply: list(Holding).meta({ id: 'HoldingList' }),
  hasAge: true,
  bucket: 'heavy',
  cacheSeconds: 600,
  access: 'brokerage',
  scope: 'brokerage:read',
  keyScope: 'holdings',
  errors: ['invalid_params', 'professional_required', ...upstreamErrors],
  tool: tools.holdingsTool,
})

export const listTrades = define({
  name: 'list_trades',
  path: '/v1/trades',
  tag: 'Brokerage',
  title: 'List trades',
  description: 'Trades and other movements of brokerage accounts, newest first, fetched live.',
  query: z.object({
    connectionId: idText('Id of a brokerage connection.'),
    accountId: idText('Id of one account of the connection. Default: all of them.').optional(),
    accountIds: idList(accountIdsRule, 4000).optional(),
    from: dateText(
      `${fromRule} Default: as far back as the provider knows.`,
      '2026-01-01',
    ).optional(),
    to: dateText(`${fromRule} Default: the newest.`, '2026-10-31').optional(),
    ...rowPages.query,
  }),
  reply: page(Trade).meta({ id: 'TradePage' }),
  mayTruncate: true,
  hasAge: true,
  bucket: 'heavy',
  cacheSeconds: 600,
  access: 'brokerage',
  scope: 'brokerage:read',
  keyScope: 'trades',
  errors: [
    'invalid_params',
    'invalid_dates',
    'invalid_date_range',
    'professional_required',
    ...upstreamErrors,
  ],
  tool: tools.tradesTool,
})

export const listCategories = define({
  name: 'list_categories',
  path: '/v1/categories',
  tag: 'Reference',
  title: 'List categories',
  description: 'The sixteen fixed transaction categories.',
  query: z.object({}),
  reply: z.object({ categories: z.array(Category) }).meta({ id: 'CategoryList' }),
  bucket: 'cheap',
  cacheSeconds: 3600,
  access: 'api',
  scope: 'mcp:read',
  keyScope: null,
  errors: [],
  tool: null,
})

export const listEvents = define({
  name: 'list_events',
  path: '/v1/events',
  tag: 'Events',
  title: 'Fetch events',
  description:
    'The events that webhook endpoints receive, in order, for a consumer without an address. The consumer is made by its first request, and gets the events from then on. Ask again with `after` = `next`: that acknowledges what was received. Each event comes at least once. With `Accept: text/event-stream` events are sent as they come, with their cursor as `id:`.',
  query: z.object(followed),
  reply: z
    .object({
      data: z.array(EventEnvelope),
      next: z.string().meta({
        description: 'The cursor to ask with next, as `after`; also where there is no event.',
      }),
    })
    .meta({ id: 'EventList' }),
  canStream: true,
  bucket: 'cheap',
  cacheSeconds: 0,
  access: 'api',
  scope: 'mcp:read',
  keyScope: 'events',
  errors: ['invalid_params', 'too_many_consumers', 'cursor_expired'],
  tool: tools.changesTool,
})

/** Reading R44: for agents alone, so that a model need not read rows to say what was spent. */
export const summarizeTransactions = define({
  name: 'summarize_transactions',
  // It names the answers in the cache; REST has no such path.
  path: 'summarize_transactions',
  tag: 'Banking',
  title: 'Summarize transactions',
  description: 'Exact sums of posted transactions by month, category, merchant or account.',
  query: z.object({
    connectionId: idText('Id of a banking connection. Default: all of them.').optional(),
    accountId: idText('Id of one account.').optional(),
    from: dateText(fromRule, '2026-10-01'),
    to: dateText(fromRule, '2026-10-31'),
    groupBy: z
      .enum(tools.summaryGroups, `must be one of ${tools.summaryGroups.join(', ')}`)
      .meta({ description: 'What a sum is for.', schema: { type: 'string' } }),
  }),
  reply: TransactionSummary,
  mayTruncate: true,
  bucket: 'heavy',
  cacheSeconds: 1800,
  access: 'api',
  scope: 'mcp:read',
  keyScope: 'transactions',
  errors: transactionErrors,
  tool: tools.summaryTool,
})

const table = [
  listConnections,
  listAccounts,
  listBalances,
  listTransactions,
  listHoldings,
  listTrades,
  listEvents,
  listCategories,
] as const

const agentTable = [summarizeTransactions] as const

/** An operation that has a path of REST. */
export type RestName = (typeof table)[number]['name']

export type OperationName = RestName | (typeof agentTable)[number]['name']

/** An operation whose answer is read for one request, without waiting for what happens later. */
export type ReadName = Exclude<OperationName, 'list_events'>

export type RestOperation = Operation & { readonly name: RestName }

/** Those of REST; agents have tools for most of them. */
export const operations: readonly RestOperation[] = table

/** Those that agents alone have. */
export const agentOperations: readonly Operation[] = agentTable
