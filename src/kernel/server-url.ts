/**
 * Reads the URL of a server that we use with a user and a password, as the drivers of PostgreSQL and Redis
 * do. Pure; no part of the text is ever repeated, since a password that is cut up could be in any of them.
 */

export interface ServerUrl {
  readonly url: URL
  /** With the port; empty: a socket of this machine, or a parameter names it. */
  readonly host: string
}

/** Null: it is no URL. */
export function parseServerUrl(text: string): ServerUrl | null {
  const url = URL.parse(text)
  if (url !== null) return { url, host: url.host }
  // libpq and the driver allow a user without a host, the standard does not: postgresql://user@/db?host=/dir.
  const filled = URL.parse(text.replace('@/', '@no-host.invalid/'))
  return filled === null ? null : { url: filled, host: '' }
}

const rule =
  'a URL with user and password percent-encoded: @ is %40, / is %2F, ? is %3F, # is %23, % is %25'

/** What to change where an unencoded password would be split or cannot be decoded; null: nothing. */
export function findUnencoded(text: string): string | null {
  const rest = text.slice(text.indexOf('://') + 3)
  const end = rest.search(/[/?#]/)
  const isCut = end !== -1 && rest.includes('@', end)
  return isCut || rest.includes('#') || !isDecodable(rest) ? rule : null
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch (error) {
    if (error instanceof URIError) return false
    throw error
  }
}
