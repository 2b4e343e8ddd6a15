/**
 * The proxies whose `X-Forwarded-For` is trusted (`TRUST_PROXY`). Only addresses and CIDRs are accepted: trusting
 * everybody would let any caller choose the address that the pre-auth limit counts (reading R6).
 */
import { BlockList, isIP } from 'node:net'

export interface TrustedProxies {
  /** As given, for logs and for libraries that need a list. */
  readonly list: readonly string[]
  /** True for the address of a trusted proxy; an IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) counts as IPv4. */
  includes(address: string): boolean
}

/** Trusts no proxy. */
export const noProxies: TrustedProxies = Object.freeze({
  list: Object.freeze([]),
  includes: () => false,
})

const maxEntries = 256

/** Reads `false` or a comma-separated list of addresses and CIDRs; undefined when an entry is neither. */
export function parseTrustedProxies(text: string): TrustedProxies | undefined {
  if (text === 'false') return noProxies
  const list = text.split(',').map((entry) => entry.trim())
  if (list.length > maxEntries) return undefined
  const trusted = new BlockList()
  for (const entry of list) {
    if (!addEntry(trusted, entry)) return undefined
  }
  return { list, includes: (address) => isListed(trusted, address) }
}

function addEntry(trusted: BlockList, entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/')
  const version = isIP(address)
  // A zone (`fe80::1%eth0`) names an interface, not an address.
  if (version === 0 || rest.length > 0 || address.includes('%')) return false
  const family = version === 4 ? 'ipv4' : 'ipv6'
  if (prefix === undefined) {
    trusted.addAddress(address, family)
    return true
  }
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN
  // A prefix of zero bits would trust every address.
  if (!(bits >= 1 && bits <= (version === 4 ? 32 : 128))) return false
  trusted.addSubnet(address, bits, family)
  return true
}

function isListed(trusted: BlockList, address: string): boolean {
  const version = isIP(address)
  if (version === 0) return false
  return trusted.check(address, version === 4 ? 'ipv4' : 'ipv6')
}
