/**
 * Converts a tool's arguments to the equivalent REST query, spelled as REST clients usually spell it, so that
 * both doors share one cache entry (reading R28). Arguments that were left out stay out: the operation has
 * its own defaults.
 */
import type { Caller } from '#auth/caller.ts'
import { apiError } from '#contract/errors.ts'
import type { ToolOperation } from '#contract/tool-descriptions.ts'
import { readToolArguments, type ToolArguments } from '#contract/tools.ts'
import { getZone } from '#kernel/time.ts'
import { type RangeRules, readToolRange } from '#resources/tool-range.ts'

/** The query without "?"; throws `invalid_params` with every problem (reading R29). `now` in milliseconds. */
export function toRawQuery(
  operation: ToolOperation,
  given: Readonly<Record<string, unknown>>,
  caller: Caller,
  now: number,
): string {
  const reading = readToolArguments(operation.tool, given)
  if (!reading.ok) throw apiError('invalid_params', { details: reading.details })
  const { maxDays, fixed = {} } = operation.tool
  const values =
    maxDays === undefined
      ? reading.value
      : withRange(reading.value, { maxDays, zone: getZone(caller.timezone), now })
  return Object.entries({ ...values, ...fixed })
    .map(([name, value]) => `${name}=${encode(value)}`)
    .join('&')
}

/** Adds the range of reading R30. */
function withRange(values: ToolArguments, rules: RangeRules): ToolArguments {
  const { from, to, ...others } = values
  const given = {
    from: typeof from === 'string' ? from : undefined,
    to: typeof to === 'string' ? to : undefined,
  }
  return { ...others, ...readToolRange(given, rules) }
}

/** Ids, numbers and days are written as they are. */
const plain = /^[A-Za-z0-9,:._-]*$/

/** Commas and colons are not encoded; an unpaired surrogate, which a URL cannot carry, becomes U+FFFD. */
function encode(value: ToolArguments[string]): string {
  const text = typeof value === 'object' ? value.join(',') : String(value)
  if (plain.test(text)) return text
  return encodeURIComponent(text.toWellFormed()).replaceAll('%2C', ',').replaceAll('%3A', ':')
}
