/**
 * The name under which an answer is cached: user, path and the sorted query string (specification, Limits), and the epoch
 * that makes older answers unreachable (reading R10). The query is sorted as raw text: two spellings of one value are two
 * entries, which costs a miss and can never mix up two answers.
 */
import { LRUCache } from 'lru-cache'

/**
 * The cache key of one request. `epoch` is the caller's (it grows when older answers must not be served), `rawQuery` the
 * text after "?" as it came. Equal for any order of the same pairs; different whenever anything else differs.
 */
export type UrlKey = (userId: string, epoch: number, path: string, rawQuery: string) => string

// Queries are chosen by strangers: few are remembered, and only short ones, so that they fill some MB at the very most.
const maxRemembered = 4096
const maxRememberedLength = 1024

interface Made {
  readonly userId: string
  readonly epoch: number
  readonly path: string
  readonly key: string
}

/**
 * Makes the key function. It remembers the latest key of each query: the same text again costs one look-up, and its key,
 * being the same string, finds its entry without being hashed anew.
 */
export function makeUrlKey(): UrlKey {
  const latest = new LRUCache<string, Made>({ max: maxRemembered })
  return (userId, epoch, path, rawQuery) => {
    const known = latest.get(rawQuery)
    if (known?.epoch === epoch && known.userId === userId && known.path === path) return known.key
    const key = toKey(userId, epoch, path, rawQuery)
    if (rawQuery.length <= maxRememberedLength) latest.set(rawQuery, { userId, epoch, path, key })
    return key
  }
}

/** With the lengths in front, no text can reach over into its neighbour, whatever characters it holds. */
function toKey(userId: string, epoch: number, path: string, rawQuery: string): string {
  return `${epoch}:${userId.length}:${path.length}:${userId}${path}${sortQuery(rawQuery)}`
}

/** By code units, not by a language: the same on every machine. */
function sortQuery(rawQuery: string): string {
  return rawQuery.split('&').sort().join('&')
}
