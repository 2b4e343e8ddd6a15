/**
 * The resources of the public contract (contract, Resources): one schema each, the source of the types, the
 * OpenAPI description and the checks in tests. Money is decimal text, never a number.
 */
import { z } from 'zod'
import type { Decimal } from '#kernel/decimal.ts'
import type { AccountId, ConnectionId } from '#kernel/ids.ts'
import { categoryKeys } from './categories.ts'

/** The schema validates text; the branded type is made only by the kernel's parsers. */
const branded = <Branded extends string>(schema: z.ZodType<string>) =>
  schema as unknown as z.ZodType<Branded, Branded>

const connectionId = branded<ConnectionId>(
  z.uuid().meta({
    description: 'Id of the connection.',
    example: '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10',
  }),
)
const accountId = branded<AccountId>(
  z
    .uuid()
    .meta({ description: 'Id of the account.', example: '1b4e28ba-2fa1-41d2-883f-0016d3cca427' }),
)
const decimal = (description: string) =>
  branded<Decimal>(
    z
      .string()
      .regex(/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/)
      .meta({
        description: `${description} Exact decimal text: parse it as a decimal, never as a float.`,
      }),
  )
const text = (description: string) => z.string().meta({ description })
const currency = z
  .string()
  .regex(/^[A-Z0-9]{2,12}$/)
  .meta({
    description: 'ISO 4217 currency code (brokerages: also the code of a coin).',
    example: 'AUD',
  })
const timestamp = (description: string) =>
  z.iso.datetime({ offset: true }).meta({ description, example: '2026-11-20T03:15:00.000Z' })

export const providers = [
  'fiskil',
  'akahu',
  'snaptrade',
  'up',
  'simplefin',
  'enablebanking',
] as const

export const Provider = z.enum(providers).meta({
  id: 'Provider',
  description: 'Who supplies the data: AU banking, NZ banking, brokerage, Up (an AU bank).',
})
export type Provider = z.infer<typeof Provider>

export const ConnectionCategory = z.enum(['banking', 'brokerage']).meta({
  id: 'ConnectionCategory',
  description: 'What kind of institution the connection leads to.',
})
export type ConnectionCategory = z.infer<typeof ConnectionCategory>

export const ConnectionStatus = z.enum(['active', 'invalidated', 'pending_mfa', 'revoked']).meta({
  id: 'ConnectionStatus',
  description:
    'active; invalidated (consent or credentials expired: reconnect); pending_mfa (awaiting a second factor); revoked (consent withdrawn).',
})
export type ConnectionStatus = z.infer<typeof ConnectionStatus>

export const AccountType = z
  .enum(['transaction', 'savings', 'credit-card', 'loan', 'investment', 'term-deposit', 'other'])
  .meta({ id: 'AccountType', description: 'Kind of account.' })
export type AccountType = z.infer<typeof AccountType>

export const TradeType = z
  .enum(['buy', 'sell', 'dividend', 'split', 'transfer', 'fee', 'interest', 'other'])
  .meta({ id: 'TradeType', description: 'Kind of trade.' })
export type TradeType = z.infer<typeof TradeType>

const ReadError = z
  .object({ code: text('Why, as a code.'), message: text('Why, in a sentence.') })
  .meta({ id: 'ReadError', description: 'Why a background read failed.' })

const KindFreshness = z
  .object({
    asOf: timestamp(
      'When the institution last updated it, as the provider says; null: it does not.',
    ).nullable(),
    readAt: timestamp(
      'When this service last read it by itself; null: it reads it when you ask.',
    ).nullable(),
    failedAt: timestamp('When the last background read failed; null: it did not.').nullable(),
    error: ReadError.nullable(),
    nextReadAt: timestamp(
      'When this service reads it by itself again; null: not planned.',
    ).nullable(),
  })
  .meta({ id: 'KindFreshness', description: 'How fresh one kind of data is.' })

const Freshness = z
  .object({
    balances: KindFreshness.optional(),
    transactions: KindFreshness.optional(),
    holdings: KindFreshness.optional(),
    trades: KindFreshness.optional(),
  })
  .meta({
    id: 'Freshness',
    description: 'By kind of data, those that the connection has. Only with `include=freshness`.',
  })
export type Freshness = z.infer<typeof Freshness>

/** What `include=freshness` adds to a connection and to an account (reading R40). */
const freshnessFields = {
  freshness: Freshness.optional(),
  consentExpiresAt: timestamp(
    'When the consent ends; null: the provider does not say. Only with `include=freshness`.',
  )
    .nullable()
    .optional(),
}

export const Connection = z
  .object({
    id: connectionId,
    provider: Provider,
    category: ConnectionCategory,
    institutionId: text('Opaque id of the institution at the provider.'),
    institutionName: text('Display name of the institution.'),
    institutionLogo: z.string().nullable().meta({ description: 'URL of a logo.' }),
    status: ConnectionStatus,
    lastRefreshedAt: timestamp(
      'Last successful refresh as the provider reports it; where it reports none, our last successful read. Null when nothing is known.',
    ).nullable(),
    createdAt: timestamp('When the connection was made.'),
    ...freshnessFields,
  })
  .meta({ id: 'Connection', description: 'A link to one institution through one provider.' })
export type Connection = z.infer<typeof Connection>

export const Account = z
  .object({
    id: accountId,
    connectionId,
    provider: Provider.nullable(),
    name: text('Account name.'),
    type: AccountType,
    institutionName: z
      .string()
      .nullable()
      .meta({ description: 'Display name of the institution.' }),
    accountNumber: z
      .string()
      .regex(/^xxxx[0-9A-Za-z]{4}$/)
      .nullable()
      .meta({
        description: 'Always masked: `xxxx` and the last four characters.',
        example: 'xxxx4321',
      }),
    currency,
    ...freshnessFields,
  })
  .meta({ id: 'Account', description: 'A bank or brokerage account.' })
export type Account = z.infer<typeof Account>

export const Balance = z
  .object({
    accountId,
    currentBalance: decimal('Current balance; negative when in debit.').nullable(),
    availableBalance: decimal('Available balance.').nullable(),
    currency: currency.nullable(),
  })
  .meta({
    id: 'Balance',
    description: 'Balances of one account; all three null when the provider does not return them.',
  })
export type Balance = z.infer<typeof Balance>

const onlyWithPending = 'Only with `includePending=true`.'
const told = <Text extends z.ZodType>(schema: Text, description: string) =>
  schema
    .nullable()
    .optional()
    .meta({ description: `${description} ${onlyWithPending}` })

/** What `includePending=true` adds to each transaction (reading R39). */
const settlingFields = {
  postDate: told(z.iso.date(), 'The day of the posting; null: the provider does not say.'),
  postDatetime: told(z.string(), 'The time of the posting as sent; null: only a day, or nothing.'),
  valueDate: told(z.iso.date(), 'The day from which it counts; null: the provider does not say.'),
  valueDatetime: told(z.string(), 'The time from which it counts as sent; null likewise.'),
  supersedes: z
    .string()
    .optional()
    .meta({
      description: `Of a posted row: the id of the pending row that it replaced, where the provider says so or exactly one fits. ${onlyWithPending}`,
    }),
}

export const Transaction = z
  .object({
    id: text('Opaque id at the provider: any text, not a UUID. Of a pending row `pending_…`.'),
    accountId,
    accountName: text('Account name.'),
    status: z.string().max(64).meta({
      description: '`posted`; with `includePending=true` also `pending`.',
      example: 'posted',
    }),
    date: z.iso
      .date()
      .meta({ description: "The day in the user's time zone.", example: '2026-11-20' }),
    datetime: z
      .string()
      .nullable()
      .meta({ description: 'The raw ISO 8601 timestamp of the provider.' }),
    description: text('As the bank wrote it.'),
    amount: decimal('Negative for debit, positive for credit.'),
    currency: currency.optional().meta({
      description:
        "Only with `include=currency`, where the amount is in another currency than the account's.",
      example: 'USD',
    }),
    direction: z.enum(['credit', 'debit']).meta({ description: 'Matches the sign of amount.' }),
    category: z
      .enum(categoryKeys)
      .nullable()
      .meta({ description: 'Category key, see /v1/categories.' }),
    merchantName: z.string().nullable().meta({ description: 'Merchant, where known.' }),
    merchantCategoryCode: z.string().nullable().meta({ description: 'MCC, where known.' }),
    ...settlingFields,
  })
  .meta({
    id: 'Transaction',
    description: 'A bank transaction: posted, or pending where that was asked for.',
  })
export type Transaction = z.infer<typeof Transaction>

export const Category = z
  .object({
    key: z.enum(categoryKeys).meta({ description: 'Same as Transaction.category.' }),
    label: text('Display name.'),
  })
  .meta({ id: 'Category', description: 'One of the sixteen fixed categories.' })
export type Category = z.infer<typeof Category>

export const Holding = z
  .object({
    id: text('Opaque id.'),
    accountId,
    accountName: text('Account name.'),
    symbol: text('Ticker.'),
    name: z.string().nullable().meta({ description: 'Name of the security.' }),
    exchange: z.string().nullable().meta({ description: 'Exchange, as the provider names it.' }),
    currency,
    quantity: decimal('Units held; fractional allowed, negative when short.'),
    averagePrice: decimal('Average cost per unit.').nullable(),
    currentPrice: decimal('Price per unit.').nullable(),
    marketValue: decimal('Quantity times price.').nullable(),
    unrealizedPnl: decimal('Gain not yet realised.').nullable(),
  })
  .meta({ id: 'Holding', description: 'A position in a brokerage account.' })
export type Holding = z.infer<typeof Holding>

export const Trade = z
  .object({
    id: text('Deterministic and opaque; the format is not a stable contract.'),
    accountId,
    accountName: text('Account name.'),
    symbol: text('Ticker; of cash movements the currency.'),
    name: z.string().nullable().meta({ description: 'Name of the security.' }),
    type: TradeType,
    quantity: decimal('Units, with the sign of the provider.'),
    price: decimal('Price per unit.'),
    currency,
    totalAmount: decimal('Total, with the sign of the provider.'),
    fees: decimal('Fees.').nullable(),
    tradeDate: text('YYYY-MM-DD or a full ISO date-time, depending on the broker.'),
    settlementDate: z.string().nullable().meta({ description: 'Same formats as tradeDate.' }),
    description: z.string().nullable().meta({ description: 'As the broker wrote it.' }),
  })
  .meta({
    id: 'Trade',
    description: 'An executed trade or another movement of a brokerage account.',
  })
export type Trade = z.infer<typeof Trade>

export const Pagination = z
  .object({
    total: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'Exact when hasMore is false; null when unknown.' }),
    limit: z.int().min(0).meta({
      description:
        'Effective page size: clamped from the request, or the rows of a page that was cut short (0 when the page cap came before any). The next page begins at offset + limit.',
    }),
    offset: z.int().min(0).meta({ description: 'Offset that produced the page.' }),
    hasMore: z
      .boolean()
      .meta({ description: 'True if there is at least one more page: test this, not total.' }),
  })
  .meta({ id: 'Pagination', description: 'Where this page stands in the whole list.' })
export type Pagination = z.infer<typeof Pagination>

export const ErrorEnvelope = z
  .object({
    error: z.object({
      message: text('What went wrong and what to do.'),
      code: z.string().optional().meta({ description: 'Stable code: branch on this.' }),
      details: z.array(z.string()).min(1).optional().meta({ description: 'One line per problem.' }),
    }),
  })
  .meta({ id: 'Error', description: 'The envelope of every error.' })
export type ErrorEnvelope = z.infer<typeof ErrorEnvelope>
