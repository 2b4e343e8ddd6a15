/**
 * What the OpenAPI document promises: every operation with its parameters, every error it can answer,
 * headers, and examples that fit the schemas which the code itself uses.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { z } from 'zod'
import { type ErrorName, errorCatalogue } from '#contract/errors.ts'
import { makeOpenApi } from '#contract/openapi.ts'
import { listErrors, type Operation, operations } from '#contract/operations.ts'
import { ErrorEnvelope } from '#contract/resources.ts'
import manifest from '../../../package.json' with { type: 'json' }

interface Example {
  readonly $ref?: string
  readonly summary: string
  readonly value: unknown
}
interface Response {
  readonly headers: Record<string, unknown>
  readonly content: { 'application/json': { schema: object; examples: Record<string, Example> } }
}
interface Document {
  readonly paths: Record<
    string,
    { get: { operationId: string; parameters: Reference[]; responses: Record<string, Reference> } }
  >
  readonly components: Record<string, Record<string, unknown>>
}
interface Reference {
  readonly $ref: string
}

const document = makeOpenApi({
  baseUrl: 'https://api.tributary.test',
  version: '1.2.3',
}) as unknown as Document

function resolve<T>(reference: string): T {
  const [, , section = '', name = ''] = reference.split('/')
  const found = document.components[section]?.[name]
  assert.ok(found, `${reference} leads nowhere`)
  return found as T
}

function* responses(): Generator<{ operation: Operation; status: number; response: Response }> {
  for (const operation of operations) {
    for (const [status, { $ref }] of Object.entries(
      document.paths[operation.path]?.get.responses ?? {},
    )) {
      yield { operation, status: Number(status), response: resolve<Response>($ref) }
    }
  }
}

const examplesOf = (response: Response): [string, unknown][] =>
  Object.entries(response.content['application/json'].examples).map(([name, example]) => [
    name,
    (example.$ref === undefined ? example : resolve<Example>(example.$ref)).value,
  ])

test('each operation of the table stands at its path, with a stable operationId', () => {
  assert.deepEqual(
    Object.entries(document.paths).map(([path, item]) => [path, item.get.operationId]),
    [
      ['/v1/connections', 'listConnections'],
      ['/v1/accounts', 'listAccounts'],
      ['/v1/balances', 'listBalances'],
      ['/v1/transactions', 'listTransactions'],
      ['/v1/holdings', 'listHoldings'],
      ['/v1/trades', 'listTrades'],
      ['/v1/events', 'listEvents'],
      ['/v1/categories', 'listCategories'],
    ],
  )
})

test('each parameter of an operation is described, and required exactly when the code requires it', () => {
  for (const operation of operations) {
    const shown = document.paths[operation.path]?.get.parameters.map(({ $ref }) =>
      resolve<{ name: string; required: boolean; description: string }>($ref),
    )
    assert.deepEqual(
      shown?.map((parameter) => [parameter.name, parameter.required]),
      Object.entries(operation.query.shape).map(([name, field]) => [
        name,
        !(field as z.ZodType).isOptional(),
      ]),
    )
  }
})

test('R11: a limit has no maximum in the document, since larger values are clamped', () => {
  for (const [name, parameter] of Object.entries(document.components.parameters ?? {})) {
    if (!name.endsWith('Limit')) continue
    const { schema } = parameter as { schema: Record<string, unknown> }
    assert.equal(schema.type, 'integer')
    assert.equal(schema.maximum, undefined)
  }
})

test('every error an operation can answer has an example under its status, and no other', () => {
  for (const operation of operations) {
    const shown = [...responses()]
      .filter((entry) => entry.operation === operation && entry.status !== 200)
      .flatMap(({ status, response }) => examplesOf(response).map(([name]) => `${status} ${name}`))
    const due = new Set<ErrorName>(listErrors(operation))
    const expected = [...due].map((name) => `${errorCatalogue[name].status} ${name}`)
    assert.deepEqual(shown.sort(), expected.sort())
  }
})

test('each example fits the published schema and the schema of the code', () => {
  const ajv = new Ajv2020({ strict: true, allErrors: true })
  addFormats.default(ajv)
  ajv.addVocabulary(['components'])
  ajv.addSchema({ $id: 'https://tributary.test/document', components: document.components })
  let count = 0
  for (const { operation, status, response } of responses()) {
    const { $ref } = response.content['application/json'].schema as Reference
    const check = ajv.compile({ $ref: `https://tributary.test/document${$ref}` })
    const examples = examplesOf(response)
    assert.ok(examples.length > 0, `${operation.path} ${status} has no example`)
    for (const [name, value] of examples) {
      assert.ok(
        check(value),
        `${operation.path} ${status} ${name}: ${ajv.errorsText(check.errors)}`,
      )
      const schema = status === 200 ? operation.reply : ErrorEnvelope
      assert.deepEqual(schema.parse(value), value, `${operation.path} ${status} ${name}`)
      count += 1
    }
  }
  assert.ok(count > 80, `only ${count} examples`)
})

test('an error example carries the code of the catalogue, or none at all', () => {
  for (const { status, response } of responses()) {
    if (status === 200) continue
    for (const [name, value] of examplesOf(response)) {
      const { error } = value as ErrorEnvelope
      const entry = errorCatalogue[name as ErrorName]
      assert.equal(entry.status, status)
      assert.deepEqual('code' in error ? error.code : null, entry.code)
    }
  }
})

test('every answer shows the headers of the contract', () => {
  const common = ['X-Cache', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
  for (const { operation, status, response } of responses()) {
    const names = Object.keys(response.headers)
    const isTransactions = operation.path === '/v1/transactions'
    const truncates = isTransactions || operation.path === '/v1/trades'
    for (const name of common)
      assert.ok(names.includes(name), `${operation.path} ${status} ${name}`)
    assert.equal(names.includes('Retry-After'), status === 429 || status === 503)
    assert.equal(names.includes('WWW-Authenticate'), status === 401)
    assert.equal(names.includes('X-Service-Truncated'), status === 200 && truncates)
    const tells = truncates || ['/v1/balances', '/v1/holdings'].includes(operation.path)
    assert.equal(names.includes('X-Data-As-Of'), status === 200 && tells)
    for (const name of ['Deprecation', 'Sunset', 'Link'])
      assert.equal(names.includes(name), isTransactions, `${operation.path} ${status} ${name}`)
  }
})

/** Held against the contract in webhooks.test.ts. */
const isOfEvents = (name: string) =>
  /Event|Synced$|^Connection(?:Linked|Expiring|Invalidated|Revoked|Restored|Removed)$/.test(name)

test('on REST every decimal is a string with a pattern; a number stands only in the pagination', () => {
  const decimal = '^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$'
  const decimals: string[] = []
  for (const [name, schema] of Object.entries(document.components.schemas ?? {})) {
    if (isOfEvents(name)) continue
    const { properties = {} } = schema as { properties?: Record<string, Record<string, unknown>> }
    for (const [field, property] of Object.entries(properties)) {
      const types = [property.type].flat()
      if (property.pattern === decimal) decimals.push(`${name}.${field}`)
      if (types.includes('integer')) assert.equal(name, 'Pagination')
      assert.ok(!types.includes('number'), `${name}.${field} is a number`)
    }
  }
  assert.deepEqual(decimals, [
    'Balance.currentBalance',
    'Balance.availableBalance',
    'Transaction.amount',
    'Holding.quantity',
    'Holding.averagePrice',
    'Holding.currentPrice',
    'Holding.marketValue',
    'Holding.unrealizedPnl',
    'Trade.quantity',
    'Trade.price',
    'Trade.totalAmount',
    'Trade.fees',
  ])
})

test('the checked-in document is the one that the code makes', () => {
  const made = makeOpenApi({ baseUrl: 'http://127.0.0.1:3000', version: manifest.version })
  const file = new URL('../../../docs/openapi.json', import.meta.url)
  const hint = 'run `npm run openapi`'
  assert.equal(readFileSync(file, 'utf8'), `${JSON.stringify(made, null, 2)}\n`, hint)
})

test('the document and the reference mention only what exists: no dashboard, no callbacks, and one tool fewer than operations', () => {
  const text = JSON.stringify(document)
  const absent = text.match(/dashboard|callback|\/simplefin/gi)
  assert.deepEqual(absent, null)
  const toolless = operations.filter(({ tool }) => tool === null).map(({ name }) => name)
  assert.deepEqual(toolless, ['list_categories'])
  assert.ok(text.includes('all but the fixed list of categories'))
})
