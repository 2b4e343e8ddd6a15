/**
 * Component schemas of the OpenAPI description, made from the zod schemas of the contract. OpenAPI 3.1 speaks JSON Schema
 * 2020-12, so nothing is lost; what only zod needs (patterns behind a format, closed objects) is left out: a client must
 * tolerate a field that is added later.
 */
import { z } from 'zod'
import { operations } from './operations.ts'
import { ErrorEnvelope } from './resources.ts'

export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** Every named schema of the replies and of the error envelope, by component name, in the order of the operations. */
export function makeSchemas(): JsonObject {
  const schemas: Record<string, Json> = {}
  for (const schema of [...operations.map((operation) => operation.reply), ErrorEnvelope]) {
    const { $defs = {} } = z.toJSONSchema(schema, { io: 'output' })
    for (const [name, definition] of Object.entries($defs)) {
      schemas[name] = tidySchema(definition as Json, '#/components/schemas/')
    }
  }
  return schemas
}

/** The reference to a reply's component; a reply without an id is a mistake of ours. */
export function schemaReference(schema: z.ZodType): JsonObject {
  const id = schema.meta()?.id
  if (id === undefined) throw new Error('a reply schema has no id in its meta data')
  return { $ref: `#/components/schemas/${id}` }
}

/** Rewrites one JSON Schema, all depths of it, into the form that is published; definitions stand under `home`. */
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

/** A property may be called like a keyword, so that property names are never looked at. */
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

/** `anyOf: [{type: T}, {type: null}]` says the same as `type: [T, null]`, which readers and generators like better. */
function mergeNullable(schema: Record<string, Json>): JsonObject {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema
  const [base, empty] = anyOf as [JsonObject, JsonObject]
  if (empty.type !== 'null' || typeof base.type !== 'string') return schema
  const values = Array.isArray(base.enum) ? { enum: [...base.enum, null] } : {}
  return { ...base, ...rest, type: [base.type, 'null'], ...values }
}
