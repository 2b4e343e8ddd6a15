/** Pages that look again by themselves while a provider is asked: every few seconds, for a while. */
import type { SignedInRequest } from './signed-in.ts'

/** Two minutes in all: longer than the requests of one action take. */
const maxLooks = 30
const lookSeconds = 4

/** True when the page reloads by itself. @param address its own address. */
export function lookAgain(
  { request, reply }: Pick<SignedInRequest, 'request' | 'reply'>,
  address: string,
): boolean {
  const looks = readLooks(request.query)
  if (looks >= maxLooks) return false
  const separator = address.includes('?') ? '&' : '?'
  reply.header('refresh', `${lookSeconds}; url=${address}${separator}look=${looks + 1}`)
  return true
}

function readLooks(query: unknown): number {
  const { look: given }: Readonly<Record<string, unknown>> = { ...(query as object) }
  return typeof given === 'string' && /^\d{1,3}$/.test(given) ? Number(given) : 0
}
