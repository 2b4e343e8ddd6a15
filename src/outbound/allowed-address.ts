/**
 * Which addresses may be connected to when an untrusted party names them, judged by the URL alone. It
 * connects to nothing and loads no HTTP client: pages and the API ask it too (`guarded-agent.ts` checks what
 * a name resolves to).
 */
import { isIP } from 'node:net'
import { isPublicAddress } from '#kernel/addresses.ts'

/** The address is not allowed; nothing was sent to it. */
export class BlockedAddress extends Error {
  override readonly name = 'BlockedAddress'
}

/**
 * Checks a URL before anything is sent: https, port 443, no credentials, no private address. Returns the
 * problem as a message for the person who entered the URL, or null.
 */
export function findUrlProblem(
  text: string,
  options: { readonly allowPrivate?: boolean } = {},
): string | null {
  const url = URL.parse(text)
  if (url === null) return 'is not a URL'
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password'
  if (options.allowPrivate === true)
    return /^https?:$/.test(url.protocol) ? null : 'must begin with https:// or http://'
  if (url.protocol !== 'https:') return 'must begin with https://'
  if (url.port !== '') return 'must use port 443'
  const literal = toLiteral(url.hostname)
  if (isIP(literal) !== 0 && !isPublicAddress(literal)) return 'must lead to the public internet'
  // RFC 6761 §6.3: these names mean this machine, whatever a resolver answers.
  return /(?:^|\.)localhost\.?$/i.test(url.hostname) ? 'must lead to the public internet' : null
}

function toLiteral(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}
