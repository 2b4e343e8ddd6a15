/** Whom `TRUST_PROXY` may name: some networks, never everybody. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTrustedProxies } from './trusted-proxies.ts'

const eights = (count: number) =>
  Array.from({ length: count }, (_, index) => `${index}.0.0.0/8`).join()

/** All but sixteen of the /8 of IPv4, as the IPv6 addresses that stand for them. */
const mapped = [1, 2, 4, 8].flatMap((step) =>
  Array.from({ length: 16 }, (_, at) => `::ffff:${at * 16 + step}.0.0.0/${104 - Math.log2(step)}`),
)

for (const text of [
  '0.0.0.0/0',
  mapped.join(),
  '::ffff:1.0.0.0/99,::ffff:10.0.0.0/104',
  '0.0.0.0/1,128.0.0.0/1',
  '0.0.0.0/2, 64.0.0.0/2, 128.0.0.0/1',
  eights(256),
  eights(17),
  '::/0',
  '::/1,8000::/1',
  '2000::/3',
  '2000::/4',
  '2001::/16,2400::/12,2600::/12,2800::/12,2a00::/12,2c00::/12',
  '::ffff:0:0/96',
  '::ffff:128.0.0.0/97',
  '::/64',
]) {
  test(`everybody is not trusted, in whatever pieces: ${text.slice(0, 40)}`, () => {
    assert.equal(parseTrustedProxies(text), undefined)
  })
}

test('private networks, those of a cloud, and single addresses are trusted, and nobody else', () => {
  const text =
    '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7,2400:cb00::/32,::ffff:198.51.100.0/120'
  const proxies = parseTrustedProxies(`${text},203.0.113.7,2001:db8::1`)
  const trusted = ['10.1.2.3', 'fd00::1', '198.51.100.9', '203.0.113.7', '2001:db8::1']
  assert.ok(trusted.every((address) => proxies?.includes(address)))
  const others = ['11.1.2.3', '203.0.113.8', '2001:db8::2', '198.51.101.1']
  assert.ok(others.every((address) => proxies?.includes(address) === false))
})
