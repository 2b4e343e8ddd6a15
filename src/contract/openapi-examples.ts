/**
 * Examples of the OpenAPI description, with made-up people and realistic shapes. A test checks each one
 * against its schema; the running service uses the same schemas.
 */
import { categories } from './categories.ts'
import {
  apiError,
  type ErrorName,
  type ErrorOptions,
  errorCatalogue,
  toEnvelope,
} from './errors.ts'
import { apiVersion } from './events.ts'
import type { Json, JsonObject } from './openapi-schemas.ts'
import type { OperationName, RestName } from './operations.ts'
import { noBalancesOf, rightEndpoint } from './right-endpoint.ts'

const bank = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'
const broker = 'c2d9f8f4-6f0b-4f0e-8a54-0f4d4c6f7b21'
const everyday = { accountId: '1b4e28ba-2fa1-41d2-883f-0016d3cca427', accountName: 'Everyday' }
const shares = { accountId: '9a7b330a-a736-41e5-af7f-feaf819cdc0f', accountName: 'Shares' }
const savingsId = '6fa459ea-ee8a-4ca4-894e-db77e160355e'

const example = (summary: string, value: Json): JsonObject => ({ summary, value })

const connections: Json = [
  {
    id: broker,
    provider: 'snaptrade',
    category: 'brokerage',
    institutionId: 'd5a9e2b1-9c1a-4a0e-8f1b-3f7f0a6f4c55',
    institutionName: 'Harbour Brokers',
    institutionLogo: null,
    status: 'active',
    lastRefreshedAt: '2026-11-20T02:40:11.000Z',
    createdAt: '2026-11-02T09:12:45.000Z',
  },
  {
    id: bank,
    provider: 'fiskil',
    category: 'banking',
    institutionId: '17',
    institutionName: 'Example Bank',
    institutionLogo: 'https://bank.example/logo.svg',
    status: 'active',
    lastRefreshedAt: '2026-11-20T03:15:00.000Z',
    createdAt: '2026-10-28T22:03:09.000Z',
  },
]

const accounts: Json = [
  {
    id: everyday.accountId,
    connectionId: bank,
    provider: 'fiskil',
    name: everyday.accountName,
    type: 'transaction',
    institutionName: 'Example Bank',
    accountNumber: 'xxxx4321',
    currency: 'AUD',
  },
  {
    id: shares.accountId,
    connectionId: broker,
    provider: 'snaptrade',
    name: shares.accountName,
    type: 'investment',
    institutionName: 'Harbour Brokers',
    accountNumber: null,
    currency: 'USD',
  },
]

const everydayBalance: Json = {
  accountId: everyday.accountId,
  currentBalance: '1523.40',
  availableBalance: '1498.15',
  currency: 'AUD',
}
const untoldBalance: Json = {
  accountId: savingsId,
  currentBalance: null,
  availableBalance: null,
  currency: null,
}

const transactions: Json = [
  {
    id: 'txn_01JD3Q7V9M',
    ...everyday,
    status: 'posted',
    date: '2026-11-20',
    datetime: '2026-11-19T21:04:31Z',
    description: 'GREENGROCER NEWTOWN',
    amount: '-42.90',
    direction: 'debit',
    category: 'FOOD_AND_DRINK',
    merchantName: 'Greengrocer',
    merchantCategoryCode: '5411',
  },
  {
    id: 'txn_01JD0X2K4B',
    ...everyday,
    status: 'posted',
    date: '2026-11-18',
    datetime: null,
    description: 'SALARY ACME PTY LTD',
    amount: '3250.00',
    direction: 'credit',
    category: 'INCOME',
    merchantName: null,
    merchantCategoryCode: null,
  },
]

const holdings: Json = [
  {
    id: '8f3c1d52-4a3e-4b1f-9d67-2a60e3d1f0aa',
    ...shares,
    symbol: 'VTI',
    name: 'Vanguard Total Stock Market ETF',
    exchange: 'ARCX',
    currency: 'USD',
    quantity: '12.4375',
    averagePrice: '228.1142',
    currentPrice: '291.37',
    marketValue: '3623.914375',
    unrealizedPnl: null,
  },
]

const trades: Json = [
  {
    id: '2026-11-18-VTI-BUY--582.74-2-2026-11-19-1.50-Bought 2 VTI',
    ...shares,
    symbol: 'VTI',
    name: 'Vanguard Total Stock Market ETF',
    type: 'buy',
    quantity: '2',
    price: '290.62',
    currency: 'USD',
    totalAmount: '-582.74',
    fees: '1.50',
    tradeDate: '2026-11-18',
    settlementDate: '2026-11-19',
    description: 'Bought 2 VTI',
  },
]

const someCursor = 'AWTVh7HcKkfAqn6PRj1pmXcAAAAqdGhpc2lzYW4'

const lastPage = (data: Json, limit: number, total: number): Json => ({
  data,
  pagination: { total, limit, offset: 0, hasMore: false },
})

/** Examples of the 200 answers, at least one per operation. */
export const replyExamples: Readonly<Record<RestName, JsonObject>> = {
  list_connections: {
    connections: example('A bank and a broker', { data: connections }),
    none: example('Nothing linked yet', { data: [] }),
  },
  list_accounts: { page: example('The only page', lastPage(accounts, 50, 2)) },
  list_balances: {
    balances: example('Every balance is known', { data: [everydayBalance] }),
    partly: example('The provider does not return one of them', {
      data: [everydayBalance, untoldBalance],
    }),
  },
  list_transactions: {
    page: example('The only page', lastPage(transactions, 200, 2)),
    truncated: example('Truncated: go on with offset 402', {
      data: transactions,
      pagination: { total: 5402, limit: 2, offset: 400, hasMore: true },
    }),
  },
  list_holdings: { holdings: example('One position', { data: holdings }) },
  list_trades: {
    page: example('The only page', lastPage(trades, 200, 1)),
    more: example('More follows: the total is unknown', {
      data: trades,
      pagination: { total: null, limit: 1, offset: 0, hasMore: true },
    }),
  },
  list_events: {
    events: example('One event', {
      data: [
        {
          id: '5f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10',
          object: 'event',
          type: 'transactions.synced',
          api_version: apiVersion,
          created: 1795144560,
          data: { new: [], updated: [] },
          metadata: {
            sync_run_id: broker,
            new_count: 0,
            updated_count: 0,
            chunk: 1,
            total_chunks: 1,
          },
        },
      ],
      next: someCursor,
    }),
    none: example('Nothing yet: ask again with the same cursor', { data: [], next: someCursor }),
  },
  list_categories: {
    categories: example('All sixteen', { categories: categories.map((entry) => ({ ...entry })) }),
  },
}

const dateRule = 'Must be YYYY-MM-DD or RFC3339 with timezone (Z or +HH:MM)'

const texts: Readonly<Partial<Record<ErrorName, ErrorOptions>>> = {
  invalid_params: { details: ['connectionId: is required'] },
  invalid_dates: { details: [`from: ${dateRule}`] },
  wrong_endpoint_for_category: { message: rightEndpoint.banking },
  upstream_bad_request: {
    message: 'Upstream rejected request: consent withdrawn, reconnect',
  },
  balances_not_available: { message: 'Balances are not yet available for provider: fiskil' },
}

const textsOf: Readonly<
  Partial<Record<OperationName, Readonly<Partial<Record<ErrorName, ErrorOptions>>>>>
> = {
  list_accounts: {
    invalid_params: { details: ['limit: must be a whole number from 1 to 200'] },
  },
  list_events: {
    invalid_params: { details: ['after: is not a cursor of this service'] },
    cursor_expired: { details: [`oldest: ${someCursor}`] },
  },
  list_balances: {
    invalid_params: { details: ['accountIds: is required'] },
    wrong_endpoint_for_category: { message: noBalancesOf([shares.accountId]) },
  },
  list_transactions: {
    wrong_endpoint_for_category: { message: rightEndpoint.brokerage },
  },
}

/** Every error of the catalogue as a component example, by its name in the catalogue. */
export function makeErrorExamples(): JsonObject {
  const names = Object.keys(errorCatalogue) as ErrorName[]
  return Object.fromEntries(names.map((name) => [name, envelope(name, texts[name] ?? {})]))
}

/** The example specific to this operation, or null where the shared one applies. */
export function errorExample(name: ErrorName, operation: OperationName | null): JsonObject | null {
  const own = operation === null ? undefined : textsOf[operation]?.[name]
  return own === undefined ? null : envelope(name, own)
}

function envelope(name: ErrorName, options: ErrorOptions): JsonObject {
  return example(errorCatalogue[name].when, toEnvelope(apiError(name, options)) as unknown as Json)
}
