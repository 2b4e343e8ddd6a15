/** All ways to break a promise of the contract that the conformance kit checks. */
import { dates } from './dates.ts'
import { description } from './description.ts'
import { errors } from './errors.ts'
import { headers } from './headers.ts'
import { limits } from './limits.ts'
import type { Broken } from './mutation.ts'
import { paging } from './paging.ts'
import { shapes } from './shapes.ts'

export const brokenPromises: readonly Broken[] = [
  ...description,
  ...shapes,
  ...errors,
  ...dates,
  ...limits,
  ...paging,
  ...headers,
]
