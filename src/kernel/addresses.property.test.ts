/** Checks which addresses the limits count as one client, and which are public by the IPv4 address inside. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isPublicAddress, toAddressGroup } from './addresses.ts'

const group = fc.integer({ min: 0, max: 0xffff })
const groups = fc.array(group, { minLength: 8, maxLength: 8 })
const ipv4 = fc.tuple(...Array.from({ length: 4 }, () => fc.integer({ min: 0, max: 255 })))

/** One of the spellings of RFC 4291 §2.2: leading zeros, capitals, a run of zeros left out, an IPv4 tail. */
function spell(
  address: readonly number[],
  how: { pad: boolean; big: boolean; short: boolean; dotted: boolean },
) {
  const hex = address.map((one) => one.toString(16).padStart(how.pad ? 4 : 1, '0'))
  const [high = 0, low = 0] = address.slice(6)
  const dotted = [high >> 8, high & 255, low >> 8, low & 255].join('.')
  const texts = how.dotted ? [...hex.slice(0, 6), dotted] : hex
  const whole = texts.join(':')
  const first = address.indexOf(0)
  const isCut = how.short && first >= 0 && first < 6
  const short = isCut
    ? `${texts.slice(0, first).join(':')}::${texts.slice(first + 1).join(':')}`
    : whole
  return how.big ? short.toUpperCase() : short
}
const how = fc.record({
  pad: fc.boolean(),
  big: fc.boolean(),
  short: fc.boolean(),
  dotted: fc.boolean(),
})
const isMapped = (address: readonly number[]) =>
  address.slice(0, 5).every((one) => one === 0) && address[5] === 0xffff

test('two addresses are one client when their first 64 bits are the same, in any spelling', () => {
  fc.assert(
    fc.property(groups, groups, how, how, (one, other, left, right) => {
      const sibling = [...one.slice(0, 4), ...other.slice(4)]
      fc.pre(!isMapped(one) && !isMapped(sibling))
      assert.equal(toAddressGroup(spell(one, left)), toAddressGroup(spell(sibling, right)))
    }),
  )
})

test('two addresses are two clients when their first 64 bits differ anywhere', () => {
  fc.assert(
    fc.property(groups, fc.integer({ min: 0, max: 63 }), how, (one, bit, spelled) => {
      const other = one.map((value, at) => (at === bit >> 4 ? value ^ (1 << (bit & 15)) : value))
      fc.pre(!isMapped(one) && !isMapped(other))
      assert.notEqual(toAddressGroup(spell(one, spelled)), toAddressGroup(spell(other, spelled)))
    }),
  )
})

test('the network of 56 bits is the same when those are, and another when they are not', () => {
  fc.assert(
    fc.property(groups, fc.integer({ min: 0, max: 127 }), how, (one, bit, spelled) => {
      // Bits are numbered from the left here.
      const other = one.map((value, at) =>
        at === bit >> 4 ? value ^ (0x8000 >> (bit & 15)) : value,
      )
      fc.pre(!isMapped(one) && !isMapped(other))
      const same =
        toAddressGroup(spell(one, spelled), 56) === toAddressGroup(spell(other, spelled), 56)
      assert.equal(same, bit >= 56)
    }),
  )
})

test('an IPv4 address is the same client in every IPv6 spelling, and each one is a client of its own', () => {
  fc.assert(
    fc.property(
      ipv4,
      how,
      fc.constantFrom<56 | 64>(56, 64),
      ([a = 0, b = 0, c = 0, d = 0], spelled, bits) => {
        const plain = [a, b, c, d].join('.')
        const mapped = [0, 0, 0, 0, 0, 0xffff, a * 256 + b, c * 256 + d]
        assert.equal(toAddressGroup(spell(mapped, spelled), bits), plain)
        assert.equal(toAddressGroup(plain, bits), plain)
      },
    ),
  )
})

test('an address by which NAT64 leads to an IPv4 address is public when that one is, in any spelling', () => {
  const special = fc.option(fc.constantFrom(10, 127, 169, 172, 192, 198))
  fc.assert(
    fc.property(ipv4, special, how, ([first = 0, b = 0, c = 0, d = 0], other, spelled) => {
      const a = other ?? first
      const plain = isPublicAddress([a, b, c, d].join('.'))
      const tail = [a * 256 + b, c * 256 + d]
      const isPublic = (head: readonly number[]) =>
        isPublicAddress(spell([...head, ...tail], spelled))
      assert.equal(isPublic([0x64, 0xff9b, 0, 0, 0, 0]), plain)
      assert.equal(isPublic([0x64, 0xff9b, 1, 0, 0, 0]), false)
    }),
  )
})
