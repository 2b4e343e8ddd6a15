/**
 * Calls to providers that limit a whole day, each with its time, so that a restart does not begin their count
 * anew, and processes count together. A name says whose budget it is, without revealing it.
 */
import type { Millis } from '#kernel/time.ts'

export interface ProviderCallStore {
  /** Times of the calls after `since` and not after `until`, the oldest first. */
  list(
    name: string,
    span: { readonly since: Millis; readonly until: Millis },
  ): Promise<readonly Millis[]>
  /**
   * Counts one call at `until` unless `limit` of them are in the span, and returns the times of those that
   * were there before. Calls for one name run one after another.
   */
  count(
    name: string,
    span: { readonly since: Millis; readonly until: Millis; readonly limit: number },
  ): Promise<readonly Millis[]>
  /** Deletes those before `before`, at most `limit`; returns how many. */
  sweep(before: Millis, limit: number): Promise<number>
}
