/**
 * Which IP addresses belong to the public internet, and which addresses count as one client. Pure: nothing is resolved
 * or connected here. What is not an IP address is never public.
 */
import { BlockList, isIP } from 'node:net'

/** IANA IPv4 Special-Purpose Address Registry, multicast (RFC 5771) and 240/4 added. */
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
 * IANA IPv6 Special-Purpose Address Registry, multicast and the deprecated site-local and IPv4-compatible ranges added.
 * Ranges that carry an IPv4 address inside (64:ff9b::/96, 2002::/16, 2001::/23) could lead anywhere and are all blocked.
 */
const ipv6Special = [
  '::/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
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

const special = makeList()

function makeList(): BlockList {
  const list = new BlockList()
  for (const [family, ranges] of [['ipv4', ipv4Special] as const, ['ipv6', ipv6Special] as const]) {
    for (const range of ranges) {
      const [network = '', bits = ''] = range.split('/')
      list.addSubnet(network, Number(bits), family)
    }
  }
  return list
}

/** True for an address that anybody on the internet may have; `::ffff:` forms are judged by the IPv4 inside. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  // A zone (`fe80::1%eth0`) is a link of this machine.
  if (version === 0 || address.includes('%')) return false
  return !special.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** What limits per address count as one client: an IPv4 address, or an IPv6 customer's network of 64 bits. */
export function toAddressGroup(address: string): string {
  if (isIP(address) !== 6) return address
  const [plain = ''] = address.split('%')
  const groups = expand(plain)
  return `${groups.slice(0, 4).join(':')}::/64`
}

/** The eight groups of an IPv6 address, without leading zeros. An IPv4 tail counts as two, which nobody reads. */
function expand(address: string): readonly string[] {
  const [left = '', right] = address.toLowerCase().split('::')
  const head = left === '' ? [] : left.split(':')
  const tail = right === undefined || right === '' ? [] : right.split(':')
  const missing = right === undefined ? 0 : Math.max(0, 8 - head.length - tail.length)
  const groups = [...head, ...Array<string>(missing).fill('0'), ...tail]
  return groups.map((group) => group.replace(/^0+(?=.)/, ''))
}
