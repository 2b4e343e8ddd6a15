/**
 * Finished answers from Redis that this process keeps opened, so that they need not cross the socket and be
 * decrypted again. One is used only when Redis says in the same step that its version is still the stored
 * one: expiry, eviction and deletion in Redis count at once. Bounded in bytes; they are money data, so none
 * is held longer than Redis holds it.
 */
import type { Clock } from '#kernel/time.ts'
import { makeMemoryCache } from './memory-cache.ts'
import type { CachedAnswer, OwnedPart } from './port.ts'

export interface KeptAnswer extends CachedAnswer {
  /** The first bytes of the sealed value that it was opened from. */
  readonly version: string
}

export interface KeptAnswers {
  /** What was kept under this cache key; null: nothing. */
  find(key: string): KeptAnswer | null
  /** Returns what is kept: the same bytes, in a buffer of their own. */
  keep(key: string, answer: KeptAnswer, lifeMs: number, owner?: string | OwnedPart): KeptAnswer
  /** Removes those of one owner, or of one part of theirs. */
  forget(owner: string, part: string | null): void
  /** Removes those of one owner; null: all. */
  drop(owner: string | null): void
  close(): void
}

const sweepEveryMs = 30_000
/** Beside the cache in Redis they only save time: a small share of what it may have. */
const share = 1 / 8
const mostBytes = 16 * 1024 * 1024

export function makeKeptAnswers(options: {
  readonly clock: Clock
  readonly maxBytes: number
  readonly maxEntryBytes: number
}): KeptAnswers {
  const { clock, maxEntryBytes } = options
  const maxBytes = Math.floor(Math.min(mostBytes, options.maxBytes * share))
  const answers = makeMemoryCache<KeptAnswer>({ clock, maxBytes, maxEntryBytes })
  const sweeper = setInterval(answers.sweep, sweepEveryMs)
  sweeper.unref()

  function find(key: string): KeptAnswer | null {
    const found = answers.get(key)
    return found.kind === 'hit' ? found.answer : null
  }

  return {
    find,
    keep(key, answer, lifeMs, owner) {
      const isKept = answers.set(key, answer, lifeMs, owner)
      return (isKept ? find(key) : null) ?? answer
    },
    forget: answers.forget,
    drop: answers.remove,
    close() {
      clearInterval(sweeper)
      answers.remove(null)
    },
  }
}
