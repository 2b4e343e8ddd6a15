/**
 * Checks the address of a provider's page before a browser is sent there: what a provider answers is not
 * trusted with more than a page on the web.
 */

const maxLength = 4_096
/** The emulators of the sandbox, and nothing that other machines could reach. */
const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost'])

/**
 * The address of an `https` page, or of an `http` one on this machine; null for anything else: another
 * scheme, user-info, blanks and line ends (which URL parsers drop), or more than 4,096 characters.
 */
export function readPageAddress(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > maxLength || !/^[\x21-\x7e]+$/.test(text))
    return null
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '') return null
  const isAllowed =
    url.protocol === 'https:' || (url.protocol === 'http:' && loopback.has(url.hostname))
  return isAllowed ? url.href : null
}
