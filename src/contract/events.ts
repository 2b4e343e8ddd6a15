/**
 * The events that webhook endpoints receive (contract, Events): one schema each, the source of the types and the
 * checks in tests. Names are snake_case; amounts of transactions are integers in the currency's minor unit.
 */
import { z } from 'zod'
import { parseWithBigIntegers } from '#kernel/json.ts'
import { categoryKeys } from './categories.ts'
import { TradeType } from './resources.ts'

/** The version date of the events' shape. It changes when a field changes its meaning, not when a field is added. */
export const apiVersion = '2026-11-01'

export const eventTypes = ['transactions.synced', 'trades.synced'] as const

export const EventType = z.enum(eventTypes)
export type EventType = z.infer<typeof EventType>

/** Reading R33. */
export const chunkLimits = { maxObjects: 100, maxBytes: 64 * 1024 } as const

const decimal = z.string().regex(/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/)

/** In the currency's smallest unit, of any size: beyond 2^53 a bigint, since a number would be another amount. */
const minorUnits = z.union([z.int(), z.bigint()])

export const TransactionEvent = z.strictObject({
  id: z.string(),
  object: z.literal('transaction'),
  amount: minorUnits,
  currency: z.string().regex(/^[a-z0-9]{2,12}$/),
  status: z.literal('posted'),
  description: z.string(),
  direction: z.enum(['debit', 'credit']),
  class: z.string(),
  account_id: z.uuid(),
  account_name: z.string(),
  account: z.string(),
  local_date: z.iso.date(),
  transaction_date: z.string(),
  post_date: z.string(),
  merchant_name: z.string().nullable(),
  category: z.enum(categoryKeys).nullable(),
  merchant_category_code: z.string().nullable(),
  reference: z.string().nullable(),
  extended_description: z.string().nullable(),
})
export type TransactionEvent = z.infer<typeof TransactionEvent>

/** Reading R34: the fields of the REST trade in snake_case. */
export const TradeEvent = z.strictObject({
  id: z.string(),
  object: z.literal('trade'),
  account_id: z.uuid(),
  account_name: z.string(),
  symbol: z.string(),
  name: z.string().nullable(),
  type: TradeType,
  quantity: decimal,
  price: decimal,
  currency: z.string().regex(/^[A-Z0-9]{2,12}$/),
  total_amount: decimal,
  fees: decimal.nullable(),
  trade_date: z.string(),
  settlement_date: z.string().nullable(),
  description: z.string().nullable(),
})
export type TradeEvent = z.infer<typeof TradeEvent>

export const EventEnvelope = z.strictObject({
  id: z.uuid(),
  object: z.literal('event'),
  type: EventType,
  api_version: z.literal(apiVersion),
  /** Epoch seconds. */
  created: z.int(),
  data: z.strictObject({
    new: z.array(z.union([TransactionEvent, TradeEvent])),
    updated: z.array(z.union([TransactionEvent, TradeEvent])),
  }),
  metadata: z.strictObject({
    /** Null in a test event and in a replay. */
    sync_run_id: z.uuid().nullable(),
    /** For the whole run, like `updated_count`; the arrays belong to this chunk (reading R33). */
    new_count: z.int().min(0),
    updated_count: z.int().min(0),
    chunk: z.int().min(1),
    total_chunks: z.int().min(1),
  }),
})
export type EventEnvelope = z.infer<typeof EventEnvelope>

/** The envelope in the body of an event, each amount exact. @throws SyntaxError or ZodError for anything else. */
export function parseEvent(body: string): EventEnvelope {
  return EventEnvelope.parse(parseWithBigIntegers(body))
}
