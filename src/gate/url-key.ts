/**
 * The key under which an answer is cached: user, path and the sorted query string (contract, Limits), and the
 * epoch, whose increments make older answers unreachable (reading R10). The query is sorted as raw text: two
 * spellings of one value are two entries, which costs a cache miss and can never mix up two answers.
 */
import { makeRecent } from '#kernel/recent.ts'

/**
 * The cache key of one request. `epoch` is the caller's (it grows when older answers must not be served),
 * `rawQuery` the text after "?" as received. Equal for any order of the same pairs; different whenever
 * anything else differs.
 */
export type UrlKey = (userId: string, epoch: number, path: string, rawQuery: string) => string

// Clients choose the queries: only few and short ones are remembered, so that they take a few MB at most.
const maxRemembered = 4096
const maxRememberedLength = 1024

interface Made {
  readonly userId: string
  readonly epoch: number
  readonly path: string
  readonly key: string
}

/**
 * Makes the key function. It remembers the latest key of each query: for a repeated query it returns the same
 * string object, whose hash the engine has already computed.
 */
export function makeUrlKey(): UrlKey {
  const latest = makeRecent<Made>(maxRemembered)
  return (userId, epoch, path, rawQuery) => {
    const known = latest.get(rawQuery)
    if (known?.epoch === epoch && known.userId === userId && known.path === path) return known.key
    const key = toKey(userId, epoch, path, rawQuery)
    if (rawQuery.length <= maxRememberedLength) latest.set(rawQuery, { userId, epoch, path, key })
    return key
  }
}

/**
 * Lengths come before texts, so that two different sets of parts never give the same text, whatever
 * characters they contain. The user is in braces, so that a shared store keeps the user's windows and answers
 * together (`src/fast/port.ts`).
 */
function toKey(userId: string, epoch: number, path: string, rawQuery: string): string {
  const owner = `${userId.length}:{${userId}}`
  return `${owner}${epoch}:${path.length}:${path}${sortQuery(rawQuery)}`
}

/** Compares by code units and not by a locale, so that every machine has the same order. */
function sortQuery(rawQuery: string): string {
  return rawQuery.split('&').sort().join('&')
}
