/**
 * Describes where an answer is sent, as text for a person and as a source for a browser's policy. A client's
 * text is shown but not trusted: characters that could disguise it are removed. Pure.
 */

export interface RedirectFacts {
  /** `claude.ai`, `127.0.0.1`, or scheme and host of a private-use scheme: `cursor://host`. */
  readonly host: string
  /** A source for `form-action` of a Content-Security-Policy; empty: there is none that is narrow enough. */
  readonly formAction: string
}

/** Describes a redirect address that the engine has checked. @throws TypeError when it is no URL. */
export function describeRedirect(uri: string): RedirectFacts {
  const url = new URL(uri)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return {
      host: url.host === '' ? url.protocol : `${url.protocol}//${url.host}`,
      formAction: url.protocol,
    }
  const formAction = url.hostname.startsWith('[') ? toPortSource(url) : url.origin
  return { host: url.hostname, formAction }
}

/**
 * The grammar of the policy has no IPv6 addresses (CSP Level 3 §2.3.1): the narrowest source is the port, of
 * any host. Ports 80 and 443 would be most of the web, and applications listen on ports above 1023.
 */
function toPortSource({ protocol, hostname, port }: URL): string {
  const isOfApplication = protocol === 'http:' && hostname === '[::1]' && Number(port) > 1023
  return isOfApplication ? `http://*:${port}` : ''
}

const maxShown = 80

/** A name as a page may show it: one line, no control or direction characters; null when nothing is left. */
export function toShownName(name: string | undefined): string | null {
  const shown = (name ?? '')
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  const letters = [...shown]
  if (letters.length === 0) return null
  return letters.length <= maxShown ? shown : `${letters.slice(0, maxShown - 1).join('')}…`
}
