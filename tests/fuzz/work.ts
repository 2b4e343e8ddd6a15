/**
 * How many calls to providers one request may cost: the documented caps, and nothing that grows with what a stranger
 * writes into the query string.
 */
import type { FuzzRequest } from './requests.ts'
import { toOriginForm } from './send.ts'
import type { World } from './world.ts'

/** Specification, Limits: pages read when no account is named; a scoped request may read as far as its offset. */
const pagesUnscoped = 50
/** The longest history in the sandbox has 5,400 rows: 54 pages of the smallest size, and one that is empty. */
const pagesOfAll = 55
/** A token, the proof that a consent still stands, accounts read anew, and one retry of a reset connection. */
const around = 6

/** The most calls that this request may make; 0 for whatever needs no provider. */
export function callCap(world: World, request: FuzzRequest): number {
  if (request.standing === 'refused' || request.standing === 'planless') return 0
  if (request.method !== 'GET') return 0
  const [path] = toOriginForm(request.target).split('?', 1)
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
      return Math.max(pagesUnscoped, pagesOfAll) + around
    case '/v1/holdings':
      return accounts + around
    case '/v1/trades':
      return accounts * 2 + 6 + around
    default:
      return 0
  }
}
