/**
 * Responses of the OpenAPI description: per operation its 200 and each error that it can return, grouped by
 * status, with one example per error of the catalogue. Responses that are the same for every operation share
 * a component.
 */
import { type ErrorName, errorCatalogue } from './errors.ts'
import { errorExample, makeErrorExamples, replyExamples } from './openapi-examples.ts'
import {
  deprecation,
  everywhere,
  type HeaderName,
  headerReferences,
  retryAfterIfKnown,
} from './openapi-headers.ts'
import { pascalCase } from './openapi-parameters.ts'
import { type Json, type JsonObject, schemaReference } from './openapi-schemas.ts'
import {
  commonErrors,
  listErrors,
  type Operation,
  operations,
  type RestOperation,
} from './operations.ts'

const statusNames: Readonly<Record<number, string>> = {
  200: 'Ok',
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Gone',
  429: 'TooManyRequests',
  500: 'InternalError',
  501: 'NotImplemented',
  503: 'Unavailable',
}

export interface Responses {
  /** `components.responses` and `components.examples`. */
  readonly components: JsonObject
  readonly examples: JsonObject
  /** The `responses` map of each operation, by operation name. */
  readonly byOperation: ReadonlyMap<string, JsonObject>
}

/** Makes the responses of every operation and the components that they share. */
export function makeResponses(): Responses {
  const components: Record<string, Json> = {}
  const byOperation = new Map<string, JsonObject>()
  for (const operation of operations) {
    const references: Record<string, Json> = {}
    for (const [status, response] of responsesOf(operation)) {
      const name = componentName(operation, status, response)
      components[name] = response
      references[String(status)] = { $ref: `#/components/responses/${name}` }
    }
    byOperation.set(operation.name, references)
  }
  const used = JSON.stringify(components)
  const examples = Object.entries(makeErrorExamples()).filter(([name]) =>
    used.includes(`"#/components/examples/${name}"`),
  )
  return { components, examples: Object.fromEntries(examples), byOperation }
}

/** The plain name for the shared response, otherwise a name with the operation in it. */
function componentName(operation: Operation, status: number, response: JsonObject): string {
  const name = statusNames[status]
  if (name === undefined) throw new Error(`status ${status} has no component name`)
  const plain = groupByStatus([...commonErrors, 'not_found']).get(status)
  const isPlain =
    plain !== undefined &&
    JSON.stringify(errorResponse(null, status, plain)) === JSON.stringify(response)
  return isPlain ? name : `${pascalCase(operation.name)}${name}`
}

function* responsesOf(operation: RestOperation): Generator<[number, JsonObject]> {
  yield [200, okResponse(operation)]
  const names = new Set<ErrorName>(listErrors(operation))
  const groups = [...groupByStatus([...names])].sort(([left], [right]) => left - right)
  for (const [status, group] of groups) yield [status, errorResponse(operation, status, group)]
}

function okResponse(operation: RestOperation): JsonObject {
  const truncation: readonly HeaderName[] = operation.mayTruncate ? ['X-Service-Truncated'] : []
  const age: readonly HeaderName[] = operation.hasAge ? ['X-Data-As-Of'] : []
  return {
    description: operation.description,
    headers: headerReferences([...everywhere, ...truncation, ...age, ...deprecationOf(operation)]),
    content: {
      'application/json': {
        schema: schemaReference(operation.reply),
        examples: replyExamples[operation.name],
      },
      ...(operation.canStream ? { 'text/event-stream': stream } : {}),
    },
  }
}

/** As the HTML standard writes a stream: one event a block, a comment where nothing comes. */
const stream: JsonObject = {
  schema: { type: 'string', description: 'Blocks of `id:` (the cursor) and `data:` (the event).' },
  example: ': waiting\n\n',
}

/** `operation` is null for the response that all operations share. */
function errorResponse(
  operation: Operation | null,
  status: number,
  names: readonly ErrorName[],
): JsonObject {
  const examples = names.map((name): [string, Json] => [
    name,
    errorExample(name, operation?.name ?? null) ?? { $ref: `#/components/examples/${name}` },
  ])
  return {
    description: names.map(describeCause).join('\n\n'),
    headers: {
      ...headerReferences([...everywhere, ...deprecationOf(operation)]),
      ...ownHeaders(status),
    },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(examples),
      },
    },
  }
}

export function describeCause(name: ErrorName): string {
  const { code, when } = errorCatalogue[name]
  return code === null ? `Without a code: ${when}` : `\`${code}\`: ${when}`
}

function ownHeaders(status: number): JsonObject {
  if (status === 401) return headerReferences(['WWW-Authenticate'])
  if (status === 429) return headerReferences(['Retry-After'])
  return status === 503 ? retryAfterIfKnown : {}
}

/** Reading R9: errors carry them too. */
function deprecationOf(operation: Operation | null): readonly HeaderName[] {
  return operation?.deprecatedWithout === undefined ? [] : deprecation
}

function groupByStatus(names: readonly ErrorName[]): Map<number, ErrorName[]> {
  const groups = new Map<number, ErrorName[]>()
  for (const name of names) {
    const { status } = errorCatalogue[name]
    groups.set(status, [...(groups.get(status) ?? []), name])
  }
  return groups
}
