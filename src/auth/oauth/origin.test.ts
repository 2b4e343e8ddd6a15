/** Which requests count as one origin, and which as one network. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toAddressGroup } from '#kernel/addresses.ts'
import { networkBytes } from '#store/ports/oauth.ts'
import { toOriginDigest } from './origin.ts'

const secret = new Uint8Array(32).fill(3)

const originOf = (address: string) => Buffer.from(toOriginDigest(toAddressGroup(address), secret))
const networkOf = (address: string) => originOf(address).subarray(0, networkBytes)

test('addresses of one /64 are one origin, and those of one /56 one network', () => {
  const [one, same] = ['2001:db8:0:1200::1', '2001:db8:0:1200:ffff::2'].map(originOf)
  assert.deepEqual(one, same)
  assert.notDeepEqual(originOf('2001:db8:0:12ff::1'), one)
  assert.deepEqual(networkOf('2001:db8:0:12ff::1'), networkOf('2001:db8:0:1200::1'))
  assert.notDeepEqual(networkOf('2001:db8:0:1300::1'), networkOf('2001:db8:0:1200::1'))
})

test('an IPv4 address is a network of its own, and unlike under another secret', () => {
  assert.notDeepEqual(networkOf('203.0.113.9'), networkOf('203.0.113.10'))
  assert.deepEqual(originOf('::ffff:203.0.113.9'), originOf('203.0.113.9'))
  const other = toOriginDigest('203.0.113.9', new Uint8Array(32).fill(4))
  assert.notDeepEqual(Buffer.from(other), originOf('203.0.113.9'))
  assert.equal(other.byteLength, 2 * networkBytes)
})
