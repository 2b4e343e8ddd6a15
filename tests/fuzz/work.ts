/**
 * How many calls to providers one request may cost: the documented caps, and nothing that grows with what an
 * attacker writes into the query string.
 */
import type { FuzzRequest } from './requests.ts'
import { toOriginForm } from './send.ts'
import type { World } from './world.ts'

/** Contract, Limits: pages read when no account is named. */
const pagesUnscoped = 50
/**
 * Of the provider with the smallest pages; with an account named, the cap is counted in them (reading R17).
 */
const rowsPerPage = 100
const defaultLimit = 200
/**
 * A token, the proof that a consent still stands, accounts read anew, and one retry of a reset connection.
 */
const around = 6

/** The most calls that this request may make; 0 for whatever needs no provider. */
export function callCap(world: World, request: FuzzRequest): number {
  if (request.standing === 'refused' || request.standing === 'planless') return 0
  if (request.method !== 'GET') return 0
  const target = toOriginForm(request.target)
  const [path = ''] = target.split('?', 1)
  const accounts = Math.max(
    ...Object.values(world.users).flatMap(({ connections }) =>
      connections.map((connection) => connection.accounts.length),
    ),
  )
  switch (path) {
    case '/v1/balances':
      // One list per login; each bank's may take a few calls.
      return 3 * around
    case '/v1/transactions':
      return pageCap(new URLSearchParams(target.slice(path.length + 1))) + around
    case '/v1/holdings':
      return accounts + around
    case '/v1/trades':
      return accounts * 2 + 6 + around
    default:
      return 0
  }
}

function pageCap(query: URLSearchParams): number {
  if (!query.has('accountId')) return pagesUnscoped
  const rows = [query.get('offset') ?? 0, query.get('limit') ?? defaultLimit].map(Number)
  const [offset = Number.NaN, limit = Number.NaN] = rows
  const pages = Math.ceil((offset + Math.min(limit, 500)) / rowsPerPage) + 1
  // What is no number, or a negative one, is refused before anybody is asked.
  return pages > 0 ? pages : 0
}
