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

// Queries are chosen by strangers: few are remembered, and only short ones, so that they fill 8 MB at the very most.
const maxRemembered = 4096
const maxRememberedLength = 1024

/** Makes the key function; it remembers the sorted form of queries seen of late. */
export function makeUrlKey(): UrlKey {
  const sortedQueries = new LRUCache<string, string>({ max: maxRemembered })

  function sorted(rawQuery: string): string {
    if (!rawQuery.includes('&')) return rawQuery
    const known = sortedQueries.get(rawQuery)
    if (known !== undefined) return known
    const text = sortQuery(rawQuery)
    if (rawQuery.length <= maxRememberedLength) sortedQueries.set(rawQuery, text)
    return text
  }

  // With the lengths in front, no text can reach over into its neighbour, whatever characters it holds.
  return (userId, epoch, path, rawQuery) =>
    `${epoch}:${userId.length}:${path.length}:${userId}${path}${sorted(rawQuery)}`
}

/** By code units, not by a language: the same on every machine. */
function sortQuery(rawQuery: string): string {
  return rawQuery.split('&').sort().join('&')
}
