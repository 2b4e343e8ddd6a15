/**
 * How query parameters are read (readings R11, R12, R14): one schema per kind of parameter, from raw text to
 * a typed value. The OpenAPI description shows the output side of each schema.
 */
import { z } from 'zod'
import { parseUuid } from '#kernel/ids.ts'

function wholeNumber(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`
  return { message, schema: z.int(message).min(min, message).max(max, message) }
}

const maxOffset = 2 ** 31 - 1
const offset = wholeNumber(0, maxOffset)

const queryOffset = z
  .string()
  .regex(/^\d{1,10}$/, offset.message)
  .transform(Number)
  .pipe(offset.schema)
  .default(0)
  .meta({
    description: 'Rows to skip; continue with the next offset + limit while hasMore is true.',
    schema: { type: 'integer', minimum: 0, maximum: maxOffset, default: 0 },
    example: 0,
  })

const toolOffset = offset.schema
  .optional()
  .meta({ description: 'Rows to skip; for the next page see above.', default: 0 })

/**
 * The fields `limit` and `offset` of a list. In a query a larger page size is clamped (reading R11), and
 * `pagination.limit` reports the clamped value; an agent's arguments are numbers, and nothing is clamped
 * (reading R29).
 */
function pagesOf(fallback: number, max: number) {
  const limit = wholeNumber(1, max)
  const queryLimit = z
    .string()
    .regex(/^\d{1,100}$/, limit.message)
    .transform((text) => Math.min(Number(text), max))
    .pipe(limit.schema)
    .default(fallback)
    .meta({
      description: `Page size, 1 to ${max}; larger values are clamped to ${max}.`,
      schema: { type: 'integer', minimum: 1, default: fallback },
      example: fallback,
    })
  const toolLimit = limit.schema
    .optional()
    .meta({ description: `Rows per page, 1 to ${max}.`, default: fallback })
  return {
    query: { limit: queryLimit, offset: queryOffset },
    tool: { limit: toolLimit, offset: toolOffset },
  }
}

export const accountPages = pagesOf(50, 200)
/** The page parameters of transactions and trades. */
export const rowPages = pagesOf(200, 500)

/** What an answer has beyond its plain form, where the caller asks for it by this name. */
const includes = <Name extends string>(name: Name, description: string) =>
  z
    .literal(name, `must be ${name}`)
    .meta({
      description: `\`${name}\`: ${description}`,
      schema: { type: 'string', pattern: `^${name}$` },
    })
    .optional()

/** Reading R40. */
export const included = includes(
  'freshness',
  'how fresh each kind of data is, and when the consent ends.',
)

/** The currency of rows that are not in their account's. */
export const includedCurrency = includes(
  'currency',
  "rows in another currency than their account's name it.",
)

/** Pending rows among the posted ones (reading R39). */
export const pendingSwitch = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((text) => text === 'true')
  .meta({
    description:
      '`true`: pending rows too, where the provider has them, and of each row when it was posted and which pending row it replaced.',
    schema: { type: 'boolean' },
  })
  .optional()

/** An id that is looked up as given: text that is not a UUID is not found (reading R12). */
export const idText = (description: string) =>
  z
    .string()
    .min(1, 'must not be empty')
    .meta({
      description,
      schema: { type: 'string', minLength: 1 },
      example: '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10',
    })

const items = (text: string) => text.split(',').filter((item) => item !== '')

/** Comma-separated ids; empty items are ignored, an empty list is an error (reading R12). */
export const idList = (description: string, maxCharacters: number) =>
  z
    .string()
    .max(maxCharacters, `must have at most ${maxCharacters} characters`)
    .transform(items)
    .pipe(z.array(z.string()).min(1, 'must name at least one account id'))
    .meta({
      description,
      schema: { type: 'string', minLength: 1, maxLength: maxCharacters },
      example: '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
    })

/** One UUID; any other text is an error that names it (reading R12). */
export const uuidItem = z.string().refine((item) => parseUuid(item) !== null, {
  error: (issue) => `not a UUID: ${shown(String(issue.input))}`,
})

/** Comma-separated UUIDs. */
export const uuidList = (description: string) =>
  z
    .string()
    .transform(items)
    .pipe(z.array(uuidItem).min(1, 'must name at least one account id'))
    .meta({
      description,
      schema: { type: 'string', minLength: 1 },
      example: '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
    })

/**
 * A day or an instant. The resource parses it, because a plain day needs the user's time zone (reading R14).
 */
export const dateText = (description: string, example: string) =>
  z
    .string()
    .min(1, 'must not be empty')
    .meta({ description, schema: { type: 'string', minLength: 1 }, example })

/** A caller's value for our message: shortened, and without control characters. */
function shown(text: string): string {
  const clean = text.replace(/[^\x20-\x7e]/g, '?')
  return clean.length > 60 ? `${clean.slice(0, 60)}…` : clean
}

export type QueryReading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly details: readonly string[] }

/**
 * Reads the parameters that a schema knows from a parsed query string. Unknown parameters are ignored, a
 * repeated scalar is an error, and an empty value does not count as absent (reading R11). All problems are
 * reported together.
 */
export function readQuery<Schema extends z.ZodObject>(
  schema: Schema,
  query: URLSearchParams,
): QueryReading<z.output<Schema>> {
  const raw: Record<string, string> = {}
  const details: string[] = []
  for (const name of Object.keys(schema.shape)) {
    const values = query.getAll(name)
    if (values.length > 1) details.push(`${name}: must be given only once`)
    else if (values[0] !== undefined) raw[name] = values[0]
  }
  return readFields(schema, raw, details)
}

/** Checks named values by a schema; `details`: problems found before. All are reported together. */
export function readFields<Schema extends z.ZodObject>(
  schema: Schema,
  raw: Readonly<Record<string, unknown>>,
  details: string[],
): QueryReading<z.output<Schema>> {
  const result = schema.safeParse(raw)
  const places = new Set<string>()
  for (const issue of result.error?.issues ?? []) {
    const name = String(issue.path[0] ?? 'query')
    const place = issue.path.join('.')
    // One problem per field: a value of the wrong type is not reported as too long as well.
    if (places.has(place) || details.some((line) => line.startsWith(`${name}: must be given`))) {
      continue
    }
    places.add(place)
    details.push(`${name}: ${isMissing(issue, raw, name) ? 'is required' : issue.message}`)
  }
  if (details.length > 0) return { ok: false, details: details.slice(0, 100) }
  return { ok: true, value: result.data as z.output<Schema> }
}

function isMissing(
  issue: z.core.$ZodIssue,
  raw: Readonly<Record<string, unknown>>,
  name: string,
): boolean {
  return issue.code === 'invalid_type' && raw[name] === undefined
}
