/** A user's time zone as input, wherever one is given. */
import { z } from 'zod'
import { isZone } from '#kernel/time.ts'

export const timezone = z
  .string('must be text')
  .refine(isZone, 'must be an IANA time zone, e.g. Australia/Sydney or Pacific/Auckland')
