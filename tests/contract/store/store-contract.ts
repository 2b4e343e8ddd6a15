/**
 * The promises of the durable store's port, for every engine alike, run wherever a store can live. Each part
 * opens a store in a fresh place and closes and removes it at the end.
 */
import { after, before, describe } from 'node:test'
import type { Store } from '#store/ports/store.ts'
import { testAccounts } from './accounts-contract.ts'
import { testAttempts } from './attempts-contract.ts'
import { testAudit, testFormerAudit } from './audit-contract.ts'
import { testChanges } from './changes-contract.ts'
import { testConnectionEvents } from './connection-events-contract.ts'
import { testConnections } from './connections-contract.ts'
import { testConsumers } from './consumers-contract.ts'
import { testDeletion } from './deletion-contract.ts'
import { testDeliveries } from './deliveries-contract.ts'
import { testEndpoints } from './endpoints-contract.ts'
import { testEpoch } from './epoch-contract.ts'
import { testEvents } from './events-contract.ts'
import { testInspector } from './inspector-contract.ts'
import { testIsolation } from './isolation-contract.ts'
import { testKeys } from './keys-contract.ts'
import { testLearntStatus } from './learnt-status-contract.ts'
import { testLedgers } from './ledgers-contract.ts'
import { testLinkings } from './linkings-contract.ts'
import { testLogins } from './logins-contract.ts'
import { testMails } from './mails-contract.ts'
import { testMissed } from './missed-contract.ts'
import { testNarrowKeys } from './narrow-keys-contract.ts'
import { testOAuth } from './oauth-contract.ts'
import { testOpening } from './opening-contract.ts'
import { testPasskeys } from './passkeys-contract.ts'
import type { Place, StoreOf } from './place.ts'
import { testPrograms } from './programs-contract.ts'
import { testProviderCalls } from './provider-calls-contract.ts'
import { testReplays } from './replays-contract.ts'
import { testReportedStatus } from './reported-status-contract.ts'
import { testRiverInspector } from './river-inspector-contract.ts'
import { testRiverOpening } from './river-opening-contract.ts'
import { testRiver } from './river-property.ts'
import { testSecondFactors } from './second-factors-contract.ts'
import { testSessions } from './sessions-contract.ts'
import { testSingleUse } from './single-use-contract.ts'
import { testSyncs } from './syncs-contract.ts'
import { testTransact } from './transact-contract.ts'
import { testTurns } from './turns-contract.ts'
import { testUsage } from './usage-contract.ts'
import { testUsers } from './users-contract.ts'
import { testWaits } from './waits-contract.ts'
import { testWork } from './work-contract.ts'

const parts: Readonly<Record<string, (store: StoreOf) => void>> = {
  users: testUsers,
  usage: testUsage,
  keys: testKeys,
  'narrow keys': testNarrowKeys,
  programs: testPrograms,
  sessions: testSessions,
  secondFactors: testSecondFactors,
  passkeys: testPasskeys,
  linkings: testLinkings,
  logins: testLogins,
  connections: testConnections,
  accounts: testAccounts,
  oauth: testOAuth,
  consumers: testConsumers,
  audit: testAudit,
  transact: testTransact,
  deletion: testDeletion,
  news: testLearntStatus,
  told: testReportedStatus,
  epoch: testEpoch,
  changes: testChanges,
  isolation: testIsolation,
  syncs: testSyncs,
  turns: testTurns,
  ledgers: testLedgers,
  'connection events': testConnectionEvents,
  endpoints: testEndpoints,
  events: testEvents,
  attempts: testAttempts,
  missed: testMissed,
  deliveries: testDeliveries,
  replays: testReplays,
  waits: testWaits,
  'single-use': testSingleUse,
  'provider calls': testProviderCalls,
  work: testWork,
  river: testRiver,
}

/** Declares the promises of a store that is open, for one engine. */
export function storeContract(name: string, makePlace: () => Promise<Place>): void {
  describe(`the durable store on ${name}`, () => {
    for (const [part, declare] of Object.entries(parts)) {
      describe(part, () => {
        let place: Place
        let store: Store
        before(async () => {
          place = await makePlace()
          store = await place.open()
        })
        after(async () => {
          await store?.close()
          await place?.remove()
        })
        declare(() => store)
      })
    }
  })
}

/**
 * Declares what a store promises over several openings, for one engine.
 * @param makeNewPlace where the migrations are what is tested: a place in which nothing has been made.
 */
export function openingsContract(
  name: string,
  makePlace: () => Promise<Place>,
  makeNewPlace: () => Promise<Place>,
): void {
  describe(`openings of the durable store on ${name}`, () => {
    describe('former audit', () => testFormerAudit(makePlace))
    describe('opening', () => testOpening(makeNewPlace))
    describe('event river', () => testRiverOpening(makePlace))
    describe('mails', () => testMails(makePlace))
    describe('inspector', () => testInspector(makePlace))
    describe('inspector of the event river', () => testRiverInspector(makePlace))
  })
}
