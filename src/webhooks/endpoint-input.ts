/** The input of the actions on endpoints, by schema. */
import { z } from 'zod'
import { eventTypes } from '#contract/events.ts'
import { instant, oneOf } from '#contract/input.ts'
import { findUrlProblem } from '#outbound/guarded-agent.ts'

const maxUrlLength = 2048
const defaultOverlapHours = 24
const maxOverlapHours = 168

const url = (allowPrivate: boolean) =>
  z
    .string('must be text')
    .trim()
    .max(maxUrlLength, `must have at most ${maxUrlLength} characters`)
    .transform((text, context) => {
      // A URL parser takes line ends out in silence.
      const problem = /[\s\p{Cc}\p{Cs}]/u.test(text)
        ? 'must not hold blanks or control characters'
        : findUrlProblem(text, { allowPrivate })
      if (problem === null) return text
      const isShut = !allowPrivate && findUrlProblem(text, { allowPrivate: true }) === null
      const setting = '; the operator may allow private addresses with WEBHOOK_ALLOW_PRIVATE'
      context.addIssue(isShut ? `${problem}${setting}` : problem)
      return z.NEVER
    })

const names = eventTypes.join(', ')

/** `allowPrivate`: `WEBHOOK_ALLOW_PRIVATE`. */
export const makeEndpointInput = (allowPrivate: boolean) =>
  z.strictObject({
    url: url(allowPrivate),
    events: z
      .array(oneOf(eventTypes), `must be a list of ${names}`)
      .min(1, `must name at least one of ${names}`)
      .max(100, `must be a list of ${names}`)
      .transform((given) => eventTypes.filter((type) => given.includes(type)))
      .default([...eventTypes]),
    skipEmpty: z.boolean('must be true or false').default(false),
  })

const hours = `must be a whole number from 0 to ${maxOverlapHours}`

export const RotateInput = z.strictObject({
  overlapHours: z.int(hours).min(0, hours).max(maxOverlapHours, hours).default(defaultOverlapHours),
})

export const ReplayInput = z.strictObject({ from: instant, to: instant })
