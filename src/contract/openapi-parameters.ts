/**
 * Query parameters of the OpenAPI description, made from the metadata of each operation's query fields. It
 * publishes the parameter as written in the URL, not the value that it is parsed into.
 */
import { z } from 'zod'
import type { Json, JsonObject } from './openapi-schemas.ts'
import { type Operation, operations } from './operations.ts'

interface NamedParameter {
  readonly operation: string
  readonly name: string
  readonly parameter: JsonObject
}

export interface Parameters {
  /** By component name. */
  readonly components: JsonObject
  /** References, by operation name. */
  readonly byOperation: ReadonlyMap<string, readonly JsonObject[]>
}

/** Identical parameters share a component; the others are named after their operation. */
export function makeParameters(): Parameters {
  const all = operations.flatMap((operation) => parametersOf(operation))
  const components: Record<string, Json> = {}
  const byOperation = new Map<string, JsonObject[]>()
  for (const { operation, name, parameter } of all) {
    const component = isShared(name, all)
      ? pascalCase(name)
      : `${pascalCase(operation)}${pascalCase(name)}`
    components[component] = parameter
    const references = byOperation.get(operation) ?? []
    references.push({ $ref: `#/components/parameters/${component}` })
    byOperation.set(operation, references)
  }
  return { components, byOperation }
}

/** `list_accounts` → `ListAccounts`, `accountIds` → `AccountIds`. */
export function pascalCase(name: string): string {
  return name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function isShared(name: string, all: readonly NamedParameter[]): boolean {
  const texts = all
    .filter((other) => other.name === name)
    .map((other) => JSON.stringify(other.parameter))
  return new Set(texts).size === 1
}

function parametersOf(operation: Operation): NamedParameter[] {
  return Object.entries(operation.query.shape).map(([name, field]) => {
    const schema = field as z.ZodType
    const meta = readMeta(`${operation.name}.${name}`, schema)
    const required = !schema.isOptional()
    const parameter = { name, in: 'query', required, ...meta }
    return { operation: operation.name, name, parameter }
  })
}

/** A switch has no example and no list of values: the reference at /doc would send the first one. */
const ParameterMeta = z.object({
  description: z.string(),
  schema: z.record(z.string(), z.json()),
  example: z.json().optional(),
})

/**
 * @throws Error when a query field lacks its metadata, because the published parameter would have no
 *   description.
 */
function readMeta(place: string, field: z.ZodType): JsonObject {
  const inner = field instanceof z.ZodOptional ? (field.unwrap() as z.ZodType) : field
  const meta = ParameterMeta.safeParse(inner.meta())
  if (!meta.success) throw new Error(`${place} lacks description or schema`)
  return meta.data as JsonObject
}
