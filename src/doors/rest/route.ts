/**
 * Finds the operation of a request's target. Clients repeat targets, so results are remembered; the query is
 * returned as the same string object, so that lookups by it need not hash it again.
 */
import { LRUCache } from 'lru-cache'
import { type Operation, operations } from '#contract/operations.ts'
import { atMost } from '#kernel/at-most.ts'

export interface Route {
  /** Null for an unknown path or a method other than GET. */
  readonly operation: Operation | null
  /** The text after "?" as received. */
  readonly rawQuery: string
  /** The call leaves out the parameter without which it is deprecated (reading R9). */
  readonly deprecated: boolean
}

// Clients choose the targets: only few and short ones are remembered.
const maxRemembered = 4096
const maxRememberedLength = 1024
const nowhere: Route = { operation: null, rawQuery: '', deprecated: false }

/** Makes the lookup by method and target; paths must match exactly (reading R4). */
export function makeRoutes(): (method: string | undefined, target: string) => Route {
  const paths = new Map(operations.map((operation) => [operation.path, operation]))
  const remembered = new LRUCache<string, Route>(atMost(maxRemembered))

  function find(target: string): Route {
    const cut = target.indexOf('?')
    const path = cut === -1 ? target : target.slice(0, cut)
    const rawQuery = cut === -1 ? '' : target.slice(cut + 1)
    const operation = paths.get(path)
    if (operation === undefined) return nowhere
    const advised = operation.deprecatedWithout
    const deprecated = advised !== undefined && !new URLSearchParams(`?${rawQuery}`).has(advised)
    return { operation, rawQuery, deprecated }
  }

  return (method, target) => {
    if (method !== 'GET') return nowhere
    const known = remembered.get(target)
    if (known !== undefined) return known
    const route = find(target)
    if (route !== nowhere && target.length <= maxRememberedLength) remembered.set(target, route)
    return route
  }
}
