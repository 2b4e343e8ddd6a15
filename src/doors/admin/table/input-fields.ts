/**
 * The fields of a call's input: what its schema says of each (as JSON Schema) beside the words of the table.
 * The commands' flags, the parameters and bodies of the OpenAPI document and the page are made from it.
 */
import { z } from 'zod'
import { type Json, type JsonObject, tidySchema } from '#contract/openapi-schemas.ts'
import type { CallInput, InputField } from './call.ts'

export interface ShownField extends InputField {
  readonly name: string
  readonly schema: JsonObject
  readonly isRequired: boolean
}

interface Variant {
  readonly properties: Readonly<Record<string, JsonObject>>
  readonly required: readonly string[]
}

/** In the order of the table; of an input with variants a field is required when each of them requires it. */
export function listFields({ schema, fields }: CallInput): readonly ShownField[] {
  const variants = listVariants(schema)
  return Object.entries(fields).map(([name, field]) => ({
    ...field,
    name,
    schema: merge(variants.map(({ properties }) => properties[name])),
    isRequired: variants.every(({ required }) => required.includes(name)),
  }))
}

/** The input as a schema of the document. It is closed: an unknown field is refused. */
export function describeInput(input: CallInput): JsonObject {
  const bodies = listVariants(input.schema).map(({ properties, required }): JsonObject => {
    const described = Object.entries(properties).map(([name, schema]) => {
      const { help = '', isSecret } = input.fields[name] ?? {}
      const secret = isSecret === true ? { format: 'password' } : {}
      return [name, { ...schema, ...secret, description: toSentence(help) }] as const
    })
    return {
      type: 'object',
      properties: Object.fromEntries(described),
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
    }
  })
  const [only] = bodies
  return bodies.length === 1 && only !== undefined ? only : { oneOf: bodies }
}

/** Words of the command line as a sentence about a field: flags are called by their fields. */
export function toSentence(help: string): string {
  const text = help.replace(/--([a-z-]+)/g, (_, flag: string) => `\`${toCamelCase(flag)}\``)
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** `legacy-until` → `legacyUntil`. */
export function toCamelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase())
}

function listVariants(schema: z.ZodType): readonly Variant[] {
  const made = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonObject
  return toList(made.oneOf ?? [made]).map((one) => {
    const { properties = {}, required = [] } = one as JsonObject
    const shown = Object.entries(properties as JsonObject).map(([name, property]) => {
      // A field whose URL text encodes another type carries its own schema.
      const { schema: written } = property as JsonObject
      return [name, (written ?? tidySchema(property, '')) as JsonObject] as const
    })
    return {
      properties: Object.fromEntries(shown),
      required: toList(required).map(String),
    }
  })
}

function merge(schemas: readonly (JsonObject | undefined)[]): JsonObject {
  const words = schemas.flatMap((schema) => schema?.const ?? [])
  const [first = {}] = schemas.filter((schema) => schema !== undefined)
  return words.length > 0 ? { type: 'string', enum: words } : first
}

function toList(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : []
}
