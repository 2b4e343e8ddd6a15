/** The input of the actions on endpoints, by schema. */
import { z } from 'zod'
import { eventTypes, syncEventTypes } from '#contract/events.ts'
import { instant, oneOf } from '#contract/input.ts'
import { findUrlProblem } from '#outbound/allowed-address.ts'

const maxUrlLength = 2048
const defaultOverlapHours = 24
const maxOverlapHours = 168

/** The URL as the parser writes it: what is listed is what is dialled. */
const url = (allowPrivate: boolean) =>
  z
    .string('must be text')
    .trim()
    .max(maxUrlLength, `must have at most ${maxUrlLength} characters`)
    .transform((text, context) => {
      const problem = findTextProblem(text) ?? findPlaceProblem(text, allowPrivate)
      if (problem === null) return new URL(text).href
      context.addIssue(problem)
      return z.NEVER
    })
    // As it is sent: a letter beyond ASCII takes up to twelve characters.
    .pipe(z.string().max(maxUrlLength, `must have at most ${maxUrlLength} characters when encoded`))

function findTextProblem(text: string): string | null {
  // A URL parser removes line ends without an error.
  if (/[\s\p{Cc}\p{Cs}]/u.test(text)) return 'must not hold blanks or control characters'
  // It would never be sent.
  return text.includes('#') ? 'must not hold a fragment (#)' : null
}

function findPlaceProblem(text: string, allowPrivate: boolean): string | null {
  const problem = findUrlProblem(text, { allowPrivate })
  if (problem === null || allowPrivate) return problem
  const setting = '; the operator may allow private addresses with WEBHOOK_ALLOW_PRIVATE'
  return findUrlProblem(text, { allowPrivate: true }) === null ? `${problem}${setting}` : problem
}

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
      .default([...syncEventTypes]),
    skipEmpty: z.boolean('must be true or false').default(false),
    pending: z.boolean('must be true or false').default(false),
  })

const hours = `must be a whole number from 0 to ${maxOverlapHours}`

export const RotateInput = z.strictObject({
  overlapHours: z.int(hours).min(0, hours).max(maxOverlapHours, hours).default(defaultOverlapHours),
})

export const ReplayInput = z.strictObject({ from: instant, to: instant })
