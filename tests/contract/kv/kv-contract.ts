/**
 * The contract of every driver of fast state, written once and run on memory and on Redis.
 */
import { after, before, describe, test } from 'node:test'
import { admitTests } from './admit-contract.ts'
import { breakerTests, probeTests } from './breakers-contract.ts'
import { cacheTests } from './cache-contract.ts'
import type { KvHarness } from './harness.ts'
import { leaseTests } from './leases-contract.ts'
import { snapshotTests } from './snapshots-contract.ts'
import { windowProperties, windowTests } from './windows-contract.ts'

/** Registers the suite for one driver. */
export function testKv(name: string, openHarness: () => Promise<KvHarness>): void {
  describe(name, () => {
    let h: KvHarness
    before(async () => {
      h = await openHarness()
    })
    after(() => h.close())

    cacheTests(() => h)
    snapshotTests(() => h)
    windowTests(() => h)
    windowProperties(() => h)
    leaseTests(() => h)
    admitTests(() => h)
    breakerTests(() => h)
    probeTests(() => h)

    test('a ping of a healthy store is answered', () => h.kv.ping())
  })
}
