/** Where a server listens, and whether other machines can reach it. */
import { isIP } from 'node:net'
import { isLoopbackHost, toAddressGroup } from '#kernel/addresses.ts'

export interface ListenAddress {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Only this machine can reach it. */
  readonly isLoopback: boolean
}

export function toListener(host: string, port: number): ListenAddress {
  return { host, port, isLoopback: isLoopbackHost(host) }
}

/**
 * A host as it is written in a setting, in one form: an IPv6 address without brackets and in its shortest
 * form (RFC 5952), an IPv4 address within one (`::ffff:127.0.0.1`) as IPv4.
 */
export function toHost(given: string): string {
  const bare = given.trim().replace(/^\[(.*)\]$/, '$1')
  // A zone (`fe80::1%eth0`) has no place in a URL.
  if (isIP(bare) !== 6 || bare.includes('%')) return bare
  const group = toAddressGroup(bare)
  return isIP(group) === 4 ? group : new URL(`http://[${bare}]`).hostname.slice(1, -1)
}

/** A host name or an IP address as a setting gives it, in one form; undefined where it is neither. */
export function readHost(given: string): string | undefined {
  const host = toHost(given)
  if (isIP(host) !== 0) return host
  // Digits and dots that are not an IPv4 address are a typing error, not a host name.
  if (/^[\d.]+$/.test(host)) return undefined
  return /^(?!-)[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*$/.test(host) ? host : undefined
}

/**
 * The address at which this machine itself reaches a listener; one on every interface is reached by loopback.
 */
export function toLocalUrl(given: string, port: number | string): string {
  const host = toHost(given)
  const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${isIP(own) === 6 ? `[${own}]` : own}:${port}`
}

/** True when both would bind the same port of the same interface. */
export function isSameListener(one: ListenAddress, other: ListenAddress): boolean {
  if (one.port === 0 || one.port !== other.port) return false
  const names = [one.host, other.host].map((host) => (host === 'localhost' ? '127.0.0.1' : host))
  return names[0] === names[1] || names.some((name) => name === '0.0.0.0' || name === '::')
}
