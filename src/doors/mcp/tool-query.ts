/**
 * Converts a tool's arguments to the equivalent REST query, spelled as REST clients usually spell it, so that
 * both doors share one cache entry (reading R28). Arguments that were left out stay out: the operation has
 * its own defaults.
 */
import type { Caller } from '#auth/caller.ts'
import { apiError } from '#contract/errors.ts'
import type { ToolOperation } from '#contract/tool-descriptions.ts'
import { readToolArguments, type ToolArguments } from '#contract/tools.ts'
import type { CallerRequest } from '#gate/gate.ts'
import { getZone } from '#kernel/time.ts'
import { readFormerRange, readToolRange } from '#resources/tool-range.ts'

export interface ToolQuery extends Pick<CallerRequest, 'rawQuery' | 'formerRange'> {
  /** Where a tool with `maxDays` ends to read, given or filled in; absent: it reads to now. */
  readonly until?: string | undefined
}

/** Throws `invalid_params` with every problem (reading R29). `now` in milliseconds. */
export function toToolQuery(
  { tool }: ToolOperation,
  given: Readonly<Record<string, unknown>>,
  caller: Caller,
  now: number,
): ToolQuery {
  const reading = readToolArguments(tool, given)
  if (!reading.ok) throw apiError('invalid_params', { details: reading.details })
  const { maxDays, fixed = {} } = tool
  const write = (values: ToolArguments) =>
    Object.entries({ ...values, ...fixed })
      .map(([name, value]) => `${name}=${encode(value)}`)
      .join('&')
  if (maxDays === undefined) return { rawQuery: write(reading.value) }
  const { from, to, ...others } = reading.value
  const dates = {
    from: typeof from === 'string' ? from : undefined,
    to: typeof to === 'string' ? to : undefined,
  }
  const rules = { maxDays, zone: getZone(caller.timezone), now }
  const range = readToolRange(dates, rules)
  return {
    rawQuery: write({ ...others, ...range }),
    formerRange: readFormerRange(dates, rules),
    until: range.to,
  }
}

/** Ids, numbers and days are written as they are. */
const plain = /^[A-Za-z0-9,:._-]*$/

/** Commas and colons are not encoded; an unpaired surrogate, which a URL cannot carry, becomes U+FFFD. */
function encode(value: ToolArguments[string]): string {
  const text = typeof value === 'object' ? value.join(',') : String(value)
  if (plain.test(text)) return text
  return encodeURIComponent(text.toWellFormed()).replaceAll('%2C', ',').replaceAll('%3A', ':')
}
