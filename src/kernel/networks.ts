/**
 * Lists of IP addresses and networks in CIDR notation (RFC 4632, RFC 4291 §2.3). Pure: it resolves nothing.
 */
import { BlockList, isIP } from 'node:net'

export interface Network {
  readonly address: string
  readonly bits: number
  readonly family: 'ipv4' | 'ipv6'
}

/** An address or a network; null for any other text. */
export function parseNetwork(text: string): Network | null {
  const [address = '', prefix, ...rest] = text.split('/')
  const version = isIP(address)
  // A zone (`fe80::1%eth0`) names an interface, not an address.
  if (version === 0 || rest.length > 0 || address.includes('%')) return null
  const family = version === 4 ? 'ipv4' : 'ipv6'
  const most = version === 4 ? 32 : 128
  if (prefix === undefined) return { address, bits: most, family }
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN
  return bits >= 0 && bits <= most ? { address, bits, family } : null
}

/**
 * True for an address of one of these networks; an IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) counts as
 * IPv4. Text that is not an address is in none.
 */
export type IncludesAddress = (address: string) => boolean

/** Tells which addresses are in one of the networks. */
export function makeAddressList(networks: readonly Network[]): IncludesAddress {
  const list = new BlockList()
  for (const { address, bits, family } of networks) list.addSubnet(address, bits, family)
  return (address) => {
    const version = isIP(address)
    if (version === 0) return false
    return list.check(address, version === 4 ? 'ipv4' : 'ipv6')
  }
}
