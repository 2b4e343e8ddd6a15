/** The query parameters of fetched events (reading R42). */
import { z } from 'zod'
import { eventTypes, syncEventTypes } from './events.ts'

/** The most events of one answer. */
export const maxEventsAtOnce = 100
/** The longest wait for an event, in seconds; the time of a whole request is longer (reading R20c). */
export const maxWaitSeconds = 55
/** The consumer of a request that names none. */
export const defaultConsumer = 'default'
/**
 * Before what names the sight of a caller who sees less (reading R43), at the end of a consumer's name. No
 * name that a request can give has it.
 */
export const sightMark = '@'

/** Characters of a cursor as this service writes it; longer ones are not looked at. */
const maxCursorLength = 100

/** What a request without `types` gets. */
export const defaultTypes = syncEventTypes

const names = eventTypes.join(', ')
const consumerRule = 'must have 1 to 64 letters, digits, dots, hyphens or underscores'

const clamped = (min: number, max: number, problem: string) =>
  z
    .string()
    .regex(/^\d{1,100}$/, problem)
    .transform((text) => Math.min(Number(text), max))
    .pipe(z.int().min(min, problem))

export const cursorText = z
  .string()
  .regex(new RegExp(`^[A-Za-z0-9_-]{1,${maxCursorLength}}$`), 'is not a cursor of this service')

export const eventTypeItems = z
  .array(z.enum(eventTypes, `must be of ${names}`))
  .min(1, `must name at least one of ${names}`)

export const followed = {
  after: cursorText
    .meta({
      description:
        'The cursor after which to go on: `next` of the answer before. It acknowledges everything up to there. Default: what the consumer has not acknowledged and is kept.',
      schema: { type: 'string', minLength: 1, maxLength: maxCursorLength },
    })
    .optional(),
  types: z
    .string()
    .transform((text) => text.split(',').filter((item) => item !== ''))
    .pipe(eventTypeItems)
    .meta({
      description: `Comma-separated event types. Default: ${defaultTypes.join(', ')}.`,
      schema: { type: 'string', minLength: 1 },
    })
    .optional(),
  consumer: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/, consumerRule)
    .default(defaultConsumer)
    .meta({
      description:
        'The name of the consumer: each has acknowledged on its own. At most 20 for each user, and as many for narrow keys that see the same.',
      schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$', default: defaultConsumer },
      example: defaultConsumer,
    }),
  wait: clamped(0, maxWaitSeconds, `must be a whole number from 0 to ${maxWaitSeconds}`)
    .default(0)
    .meta({
      description: `Seconds to wait for the first event where there is none, at most ${maxWaitSeconds}; larger values are clamped.`,
      schema: { type: 'integer', minimum: 0, default: 0 },
      example: 0,
    }),
  limit: clamped(1, maxEventsAtOnce, `must be a whole number from 1 to ${maxEventsAtOnce}`)
    .default(maxEventsAtOnce)
    .meta({
      description: `The most events of one answer, 1 to ${maxEventsAtOnce}; larger values are clamped.`,
      schema: { type: 'integer', minimum: 1, default: maxEventsAtOnce },
      example: maxEventsAtOnce,
    }),
} as const

/** A request for events, read. */
export type EventsQuery = z.output<z.ZodObject<typeof followed>>
