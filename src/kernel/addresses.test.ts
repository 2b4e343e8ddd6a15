import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPublicAddress, toAddressGroup } from './addresses.ts'

const inside = [
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:a9fe:a9fe',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::10.0.0.1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::1',
  '64:ff9b:1::8.8.8.8',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'febf::1',
  'fec0::1',
  'ff02::1',
]

for (const address of inside)
  test(`${address} is not an address of the internet`, () => {
    assert.equal(isPublicAddress(address), false)
  })

for (const address of [
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '223.255.255.255',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
  '64:ff9b::101:101',
  '2606:4700:4700::1111',
  '2a00:1450::1',
  'fbff::1',
])
  test(`${address} is one of the internet`, () => {
    assert.equal(isPublicAddress(address), true)
  })

test('text that is not an address is not public', () => {
  for (const text of ['', 'localhost', '2130706433', '0x7f.1', '0', '127.1', '[::1]', '8.8.8.8 '])
    assert.equal(isPublicAddress(text), false, text)
})

test('a network of 64 bits is one client, and so is an IPv4 address', () => {
  assert.equal(toAddressGroup('203.0.113.7'), '203.0.113.7')
  assert.equal(toAddressGroup('2a00:1450:0:07::1'), toAddressGroup('2A00:1450:0:7:ffff::9'))
  assert.notEqual(toAddressGroup('2a00:1450:0:7::1'), toAddressGroup('2a00:1450:0:8::1'))
  assert.equal(toAddressGroup('fe80::1%eth0'), toAddressGroup('fe80::2'))
  assert.equal(toAddressGroup('unknown'), 'unknown')
})
