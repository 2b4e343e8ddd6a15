/**
 * The key under which an answer is cached: user, path and the sorted query string (contract, Limits), the
 * epoch, whose increments make older answers unreachable (reading R10), and what a narrow caller may see
 * (reading R43). The query is sorted as raw text: two spellings of one value are two entries, which costs a
 * cache miss and can never mix up two answers.
 */
import { LRUCache } from 'lru-cache'
import type { Caller } from '#auth/caller.ts'
import { atMost } from '#kernel/at-most.ts'

/** Whose answers they are: the epoch grows when older ones must not be served. */
export type AnswerOwner = Pick<Caller, 'epoch' | 'reach'> & { readonly userId: string }

/**
 * The cache key of one request; `rawQuery` is the text after "?" as received. Equal for any order of the same
 * pairs; different whenever anything else differs.
 */
export type UrlKey = (owner: AnswerOwner, path: string, rawQuery: string) => string

// Clients choose the queries: only few and short ones are remembered, so that they take a few MB at most.
const maxRemembered = 4096
const maxRememberedLength = 1024

interface Made {
  readonly userId: string
  readonly epoch: number
  /** The name of what the caller may see; undefined: everything. */
  readonly reach: string | undefined
  readonly path: string
  readonly key: string
}

/**
 * Makes the key function. It remembers the latest key of each query: for a repeated query it returns the same
 * string object, whose hash the engine has already computed.
 */
export function makeUrlKey(): UrlKey {
  const latest = new LRUCache<string, Made>(atMost(maxRemembered))
  return (owner, path, rawQuery) => {
    const { userId, epoch } = owner
    const reach = owner.reach?.name
    const known = latest.get(rawQuery)
    if (
      known?.epoch === epoch &&
      known.userId === userId &&
      known.path === path &&
      known.reach === reach
    ) {
      return known.key
    }
    const key = toKey(owner, path, rawQuery)
    if (rawQuery.length <= maxRememberedLength) {
      latest.set(rawQuery, { userId, epoch, reach, path, key })
    }
    return key
  }
}

/**
 * Lengths come before texts, so that two different sets of parts never give the same text, whatever
 * characters they contain. The user is in braces, so that a shared store keeps the user's windows and answers
 * together (`src/fast/port.ts`).
 */
function toKey({ userId, epoch, reach }: AnswerOwner, path: string, rawQuery: string): string {
  const owner = `${userId.length}:{${userId}}`
  const seen = reach === undefined ? '' : `~${reach.name.length}:${reach.name}`
  return `${owner}${epoch}${seen}:${path.length}:${path}${sortQuery(rawQuery)}`
}

/** Compares by code units and not by a locale, so that every machine has the same order. */
function sortQuery(rawQuery: string): string {
  return rawQuery.split('&').sort().join('&')
}
