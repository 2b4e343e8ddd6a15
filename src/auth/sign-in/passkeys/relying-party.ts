/**
 * Under which name and at which addresses passkeys are made and used (WebAuthn, relying party): the host of
 * `BASE_URL`, and every address of ours below that host. Browsers make none for an IP address, nor without
 * https, except on the machine itself, where a service that only this machine reaches has the name localhost.
 */
import type { Origins } from '#contract/origins.ts'

export interface RelyingParty {
  /** The host name that passkeys belong to. */
  readonly id: string
  /** The origins whose pages may use them; the first one is where people find them. */
  readonly origins: readonly [string, ...string[]]
}

const local = 'localhost'
const localAddress = /^(?:127(?:\.\d{1,3}){3}|\[::1\])$/
const address = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[.*\])$/

/** Null: passkeys cannot be used with these addresses. */
export function toRelyingParty({ base, mcp, auth }: Origins): RelyingParty | null {
  const { protocol, hostname, port } = new URL(base)
  if (localAddress.test(hostname) && protocol === 'http:') {
    return { id: local, origins: [`http://${local}${port === '' ? '' : `:${port}`}`] }
  }
  if (address.test(hostname)) return null
  if (protocol !== 'https:' && !isBelow(hostname, local)) return null
  const others = [mcp, auth].filter((origin) => {
    const other = new URL(origin)
    return other.protocol === protocol && isBelow(other.hostname, hostname)
  })
  return { id: hostname, origins: [new URL(base).origin, ...others.filter((one) => one !== base)] }
}

function isBelow(name: string, parent: string): boolean {
  return name === parent || name.endsWith(`.${parent}`)
}

/** Whether a page that was asked for under this `Host` may use passkeys. */
export function isAtHome({ origins }: RelyingParty, host: string | undefined): boolean {
  return origins.some((origin) => new URL(origin).host === host?.toLowerCase())
}
