/**
 * The bodies of the sandbox commands: strict schemas, so that a misspelt field is refused and not ignored.
 * Amounts are decimal text, instants come with `Z` or an offset.
 */
import { z } from 'zod'
import { instant } from '#contract/input.ts'
import { type Decimal, parseDecimal } from '#kernel/decimal.ts'
import { sandboxProviders } from './magic-users.ts'

export const Provider = z.enum(sandboxProviders, `must be one of ${sandboxProviders.join(', ')}`)

const count = (min: number, max: number) =>
  z
    .int(`must be a whole number from ${min} to ${max}`)
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`)

const decimal = z.string('must be text').transform((text, context): Decimal => {
  const value = parseDecimal(text)
  if (value !== null) return value
  context.addIssue('must be a plain decimal, e.g. -12.30')
  return z.NEVER
})

/** Milliseconds since the epoch. */

const text = z
  .string('must be text')
  .regex(/^[^\p{Cc}\p{Cs}]{1,200}$/u, 'must have 1 to 200 characters, no control characters')

export const WhereBody = z.strictObject({ provider: Provider.optional() })

export const NewRowBody = z.strictObject({
  provider: Provider.optional(),
  account: text.optional(),
  amount: decimal,
  description: text.default('SANDBOX ROW'),
  date: instant.optional(),
  type: text.optional(),
  symbol: text.optional(),
  units: decimal.optional(),
  price: decimal.optional(),
})
export type NewRowBody = z.output<typeof NewRowBody>

export const RowChangeBody = z.strictObject({
  provider: Provider.optional(),
  account: text.optional(),
  row: text.optional(),
  amount: decimal.optional(),
  description: text.optional(),
  date: instant.optional(),
})
export type RowChangeBody = z.output<typeof RowChangeBody>

const flag = z.literal(true, 'must be true or left out').optional()

export const WebhookBody = z.strictObject({
  /** The provider's name of what it reports. */
  event: text,
  provider: Provider.optional(),
  account: text.optional(),
  /** Seconds. */
  late: count(0, 604_800).optional(),
  twice: flag,
  outOfOrder: flag,
  wrongSignature: flag,
})

export const LatencyBody = z.strictObject({ ms: count(0, 600_000) })

export const FailureBody = z.strictObject({
  status: count(400, 599),
  /** How many requests fail; all of them when absent. */
  times: count(1, 1_000_000).optional(),
  /** Seconds. */
  retryAfter: count(0, 86_400).optional(),
})
