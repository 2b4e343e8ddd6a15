/** Pages that reload every few seconds while something is in progress, for two minutes at most. */
import { queryOf } from './forms.ts'
import type { SignedInRequest } from './signed-in.ts'

/** Two minutes in all: longer than the requests of one action take. */
const maxReloads = 30
const reloadSeconds = 4

/** True when the page reloads by itself. @param address its own address. */
export function autoRefresh(
  { request, reply }: Pick<SignedInRequest, 'request' | 'reply'>,
  address: string,
): boolean {
  const { look } = queryOf(request)
  const reloads = typeof look === 'string' && /^\d{1,3}$/.test(look) ? Number(look) : 0
  if (reloads >= maxReloads) return false
  const separator = address.includes('?') ? '&' : '?'
  reply.header('refresh', `${reloadSeconds}; url=${address}${separator}look=${reloads + 1}`)
  return true
}
