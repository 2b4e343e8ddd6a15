/**
 * The `webhooks` of the OpenAPI description: the requests that a receiver of events gets, from the schemas of
 * `events.ts`, with their headers and what each answer brings about (docs/events.md).
 */
import { apiVersion, type EventType, eventSchemas } from './events.ts'
import { type Json, type JsonObject, schemaReference } from './openapi-schemas.ts'
import { providers } from './resources.ts'

interface Described {
  readonly summary: string
  readonly examples: JsonObject
}

/** One path item for each event type, by its name. */
export function makeWebhookPaths(): JsonObject {
  return Object.fromEntries(
    eventSchemas.map((schema): [string, Json] => {
      const type = schema.shape.type.value
      const { summary, examples } = described[type]
      return [
        type,
        {
          post: {
            operationId: type.replace(/\.(.)/, (_, first: string) => first.toUpperCase()),
            summary,
            description,
            tags: ['Events'],
            security: [],
            parameters: Object.keys(headers).map((name) => ({
              $ref: `#/components/parameters/${name}`,
            })),
            requestBody: {
              required: true,
              content: { 'application/json': { schema: schemaReference(schema), examples } },
            },
            responses,
          },
        },
      ]
    }),
  )
}

const description = `Sent to each endpoint of the user that takes this type (those about connections only to endpoints that name it), signed as Standard Webhooks says. Verify the bytes of the
body before parsing them, and accept the event when one of the signatures matches. Delivery is at least once: handle
each \`webhook-id\` once. Answer within 15 seconds with any 2xx, once the event is safe.`

const headers = {
  WebhookId: {
    name: 'webhook-id',
    in: 'header',
    required: true,
    description: "The event's id, the same in every attempt and in a replay.",
    schema: { type: 'string', format: 'uuid' },
    example: '5f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10',
  },
  WebhookTimestamp: {
    name: 'webhook-timestamp',
    in: 'header',
    required: true,
    description:
      'Epoch seconds of this attempt. Refuse an event that is more than five minutes away.',
    schema: { type: 'integer', minimum: 0 },
    example: 1795144560,
  },
  WebhookSignature: {
    name: 'webhook-signature',
    in: 'header',
    required: true,
    description:
      '`v1,` and base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`, keyed with the bytes that the base64 behind `whsec_` in the secret stands for; several, with blanks between them, while the secret is rotated.',
    schema: { type: 'string', pattern: '^v1,[A-Za-z0-9+/]{43}=(?: v1,[A-Za-z0-9+/]{43}=)*$' },
    example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  },
} as const satisfies Record<string, JsonObject>

/** By component name. */
export const webhookParameters: JsonObject = headers

const retryAfter: JsonObject = {
  'Retry-After': {
    description: 'Seconds or a date, at most a day: nothing is sent to the endpoint before then.',
    schema: { type: 'string' },
  },
}
const abort: JsonObject = {
  'webhook-delivery': {
    description: 'With `abort-message` this event is not sent again.',
    schema: { type: 'string', enum: ['abort-message'] },
  },
}
const later = (text: string): JsonObject => ({
  description: `${text}: the event is sent again, not before \`Retry-After\`.`,
  headers: { ...retryAfter, ...abort },
})

const responses: JsonObject = {
  '2XX': { description: 'The event is delivered. The body of the answer has no meaning.' },
  '3XX': { description: 'A failure: redirects are not followed.', headers: abort },
  '410': { description: 'The endpoint is gone: it is disabled at once.' },
  '429': later('Too many events'),
  '502': later('Not reachable'),
  '503': later('Not available'),
  '504': later('Not reachable in time'),
  default: {
    description: 'A failure: the event is sent again at the times of the schedule.',
    headers: abort,
  },
}

const example = (summary: string, value: Json): JsonObject => ({ summary, value })

const envelope = (type: EventType, data: JsonObject, metadata: JsonObject): JsonObject => ({
  id: '5f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10',
  object: 'event',
  type,
  api_version: apiVersion,
  created: 1795144560,
  data,
  metadata: { ...metadata, chunk: 1, total_chunks: 1 },
})
const run = 'c2d9f8f4-6f0b-4f0e-8a54-0f4d4c6f7b21'

const transaction: JsonObject = {
  id: 'txn_01JD3Q7V9M',
  object: 'transaction',
  amount: -4290,
  currency: 'aud',
  status: 'posted',
  description: 'GREENGROCER NEWTOWN',
  direction: 'debit',
  class: 'payment',
  account_id: '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
  account_name: 'Everyday',
  account: 'Everyday',
  local_date: '2026-11-20',
  transaction_date: '2026-11-19T21:04:31Z',
  post_date: '2026-11-20T02:00:00Z',
  merchant_name: 'Greengrocer',
  category: 'FOOD_AND_DRINK',
  merchant_category_code: '5411',
  reference: null,
  extended_description: null,
}

const trade: JsonObject = {
  id: '2026-11-18-VTI-BUY--582.74-2-2026-11-19-1.50-Bought 2 VTI',
  object: 'trade',
  account_id: '9a7b330a-a736-41e5-af7f-feaf819cdc0f',
  account_name: 'Shares',
  symbol: 'VTI',
  name: 'Vanguard Total Stock Market ETF',
  type: 'buy',
  quantity: '2',
  price: '290.62',
  currency: 'USD',
  total_amount: '-582.74',
  fees: '1.50',
  trade_date: '2026-11-18',
  settlement_date: '2026-11-19',
  description: 'Bought 2 VTI',
}

const none = { new: [], updated: [] }

const connection: JsonObject = {
  id: '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10',
  provider: providers[0],
  category: 'banking',
  institution_id: '17',
  institution_name: 'Example Bank',
  institution_logo: 'https://bank.example/logo.svg',
  status: 'active',
  last_refreshed_at: '2026-11-20T03:15:00.000Z',
  created_at: '2026-10-28T22:03:09.000Z',
}

/** An event about a connection (reading R41): no run, no counts. */
const about = (type: EventType, own: JsonObject = {}): JsonObject =>
  envelope(type, { ...connection, ...own }, { sync_run_id: null, new_count: 0, updated_count: 0 })

/** Each type of event, in the words of the document. */
const described: Readonly<Record<EventType, Described>> = {
  'transactions.synced': {
    summary: 'A bank was synced',
    examples: {
      new: example(
        'A new transaction',
        envelope(
          'transactions.synced',
          { new: [transaction], updated: [] },
          { sync_run_id: run, new_count: 1, updated_count: 0 },
        ),
      ),
      none: example(
        'Nothing new: the data is fresh',
        envelope('transactions.synced', none, {
          sync_run_id: run,
          new_count: 0,
          updated_count: 0,
        }),
      ),
    },
  },
  'trades.synced': {
    summary: 'A broker was synced',
    examples: {
      replay: example(
        'A changed trade, sent again as a replay',
        envelope(
          'trades.synced',
          { new: [], updated: [trade] },
          { sync_run_id: null, new_count: 0, updated_count: 1 },
        ),
      ),
    },
  },
  'connection.linked': {
    summary: 'A connection is new',
    examples: { linked: example('A new connection', about('connection.linked')) },
  },
  'connection.expiring': {
    summary: 'A consent ends in 30, 7 or 1 days',
    examples: {
      week: example(
        'Its consent ends within a week',
        about('connection.expiring', { expires_at: '2026-11-27T03:00:00.000Z' }),
      ),
    },
  },
  'connection.invalidated': {
    summary: 'Consent or credentials expired',
    examples: {
      lost: example(
        'Its owner has to reconnect',
        about('connection.invalidated', { status: 'invalidated' }),
      ),
    },
  },
  'connection.revoked': {
    summary: 'A consent was withdrawn',
    examples: {
      withdrawn: example('Withdrawn', about('connection.revoked', { status: 'revoked' })),
    },
  },
  'connection.restored': {
    summary: 'A connection is active again',
    examples: { again: example('Active again', about('connection.restored')) },
  },
  'connection.removed': {
    summary: 'A connection was removed',
    examples: { gone: example('Removed while it was active', about('connection.removed')) },
  },
}
