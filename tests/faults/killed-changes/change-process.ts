/**
 * A process that changes a connection and is killed, by itself, at a moment that its caller names: right
 * after the change, once its event is sealed, or right after the event was accepted.
 */
import { openStore } from '#store/open-store.ts'
import type { Store } from '#store/ports/store.ts'
import { addEndpoint } from '#tests/contract/store/event-rows.ts'
import { keyA } from '#tests/contract/store/place.ts'
import { addLink } from '#tests/contract/store/rows.ts'
import { makeConnectionEvents } from '#webhooks/accept-connection-events.ts'

/** When it is killed. */
export type Moment = 'changed' | 'sealed' | 'accepted'

const die = () => process.kill(process.pid, 'SIGKILL')

/** Seals as the store does, then nothing more happens. */
const dyingBefore = (store: Store): Store => ({
  ...store,
  transact: async () => {
    die()
    throw new Error('it was killed')
  },
})

async function run(dataDir: string, moment: Moment): Promise<void> {
  const store = await openStore({
    databaseUrl: null,
    dataDir,
    mode: 'live',
    encryptionKeys: [keyA],
  })
  const { user, connection } = await addLink(store)
  await addEndpoint(store, user.id, { events: ['connection.revoked'] })
  await store.connections.setStatus(connection.id, 'revoked')
  if (moment === 'changed') die()
  const { signal } = new AbortController()
  await makeConnectionEvents(moment === 'sealed' ? dyingBefore(store) : store).run(signal)
  die()
}

const [dataDir = '', moment] = process.argv.slice(2)
await run(dataDir, moment as Moment)
