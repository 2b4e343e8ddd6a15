/**
 * The `webhooks` of the OpenAPI document, compared with the schemas, the signatures and the verdicts of the
 * sender.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { EventEnvelope, eventTypes } from '#contract/events.ts'
import { makeOpenApi } from '#contract/openapi.ts'
import { type EventId, newId } from '#kernel/ids.ts'
import { SyncedEvent } from '#tests/support/synced-event.ts'
import { decide } from '#webhooks/retry-policy.ts'
import { mintSecret, signatureHeaders } from '#webhooks/sign.ts'

interface Reference {
  readonly $ref: string
}
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: { readonly pattern?: string }
  readonly example: unknown
}
interface Post {
  readonly operationId: string
  readonly security: readonly unknown[]
  readonly parameters: readonly Reference[]
  readonly requestBody: {
    readonly content: {
      'application/json': { schema: Reference; examples: Record<string, { value: unknown }> }
    }
  }
  readonly responses: Record<string, { headers?: Record<string, unknown> }>
}
interface Document {
  readonly webhooks: Record<string, { readonly post: Post }>
  readonly components: Record<string, Record<string, unknown>>
}

const document = makeOpenApi({
  baseUrl: 'https://api.tributary.test',
  version: '1.2.3',
}) as unknown as Document
const posts = Object.entries(document.webhooks).map(([type, { post }]) => ({ type, post }))
const schemas = document.components.schemas as Record<
  string,
  { properties: Record<string, object> }
>

function compile({ $ref }: Reference) {
  const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true })
  addFormats.default(ajv)
  ajv.addVocabulary(['components'])
  ajv.addSchema({ $id: 'https://tributary.test/document', components: document.components })
  return ajv.compile({ $ref: `https://tributary.test/document${$ref}` })
}

test('each type of event is described, under a stable name, and needs no key', () => {
  assert.deepEqual(
    posts.map(({ type, post }) => [type, post.operationId, post.security]),
    [
      ['transactions.synced', 'transactionsSynced', []],
      ['trades.synced', 'tradesSynced', []],
      ['connection.linked', 'connectionLinked', []],
      ['connection.expiring', 'connectionExpiring', []],
      ['connection.invalidated', 'connectionInvalidated', []],
      ['connection.revoked', 'connectionRevoked', []],
      ['connection.restored', 'connectionRestored', []],
      ['connection.removed', 'connectionRemoved', []],
    ],
  )
  assert.deepEqual(
    posts.map(({ type }) => type),
    [...eventTypes],
  )
})

test('each example fits the published schema and the schema of the code, and has the type it stands under', () => {
  for (const { type, post } of posts) {
    const { schema, examples } = post.requestBody.content['application/json']
    const check = compile(schema)
    for (const [name, { value }] of Object.entries(examples)) {
      assert.ok(check(value), `${type} ${name}: ${JSON.stringify(check.errors)}`)
      assert.deepEqual(EventEnvelope.parse(value), value)
      assert.equal(EventEnvelope.parse(value).type, type)
    }
  }
})

test('the described headers are those that are sent, and their patterns take what is sent', () => {
  const body = Buffer.from('{}')
  const secrets = [mintSecret(), mintSecret()]
  for (const used of [secrets.slice(0, 1), secrets]) {
    const sent = signatureHeaders({ id: newId<EventId>(), timestamp: 1, body }, used)
    for (const { post } of posts) {
      const described = post.parameters.map(
        ({ $ref }) =>
          document.components.parameters?.[$ref.split('/').at(-1) ?? ''] as unknown as Parameter,
      )
      assert.deepEqual(
        described.map((one) => one.name),
        Object.keys(sent),
      )
      for (const { name, in: place, required, schema, example } of described) {
        assert.deepEqual([place, required], ['header', true])
        const pattern = new RegExp(schema.pattern ?? '')
        assert.match(sent[name as keyof typeof sent], pattern)
        assert.match(String(example), pattern)
      }
    }
  }
})

test('the described answers are those that the sender distinguishes', () => {
  const judged = (status: number, headers = {}) =>
    decide(
      { kind: 'answered', head: { status, headers } },
      { attempts: 1, schedule: [5, 300], now: 0, random: () => 0.5 },
    )
  const plain = judged(500)
  for (const { post } of posts) {
    for (const [status, { headers = {} }] of Object.entries(post.responses)) {
      const code = status === 'default' ? 500 : Number(status.replace('XX', '07'))
      assert.equal(judged(code).decision.kind === 'succeeded', status === '2XX')
      const waits = judged(code, { 'retry-after': '7' }).holdUntil !== plain.holdUntil
      assert.equal(waits, 'Retry-After' in headers, status)
      const aborts = judged(code, { 'webhook-delivery': 'abort-message' }).decision.kind
      assert.equal(
        aborts === 'exhausted' && status !== '410',
        'webhook-delivery' in headers,
        status,
      )
    }
    assert.equal(judged(410).signal, 'gone')
    assert.deepEqual(Object.keys(post.responses), [
      '410',
      '429',
      '502',
      '503',
      '504',
      '2XX',
      '3XX',
      'default',
    ])
  }
})

test('an amount is an integer of any size, decimals of trades are strings', () => {
  const check = compile({ $ref: '#/components/schemas/TransactionEvent' })
  const { amount } = schemas.TransactionEvent?.properties ?? {}
  const { description, ...shape } = amount as { description: string }
  assert.match(description, /2\^53/)
  assert.deepEqual(shape, { type: 'integer' })
  const { examples } = posts[0]?.post.requestBody.content['application/json'] ?? {}
  const [row] = SyncedEvent.parse(examples?.new?.value).data.new
  assert.ok(check(row))
  assert.ok(check({ ...row, amount: 2 ** 60 }))
  assert.ok(!check({ ...row, amount: '1' }))
  for (const name of ['quantity', 'price', 'total_amount', 'fees'])
    assert.ok('pattern' in (schemas.TradeEvent?.properties[name] ?? {}), name)
})
