/** A user's time zone as input, wherever one is given. */
import { z } from 'zod'
import { isZone } from '#kernel/time.ts'

export const timezone = z
  .string('must be text')
  .refine(isZone, 'must be an IANA time zone, e.g. Australia/Sydney or Pacific/Auckland')

/** The zone that a browser tells; null where it tells none, or one that is not known here. */
export const ownTimezone = timezone
  .nullish()
  .catch(null)
  .transform((zone) => zone ?? null)
