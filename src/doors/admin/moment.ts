/** An instant in an answer of the admin API: ISO 8601, null where there is none. */
import { toIso } from '#kernel/time.ts'

export const toIsoOrNull = (ms: number | null): string | null => (ms === null ? null : toIso(ms))
