/**
 * The OpenAPI 3.1 description of the admin API, derived from its table. It is served at /openapi.json of the
 * admin listener and checked in as docs/admin-openapi.json; tests validate answers against it.
 */
import { type ErrorName, errorCatalogue } from '#contract/errors.ts'
import { makeErrorExamples } from '#contract/openapi-examples.ts'
import { pascalCase } from '#contract/openapi-parameters.ts'
import { describeCause } from '#contract/openapi-responses.ts'
import { addSchema, type Json, type JsonObject } from '#contract/openapi-schemas.ts'
import { ErrorEnvelope } from '#contract/resources.ts'
import { type AdminCall, commonAdminErrors, readRoute, replyStatusOf } from './table/call.ts'
import { describeInput, listFields, toSentence } from './table/input-fields.ts'
import { adminChapters } from './table/table.ts'

/** Components, filled while the paths are made. */
interface Components {
  readonly schemas: Record<string, Json>
  readonly responses: Record<string, Json>
}

/** Makes the whole document; an equal version gives an identical document, including the order of keys. */
export function makeAdminOpenApi(version: string): JsonObject {
  const components: Components = { schemas: {}, responses: {} }
  const paths: Record<string, Record<string, Json>> = {}
  for (const { title, rows } of adminChapters) {
    for (const [name, call] of rows) {
      const { method, path } = readRoute(call)
      const described = { tags: [title], ...describeCall(name, call, components) }
      paths[path] = { ...paths[path], [method.toLowerCase()]: described }
    }
  }
  addSchema(components.schemas, ErrorEnvelope)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tributary admin API',
      summary: 'The HTTP interface for operators.',
      description: introduction,
      version,
      contact: { name: 'The operator of this server' },
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The admin listener of this server' }],
    security: [{ adminToken: [] }],
    tags: adminChapters.map(({ title, about }) => ({ name: title, description: about })),
    paths,
    components: {
      securitySchemes: { adminToken: securityScheme },
      ...components,
      parameters: pathParameters,
      headers,
    },
  }
}

const introduction = `Users, plans, keys, connections and webhook endpoints, for operators. It has its own listener and is not
available on the public one.

- Every call needs \`Authorization: Bearer <ADMIN_TOKEN>\`. On a loopback listener only loopback names are accepted as \`Host\`.
- Bodies are JSON, at most 16 KiB. An unknown field or parameter is refused.
- Errors have one envelope: \`{ "error": { "message", "code"?, "details"? } }\`.
- Instants are ISO 8601 with \`Z\` or an offset.
- Long lists have pages: \`next\` is the \`cursor\` of the following one, null at the end.

In sandbox mode there are further calls below \`/admin/sandbox/\`, which are not described here.`

const securityScheme: JsonObject = {
  type: 'http',
  scheme: 'bearer',
  description: '`ADMIN_TOKEN`, or the content of `DATA_DIR/admin-token`.',
}

const pathParameters: JsonObject = Object.fromEntries(
  Object.entries({
    user: 'Id or e-mail address of a user; compared case-insensitively.',
    email: 'E-mail address; compared case-insensitively.',
    agent: 'Id of a connected agent.',
    session: 'Id of a signed-in browser.',
    key: 'Id of a key.',
    program: 'Id of a program that reads SimpleFIN.',
    connection: 'Id of a connection.',
    webhook: 'Id of a webhook endpoint.',
    delivery: 'Id of a delivery.',
    consumer: 'Id of a consumer of events.',
  }).map(([name, description]) => [
    pascalCase(name),
    { name, in: 'path', required: true, description, schema: { type: 'string', minLength: 1 } },
  ]),
)

const headers: JsonObject = {
  XRequestId: {
    description: 'Id of this request; the log has the same one.',
    required: true,
    schema: { type: 'string', minLength: 1 },
  },
  RetryAfter: {
    description: 'Seconds until it makes sense to ask again.',
    schema: { type: 'integer', minimum: 0 },
  },
}
const everywhere: JsonObject = { 'X-Request-Id': { $ref: '#/components/headers/XRequestId' } }
const later: JsonObject = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }

function describeCall(name: string, call: AdminCall, components: Components): JsonObject {
  const { input, summary } = call
  const isBody = input?.place === 'body'
  if (isBody) components.schemas[`${pascalCase(name)}Input`] = describeInput(input)
  return {
    operationId: name,
    summary: toSentence(summary).slice(0, -1),
    description: [toSentence(summary), call.description ?? []].flat().join(' '),
    parameters: [
      ...[...call.route.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => ({
        $ref: `#/components/parameters/${pascalCase(parameter)}`,
      })),
      ...(input?.place === 'query' ? listFields(input).map(toQueryParameter) : []),
    ],
    ...(isBody ? { requestBody: describeBody(name, call) } : {}),
    responses: {
      [replyStatusOf(call)]: describeReply(call, components),
      ...listErrors(name, call, components),
    },
  }
}

function toQueryParameter({
  name,
  isRequired,
  help,
  schema,
}: ReturnType<typeof listFields>[number]) {
  return { name, in: 'query', required: isRequired, description: toSentence(help), schema }
}

function describeBody(name: string, { input }: AdminCall): JsonObject {
  return {
    required: input !== undefined && listFields(input).some(({ isRequired }) => isRequired),
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${pascalCase(name)}Input` },
      },
    },
  }
}

function describeReply(
  { reply, replyHeaders = {}, summary }: AdminCall,
  { schemas }: Components,
): JsonObject {
  const own = Object.entries(replyHeaders).map(([name, meaning]): [string, Json] => [
    name,
    { description: meaning, schema: { type: 'string' } },
  ])
  const content = reply && { 'application/json': { schema: addSchema(schemas, reply) } }
  return {
    description: reply?.meta()?.description ?? toSentence(summary),
    headers: { ...everywhere, ...Object.fromEntries(own) },
    ...(content === null ? {} : { content }),
  }
}

/** Errors of one status are one response, shared by the calls that can answer exactly these. */
function listErrors(name: string, call: AdminCall, { responses }: Components): JsonObject {
  const groups = Map.groupBy(errorsOf(call), (error) => errorCatalogue[error].status)
  return Object.fromEntries(
    [...groups]
      .sort(([left], [right]) => left - right)
      .map(([status, group]) => {
        const isShort = group.length <= 2
        const component = isShort ? group.map(pascalCase).join('') : `${pascalCase(name)}${status}`
        responses[component] = describeErrors(status, group)
        return [String(status), { $ref: `#/components/responses/${component}` }]
      }),
  )
}

/** Every error that a call can answer. */
function errorsOf({ input, errors = [] }: AdminCall): readonly ErrorName[] {
  const ofBody: readonly ErrorName[] = input?.place === 'body' ? ['body_too_large'] : []
  return [...new Set([...commonAdminErrors, ...ofBody, ...errors])]
}

const examples = makeErrorExamples()

function describeErrors(status: number, names: readonly ErrorName[]): JsonObject {
  return {
    description: names.map(describeCause).join('\n\n'),
    headers: { ...everywhere, ...(status === 429 || status === 503 ? later : {}) },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(names.map((name) => [name, examples[name] ?? null])),
      },
    },
  }
}
