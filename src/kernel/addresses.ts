/**
 * Decides which IP addresses belong to the public internet or to this machine, and which count as one client.
 * Pure: it resolves and connects nothing. Text that is not an IP address is never public.
 */
import { isIP } from 'node:net'
import { makeAddressList, parseNetwork } from './networks.ts'

/** IANA IPv4 Special-Purpose Address Registry, plus multicast (RFC 5771) and 240/4. */
const ipv4Special = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

/**
 * IANA IPv6 Special-Purpose Address Registry, plus multicast and the deprecated site-local and
 * IPv4-compatible ranges. 2002::/16 and 2001::/23 embed an IPv4 address and can reach any, so both are
 * blocked. 64:ff9b::/96 is not here: `isPublicAddress` judges it by the address inside.
 */
const ipv6Special = [
  '::/96',
  '::ffff:0:0:0/96',
  '64:ff9b:1::/48',
  '100::/64',
  '100:0:0:1::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]

const toList = (ranges: readonly string[]) =>
  makeAddressList(ranges.flatMap((range) => parseNetwork(range) ?? []))

const isSpecial = toList([...ipv4Special, ...ipv6Special])
const isLoopback = toList(['127.0.0.0/8', '::1'])
/** Where a network has no IPv4, DNS64 answers with these, and NAT64 leads them to the IPv4 address inside. */
const isTranslated = toList(['64:ff9b::/96'])

/**
 * True for an address of the public internet. A `::ffff:` address is judged by the IPv4 address inside, and
 * so is one of 64:ff9b::/96 (RFC 6052 §2.1).
 */
export function isPublicAddress(address: string): boolean {
  // A zone (`fe80::1%eth0`) names a network interface of this machine.
  if (isIP(address) === 0 || address.includes('%')) return false
  return !isSpecial(isTranslated(address) ? toIpv4(expand(address)) : address)
}

/** The IPv4 address in the last two groups. */
function toIpv4(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6)
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
}

/**
 * The unit that limits per address count as one client: an IPv4 address, also in its IPv6 form (`::ffff:…`),
 * or the network of an IPv6 customer: 64 bits, or 56 where a provider assigns more than one. Text that is not
 * an address is returned as it is.
 */
export function toAddressGroup(address: string, bits: 56 | 64 = 64): string {
  if (isIP(address) !== 6) return address
  const [plain = ''] = address.split('%')
  const groups = expand(plain)
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return toIpv4(groups)
  }
  const kept = groups.slice(0, 4)
  if (bits === 56) kept[3] = (kept[3] ?? 0) & 0xff00
  return `${kept.map((group) => group.toString(16)).join(':')}::/${bits}`
}

/** The eight groups of an IPv6 address; an IPv4 tail becomes the last two. */
function expand(address: string): number[] {
  const [left = '', right] = toHexTail(address).split('::')
  const head = left === '' ? [] : left.split(':')
  const tail = right === undefined || right === '' ? [] : right.split(':')
  const missing = Math.max(0, 8 - head.length - tail.length)
  return [...head, ...Array<string>(missing).fill('0'), ...tail].map((group) =>
    Number.parseInt(group, 16),
  )
}

/** `…:127.0.0.1` as `…:7f00:1`. */
function toHexTail(address: string): string {
  const cut = address.lastIndexOf(':') + 1
  const parts = address.slice(cut).split('.').map(Number)
  if (parts.length !== 4) return address
  const [a = 0, b = 0, c = 0, d = 0] = parts
  return `${address.slice(0, cut)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

/** True for `localhost`, names below it (RFC 6761 §6.3), 127.0.0.0/8 and ::1. */
export function isLoopbackHost(host: string): boolean {
  return isIP(host) === 0 ? /^(?:.+\.)?localhost$/i.test(host) : isLoopback(host)
}
