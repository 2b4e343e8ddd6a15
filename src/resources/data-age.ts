/**
 * When institutions last updated what an answer shows (`X-Data-As-Of`, reading R40): the oldest of what is
 * known. Where a provider reports no time, it is read live and nothing is claimed.
 */
import type { Millis } from '#kernel/time.ts'
import { oldestOf } from '#providers/data-age.ts'
import type { Adapter } from '#providers/port.ts'

/** The provider's own time of a connection; null: it reports none. */
export function reportedTime(
  adapter: Pick<Adapter, 'freshness'> | undefined,
  { lastRefreshedAt }: { readonly lastRefreshedAt: Millis | null },
): Millis | null {
  return adapter?.freshness === 'reported' ? lastRefreshedAt : null
}

/** As a part of a result: empty where no time is known. */
export function toAge(times: readonly (Millis | null | undefined)[]): { readonly asOf?: Millis } {
  const asOf = oldestOf(times)
  return asOf === null ? {} : { asOf }
}
