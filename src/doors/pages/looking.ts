/** Pages that look again by themselves while a provider is asked: every few seconds, for a while. */
import { queryOf } from './forms.ts'
import type { SignedInRequest } from './signed-in.ts'

/** Two minutes in all: longer than the requests of one action take. */
const maxLooks = 30
const lookSeconds = 4

/** True when the page reloads by itself. @param address its own address. */
export function lookAgain(
  { request, reply }: Pick<SignedInRequest, 'request' | 'reply'>,
  address: string,
): boolean {
  const { look } = queryOf(request)
  const looks = typeof look === 'string' && /^\d{1,3}$/.test(look) ? Number(look) : 0
  if (looks >= maxLooks) return false
  const separator = address.includes('?') ? '&' : '?'
  reply.header('refresh', `${lookSeconds}; url=${address}${separator}look=${looks + 1}`)
  return true
}
