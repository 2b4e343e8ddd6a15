/**
 * The events that webhook endpoints receive (contract, Events): one schema each, the source of the types and
 * the checks in tests. Names are snake_case; amounts of transactions are integers in the currency's minor
 * unit.
 */
import { z } from 'zod'
import { categoryKeys } from './categories.ts'
import { ConnectionCategory, ConnectionStatus, Provider, TradeType } from './resources.ts'

/** The version date of the events' shape: it changes with the meaning of a field, not with a new one. */
export const apiVersion = '2026-11-01'

/** What an endpoint receives that names no events. */
export const syncEventTypes = ['transactions.synced', 'trades.synced'] as const
export type SyncEventType = (typeof syncEventTypes)[number]

/** Reading R41: an endpoint receives these only where it names them. */
export const connectionEventTypes = [
  'connection.linked',
  'connection.expiring',
  'connection.invalidated',
  'connection.revoked',
  'connection.restored',
  'connection.removed',
] as const
export type ConnectionEventType = (typeof connectionEventTypes)[number]

export const eventTypes = [...syncEventTypes, ...connectionEventTypes] as const
export const EventType = z.enum(eventTypes)
export type EventType = z.infer<typeof EventType>

/** Reading R41: this many days before a consent ends, its end is announced. */
export const expiryDays = [30, 7, 1] as const
export type ExpiryDays = (typeof expiryDays)[number]

/** Reading R33. */
export const chunkLimits = { maxObjects: 100, maxBytes: 64 * 1024 } as const

const text = (description: string) => z.string().meta({ description })
const textOrNull = (description: string) => z.string().nullable().meta({ description })
const decimal = (description: string) =>
  z
    .string()
    .regex(/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/)
    .meta({
      description: `${description} Exact decimal text: parse it as a decimal, never as a float.`,
    })

/**
 * In the currency's smallest unit, of any size: beyond 2^53 a bigint, since a number would be another amount.
 */
export const MinorUnits = z.union([z.int(), z.bigint()]).meta({
  description:
    'In the smallest unit of the currency, negative for debits. It has every digit and may exceed 2^53: do not parse it as a float.',
})

const accountId = z.uuid().meta({ description: 'Id of the account, as in /v1/accounts.' })
const accountName = text('Display name of the account.')

const transactionFields = {
  id: text('Id of the transaction, as in /v1/transactions.'),
  object: z.literal('transaction'),
  amount: MinorUnits,
  currency: z
    .string()
    .regex(/^[a-z0-9]{2,12}$/)
    .meta({ description: 'Currency code in lower case.' }),
  status: z.literal('posted'),
  description: text("The bank's text."),
  direction: z.enum(['debit', 'credit']).meta({ description: 'Matches the sign of amount.' }),
  class: text('Kind of transaction, as the provider names it; the values are not enumerated.'),
  account_id: accountId,
  account_name: accountName,
  account: accountName,
  local_date: z.iso.date().meta({ description: "The day in the user's time zone." }),
  transaction_date: text('ISO 8601: when it was made.'),
  post_date: text('ISO 8601: when it was posted.'),
  merchant_name: textOrNull('Merchant, where known.'),
  category: z
    .enum(categoryKeys)
    .nullable()
    .meta({ description: 'Category key, see /v1/categories.' }),
  merchant_category_code: textOrNull('MCC, where known.'),
  reference: textOrNull('Reference, where the provider has one.'),
  extended_description: textOrNull('Further text of the bank, where there is one.'),
}

export const TransactionEvent = z
  .strictObject(transactionFields)
  .meta({ id: 'TransactionEvent', description: 'A posted bank transaction in an event.' })
export type TransactionEvent = z.infer<typeof TransactionEvent>

/** Reading R39. */
export const PendingTransactionEvent = z
  .strictObject({
    ...transactionFields,
    id: text('Id of the pending row, as in /v1/transactions with includePending=true.'),
    status: z.literal('pending'),
    post_date: textOrNull('Null: it has not been posted.'),
  })
  .meta({ id: 'PendingTransactionEvent', description: 'A pending bank transaction in an event.' })
export type PendingTransactionEvent = z.infer<typeof PendingTransactionEvent>

/** Reading R34: the fields of the REST trade in snake_case. */
export const TradeEvent = z
  .strictObject({
    id: text('Id of the trade, as in /v1/trades; opaque.'),
    object: z.literal('trade'),
    account_id: accountId,
    account_name: accountName,
    symbol: text('Ticker.'),
    name: textOrNull('Name of the security.'),
    type: TradeType,
    quantity: decimal('Number of units.'),
    price: decimal('Price per unit.'),
    currency: z
      .string()
      .regex(/^[A-Z0-9]{2,12}$/)
      .meta({ description: 'Currency code in upper case.' }),
    total_amount: decimal('Total amount.'),
    fees: decimal('Fees.').nullable(),
    trade_date: text('YYYY-MM-DD or a full ISO datetime, depending on the broker.'),
    settlement_date: textOrNull('As trade_date.'),
    description: textOrNull("The broker's text."),
  })
  .meta({ id: 'TradeEvent', description: 'A trade in an event.' })
export type TradeEvent = z.infer<typeof TradeEvent>

const timestamp = (description: string) => z.iso.datetime({ offset: true }).meta({ description })

/** Reading R41: the fields of the REST connection in snake_case. */
export const ConnectionEvent = z
  .strictObject({
    id: z.uuid().meta({ description: 'Id of the connection, as in /v1/connections.' }),
    provider: Provider,
    category: ConnectionCategory,
    institution_id: text('Opaque id of the institution at the provider.'),
    institution_name: text('Display name of the institution.'),
    institution_logo: textOrNull('URL of its logo, where there is one.'),
    status: ConnectionStatus,
    last_refreshed_at: timestamp('When it was last refreshed successfully.').nullable(),
    created_at: timestamp('When it was linked.'),
  })
  .meta({ id: 'ConnectionEvent', description: 'A connection in an event, as the change left it.' })
export type ConnectionEvent = z.infer<typeof ConnectionEvent>

const ExpiringConnectionEvent = z
  .strictObject({
    ...ConnectionEvent.shape,
    expires_at: timestamp('When the consent ends, as the provider says.'),
  })
  .meta({ id: 'ExpiringConnectionEvent', description: 'A connection whose consent ends soon.' })

const count = (description: string) => z.int().min(0).meta({ description })
const place = (description: string) => z.int().min(1).meta({ description })

const EventMetadata = z
  .strictObject({
    sync_run_id: z.uuid().nullable().meta({
      description:
        'The sync that found the rows. Null in a test event, in a replay and in an event about a connection.',
    }),
    // These count the whole run; the arrays belong to the chunk (reading R33).
    new_count: count('New rows of the whole sync, in all of its chunks.'),
    updated_count: count('Changed rows of the whole sync, in all of its chunks.'),
    chunk: place('Number of this chunk, from 1.'),
    total_chunks: place('Chunks of the sync.'),
  })
  .meta({ id: 'EventMetadata', description: 'The sync and the place of this event in it.' })

const envelopeOf = <Type extends EventType, Data extends z.ZodType>(type: Type, data: Data) =>
  z.strictObject({
    id: z
      .uuid()
      .meta({ description: 'Id of the event, the same in every attempt and in a replay.' }),
    object: z.literal('event'),
    type: z.literal(type),
    api_version: z
      .literal(apiVersion)
      .meta({ description: 'Changes when a field changes its meaning, not when one is added.' }),
    created: z.int().min(0).meta({ description: 'Epoch seconds.' }),
    data,
    metadata: EventMetadata,
  })

const rowsOf = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({
    new: z.array(row).meta({ description: 'Rows that no earlier event had.' }),
    updated: z.array(row).meta({ description: 'Rows of which a field has changed.' }),
  })

const onlyPending = 'Only for endpoints that ask for pending rows.'
const bankRows = rowsOf(TransactionEvent).extend({
  pending: z
    .array(PendingTransactionEvent)
    .optional()
    .meta({ description: `Pending rows that no earlier event had. ${onlyPending}` }),
  removed_pending: z
    .array(z.string())
    .optional()
    .meta({
      description: `Ids of announced rows that are not pending any more: posted, or ended. ${onlyPending}`,
    }),
})

export const TransactionsSynced = envelopeOf('transactions.synced', bankRows).meta({
  id: 'TransactionsSynced',
  description: 'The event after a sync of a bank.',
})

export const TradesSynced = envelopeOf('trades.synced', rowsOf(TradeEvent)).meta({
  id: 'TradesSynced',
  description: 'The event after a sync of a broker.',
})

const aboutConnection = <Type extends ConnectionEventType>(
  type: Type,
  id: string,
  description: string,
) => envelopeOf(type, ConnectionEvent).meta({ id, description })

/** The schema of each type of event. */
export const eventSchemas = [
  TransactionsSynced,
  TradesSynced,
  aboutConnection('connection.linked', 'ConnectionLinked', 'A connection is new.'),
  envelopeOf('connection.expiring', ExpiringConnectionEvent).meta({
    id: 'ConnectionExpiring',
    description: 'The consent ends in at most 30, 7 or 1 days.',
  }),
  aboutConnection(
    'connection.invalidated',
    'ConnectionInvalidated',
    'Consent or credentials expired: its owner has to reconnect.',
  ),
  aboutConnection('connection.revoked', 'ConnectionRevoked', 'The consent was withdrawn.'),
  aboutConnection(
    'connection.restored',
    'ConnectionRestored',
    'It was not active, and is active again.',
  ),
  aboutConnection(
    'connection.removed',
    'ConnectionRemoved',
    'It does not exist any more; `status` is the last one that it had.',
  ),
] as const

export const EventEnvelope = z.discriminatedUnion('type', eventSchemas)
export type EventEnvelope = z.infer<typeof EventEnvelope>
