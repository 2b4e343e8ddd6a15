/**
 * The proxies whose `X-Forwarded-For` is trusted (`TRUST_PROXY`). Only addresses and CIDRs are accepted:
 * trusting everybody would let any caller choose the address that the pre-auth limit counts (reading R6).
 */
import { BlockList } from 'node:net'
import { makeAddressList, type Network, parseNetwork } from '#kernel/networks.ts'

export interface TrustedProxies {
  /** As given, for logs and for libraries that need a list. */
  readonly list: readonly string[]
  /**
   * True for the address of a trusted proxy; an IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) counts as IPv4.
   */
  includes(address: string): boolean
}

export const noProxies: TrustedProxies = Object.freeze({
  list: Object.freeze([]),
  includes: () => false,
})

const maxEntries = 256
/**
 * Whoever trusts more than one of these parts of all addresses trusts everybody, in however many pieces it is
 * given. Public IPv6 addresses (2000::/3) have a part of their own, since less than a hundredth of them is
 * given out to anybody.
 */
const maxShare = { ofFamily: 1 / 16, publicIpv6: 2 ** -16 }
const publicIpv6 = new BlockList()
publicIpv6.addSubnet('2000::', 3, 'ipv6')
const mappedBits = 96
const mapped = new BlockList()
mapped.addSubnet('::ffff:0:0', mappedBits, 'ipv6')

/** Reads `false` or a list of addresses and CIDRs; undefined when one is neither, or all are everybody. */
export function parseTrustedProxies(text: string): TrustedProxies | undefined {
  if (text === 'false') return noProxies
  const list = text.split(',').map((entry) => entry.trim())
  if (list.length > maxEntries) return undefined
  const trusted: Network[] = []
  const shares = { ipv4: 0, ipv6: 0, publicIpv6: 0 }
  for (const entry of list) {
    const subnet = parseNetwork(entry)
    if (subnet === null) return undefined
    const { address, bits, family } = subnet
    trusted.push(subnet)
    shares[family] += 2 ** -bits
    if (family === 'ipv4') continue
    shares.ipv4 += findMappedShare(subnet)
    if (bits < 3 || publicIpv6.check(address, 'ipv6')) shares.publicIpv6 += 2 ** -bits
  }
  if (Math.max(shares.ipv4, shares.ipv6) > maxShare.ofFamily) return undefined
  if (shares.publicIpv6 > maxShare.publicIpv6) return undefined
  return { list, includes: makeAddressList(trusted) }
}

/** An IPv6 subnet with IPv4-mapped addresses trusts these IPv4 addresses too: which part of all. */
function findMappedShare({ address, bits }: Network): number {
  if (bits > mappedBits) return mapped.check(address, 'ipv6') ? 2 ** (mappedBits - bits) : 0
  const alone = new BlockList()
  alone.addSubnet(address, bits, 'ipv6')
  return alone.check('::ffff:0:0', 'ipv6') ? 1 : 0
}
