/**
 * Component schemas of the OpenAPI description, made from the zod schemas of the contract. OpenAPI 3.1 uses
 * JSON Schema 2020-12, so nothing is lost. Patterns behind a format and closed objects are left out, because
 * a client must accept fields that are added later.
 */
import { z } from 'zod'
import { MinorUnits } from './events.ts'
import { operations } from './operations.ts'
import { ErrorEnvelope } from './resources.ts'

export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** Every named schema of replies, error envelope and events, by component name, by operation. */
export function makeSchemas(events: readonly z.ZodType[]): JsonObject {
  const schemas: Record<string, Json> = {}
  const replies = operations.map((operation) => operation.reply)
  for (const schema of [...replies, ErrorEnvelope, ...events]) addSchema(schemas, schema)
  return schemas
}

/** Adds the named schemas of this one; returns its published form, a reference where it has a name. */
export function addSchema(schemas: Record<string, Json>, schema: z.ZodType): Json {
  const { $defs = {}, ...root } = z.toJSONSchema(schema, {
    io: 'output',
    unrepresentable: 'any',
    override: publishMinorUnits,
  })
  for (const [name, definition] of Object.entries($defs)) {
    schemas[name] = tidySchema(definition as Json, home)
  }
  return tidySchema(root as Json, home)
}

const home = '#/components/schemas/'

/** JSON Schema has integers of any size, and no word for a bigint. */
export function publishMinorUnits(context: {
  zodSchema: unknown
  jsonSchema: { [key: string]: unknown }
}) {
  if (context.zodSchema !== MinorUnits) return
  delete context.jsonSchema.anyOf
  context.jsonSchema.type = 'integer'
}

/** The reference to a reply's component. @throws Error for a schema without an id. */
export function schemaReference(schema: z.ZodType): JsonObject {
  const id = schema.meta()?.id
  if (id === undefined) throw new Error('a reply schema has no id in its meta data')
  return { $ref: `#/components/schemas/${id}` }
}

/** Rewrites one JSON Schema at every depth into its published form; definitions move to `home`. */
export function tidySchema(node: Json, home: string): Json {
  if (Array.isArray(node)) return node.map((item) => tidySchema(item, home))
  if (node === null || typeof node !== 'object') return node
  const result: Record<string, Json> = {}
  for (const [key, value] of Object.entries(node as JsonObject)) {
    if (key === 'properties' || key === '$defs') result[key] = tidyEach(value as JsonObject, home)
    else if (key === '$ref') result[key] = String(value).replace('#/$defs/', home)
    else if (key === 'example') result.examples = [value]
    else if (!isNoise(key, value, node as JsonObject)) result[key] = tidySchema(value, home)
  }
  return mergeNullable(result)
}

/** A property may have the name of a keyword, so property names are never interpreted. */
function tidyEach(properties: JsonObject, home: string): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [name, tidySchema(value, home)]),
  )
}

function isNoise(key: string, value: Json, schema: JsonObject): boolean {
  if (key === '$schema' || key === 'id') return true
  if (key === 'additionalProperties') return value === false
  if (key === 'pattern') return 'format' in schema
  return key === 'maximum' && value === Number.MAX_SAFE_INTEGER
}

/** `anyOf: [{type: T}, {type: null}]` becomes `type: [T, null]`, which readers and generators like better. */
function mergeNullable(schema: Record<string, Json>): JsonObject {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema
  const [base, empty] = anyOf as [JsonObject, JsonObject]
  if (empty.type !== 'null' || typeof base.type !== 'string') return schema
  const values = Array.isArray(base.enum) ? { enum: [...base.enum, null] } : {}
  return { ...base, ...rest, type: [base.type, 'null'], ...values }
}
