/**
 * Whether an address leads back to this service. Its own door is no source of data: everything would be
 * counted twice, and again with every further link.
 */
import { networkInterfaces } from 'node:os'
import type { Origins } from '#contract/origins.ts'
import { isLoopbackHost } from '#kernel/addresses.ts'
import type { Config } from '#settings/compose.ts'

/** The public origins under either scheme, and the public listener by any address of this machine. */
export function makeIsOurs(
  { listener }: Pick<Config, 'listener'>,
  origins: () => Origins,
): (url: URL) => boolean {
  return (url) => {
    const own = Object.values(origins()).map((origin) => new URL(origin))
    if (own.some(({ host }) => host === url.host)) return true
    // With port 0 the origin has the one that was bound.
    const port = listener.port === 0 ? portOf(new URL(origins().base)) : listener.port
    return portOf(url) === port && isHere(url.hostname.replace(/^\[|\]$/g, ''), listener.host)
  }
}

const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

function isHere(host: string, listenerHost: string): boolean {
  if (isLoopbackHost(host) || ['0.0.0.0', '::', listenerHost].includes(host)) return true
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  return addresses.some(({ address }) => address === host)
}
