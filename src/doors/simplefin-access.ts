/**
 * The credentials of the SimpleFIN protocol: a setup token is the base64 of a claim URL, and a claim gives an
 * access URL with a user name and a password in it. Clients take both apart by hand, so each has letters and
 * digits alone.
 */

const claimPath = '/simplefin/claim/'

export const toRootUrl = (base: string) => `${base}/simplefin`

export const toSetupToken = (base: string, secret: string) =>
  Buffer.from(`${base}${claimPath}${secret}`).toString('base64')

export function toAccessUrl(base: string, user: string, password: string): string {
  const url = new URL(toRootUrl(base))
  return `${url.protocol}//${user}:${password}@${url.host}${url.pathname}`
}

/** The secret of a claim path; null: the path is none. */
export function readClaim(path: string): string | null {
  const secret = path.startsWith(claimPath) ? path.slice(claimPath.length) : ''
  return /^[A-Za-z0-9]{1,200}$/.test(secret) ? secret : null
}

/** User and password, as `user:password`; null for another scheme or other characters (RFC 7617). */
export function readBasic(authorization: string | undefined): string | null {
  const encoded = /^basic +([A-Za-z0-9+/=_-]{1,400}) *$/i.exec(authorization ?? '')?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('latin1')
  return /^[A-Za-z0-9]{1,100}:[A-Za-z0-9]{1,100}$/.test(text) ? text : null
}
