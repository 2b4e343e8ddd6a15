/**
 * The promises of the durable store's port, for every engine alike: one suite, run wherever a store can live. Each
 * part opens a store in a fresh place and closes and removes it at the end.
 */
import { after, before, describe } from 'node:test'
import type { Store } from '#store/port.ts'
import { testAccounts } from './accounts-contract.ts'
import { testChanges } from './changes-contract.ts'
import { testConnections } from './connections-contract.ts'
import { testEpoch } from './epoch-contract.ts'
import { testInspector } from './inspector-contract.ts'
import { testIsolation } from './isolation-contract.ts'
import { testKeys } from './keys-contract.ts'
import { testLogins } from './logins-contract.ts'
import { testOAuth } from './oauth-contract.ts'
import { testOpening } from './opening-contract.ts'
import type { Place } from './place.ts'
import { testSessions } from './sessions-contract.ts'
import { testUsers } from './users-contract.ts'

export type StoreOf = () => Store

const parts: Readonly<Record<string, (store: StoreOf) => void>> = {
  users: testUsers,
  keys: testKeys,
  sessions: testSessions,
  logins: testLogins,
  connections: testConnections,
  accounts: testAccounts,
  oauth: testOAuth,
  epoch: testEpoch,
  changes: testChanges,
  isolation: testIsolation,
}

/** Declares the whole suite for one engine. */
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
    describe('opening', () => testOpening(makePlace))
    describe('inspector', () => testInspector(makePlace))
  })
}
