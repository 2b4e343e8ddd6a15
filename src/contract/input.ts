/**
 * How an action reads its input: one strict schema each, so that a misspelt field is refused instead of
 * ignored. Each problem is one line that says what to do. A refused value is never repeated, because it may
 * be a secret.
 */
import { z } from 'zod'
import { parseInstant } from '#kernel/time.ts'
import { apiError } from './errors.ts'

export const oneOf = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  z.enum(names, `must be one of ${names.join(', ')}`)

/** An ISO 8601 instant with `Z` or an offset, as milliseconds since the epoch. */
export const instant = z.string('must be text').transform((text, context) => {
  const at = parseInstant(text)
  if (at !== null) return Math.floor(at / 1000)
  context.addIssue('must be an ISO 8601 instant with Z or an offset, e.g. 2027-01-31T00:00:00Z')
  return z.NEVER
})

/**
 * A name that a person gives: text of at most 100 characters, trimmed. The pattern of the document has no
 * Unicode property, because many validators read patterns without the flag that those need.
 */
export const nameText = (min: 0 | 1) => {
  const problem = `must have ${min === 0 ? 'at most' : '1 to'} 100 characters, no control characters`
  return z
    .string('must be text')
    .trim()
    .regex(new RegExp(String.raw`^[^\u0000-\u001f\u007f-\u009f]{${min},100}$`, 'u'), problem)
    .refine((text) => text.isWellFormed(), problem)
}

export const EmptyInput = z.strictObject({})

/** The input as its schema defines it; a missing one is empty. @throws ApiError `invalid_params`. */
export function parseInput<Input>(schema: z.ZodType<Input>, raw: unknown): Input {
  const given = raw ?? {}
  const result = schema.safeParse(given)
  if (result.success) return result.data
  // Several items of one list may have the same problem.
  const lines = new Set(result.error.issues.flatMap(toLines))
  throw apiError('invalid_params', { details: [...lines].slice(0, 20) })

  function toLines(issue: z.core.$ZodIssue): string[] {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => `${key.slice(0, 100)}: is an unknown field`)
    }
    const [field] = issue.path
    if (field === undefined) return ['body: must be a JSON object']
    return [`${String(field)}: ${isAbsent(given, field) ? 'is required' : issue.message}`]
  }
}

function isAbsent(input: unknown, field: PropertyKey): boolean {
  return typeof input !== 'object' || input === null || !Object.hasOwn(input, field)
}
