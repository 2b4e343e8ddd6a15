/**
 * The OpenAPI 3.1 description of the REST API and of the events that receivers get, derived from the table of
 * operations and from the events' schemas, so that nothing is written twice. It is served at /openapi.json
 * and checked in as docs/openapi.json; tests validate answers against it.
 */

import { eventSchemas } from './events.ts'
import { makeHeaders } from './openapi-headers.ts'
import { makeParameters } from './openapi-parameters.ts'
import { makeResponses } from './openapi-responses.ts'
import { type Json, type JsonObject, makeSchemas } from './openapi-schemas.ts'
import { makeWebhookPaths, webhookParameters } from './openapi-webhooks.ts'
import { type Operation, type OperationName, operations } from './operations.ts'

export interface OpenApiOptions {
  /** Public origin of the REST API, without a trailing slash. */
  readonly baseUrl: string
  /** Version of this software, e.g. `0.1.0`. */
  readonly version: string
}

/** Makes the whole document; equal options give an identical document, including the order of keys. */
export function makeOpenApi(options: OpenApiOptions): JsonObject {
  const parameters = makeParameters()
  const responses = makeResponses()
  const paths = operations.map((operation): [string, Json] => [
    operation.path,
    {
      get: {
        operationId: operationId(operation.name),
        summary: operation.title,
        description: describe(operation),
        tags: [operation.tag],
        parameters: parameters.byOperation.get(operation.name) ?? [],
        responses: responses.byOperation.get(operation.name) ?? {},
      },
    },
  ])
  return {
    openapi: '3.1.0',
    info: makeInfo(options),
    servers: [{ url: options.baseUrl, description: 'This server' }],
    security: [{ apiKey: [] }],
    tags,
    paths: Object.fromEntries(paths),
    webhooks: makeWebhookPaths(),
    components: {
      securitySchemes: { apiKey: securityScheme },
      schemas: makeSchemas(eventSchemas),
      parameters: { ...parameters.components, ...webhookParameters },
      headers: makeHeaders(),
      responses: responses.components,
      examples: responses.examples,
    },
  }
}

const securityScheme: JsonObject = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An API key, sent as `Authorization: Bearer <API key>`. The operator of this server makes it; it is shown only once.',
}

const tags = [
  { name: 'Connections', description: 'What is linked: institutions and their accounts.' },
  { name: 'Banking', description: 'Balances and posted transactions, live from the bank.' },
  {
    name: 'Brokerage',
    description: 'Holdings and trades, live from the broker. Needs the Professional plan.',
  },
  { name: 'Reference', description: 'Fixed lists.' },
  {
    name: 'Events',
    description:
      'What every sync has found: signed requests to the endpoints of a user, or fetched without an address.',
  },
]

const introduction = `A read-only window on one person's banks and brokers. Every amount is fetched live from the
provider; none of it is stored.

- **Beta.** Paths, parameters and the shape of answers may still change. Deprecated use is announced by the
  \`Deprecation\`, \`Sunset\` and \`Link\` headers. Expect new fields in any object.
- **Decimals are strings.** Balances, amounts, quantities and prices are exact decimal text. Parse them as decimals,
  never as floats.
- **Paging.** While \`pagination.hasMore\` is true, ask again with \`offset\` = \`pagination.offset\` +
  \`pagination.limit\`. Test \`hasMore\`, not \`total\` or the number of rows: a page can be shorter than the limit you
  asked for, and \`pagination.limit\` then says how far it reached.
- **Errors** have one envelope: \`{ "error": { "message", "code"?, "details"? } }\`. Branch on \`code\`. A failure never
  looks like an empty list.
- **Limits.** \`X-RateLimit-*\` shows what is left; after 429 and 503 wait for \`Retry-After\` seconds.

- **Events.** After every sync of a connection the user's webhook endpoints are told what is new and what has changed; who has no public address fetches the same events from \`/v1/events\`.

AI agents have the same operations as MCP tools, all but the fixed list of categories; events where the operator lists further tools.`

function makeInfo(options: OpenApiOptions): JsonObject {
  return {
    title: 'Tributary',
    summary: "A read-only window on a person's banks and brokers.",
    description: introduction,
    version: options.version,
    contact: { name: 'The operator of this server' },
    license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
  }
}

/** `list_accounts` → `listAccounts`. Generated clients name their methods after it, so it must not change. */
function operationId(name: OperationName): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function describe(operation: Operation): string {
  const bucket = `Counted in the ${operation.bucket} rate bucket`
  const cap = operation.bucket === 'heavy' ? ', with a cap on requests in flight' : ''
  const plan = operation.access === 'brokerage' ? ' Needs the Professional plan.' : ''
  const { keyScope } = operation
  const scope = keyScope === null ? '' : ` A narrow key needs the scope \`${keyScope}\`.`
  return `${operation.description}\n\n${lifetime(operation.cacheSeconds)} ${bucket}${cap}.${plan}${scope}`
}

function lifetime(seconds: number): string {
  if (seconds === 0) return 'Never cached.'
  return `Cached for ${seconds <= 60 ? `${seconds} seconds` : `${seconds / 60} minutes`}.`
}
