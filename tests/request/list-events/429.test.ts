/** Its rate limit is exhausted. */
import { promiseLimits } from '../cases/limits.ts'

promiseLimits('list_events')
