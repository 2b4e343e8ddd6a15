/**
 * The service with two users, and a door beside it: every request to it accepts one event of the first user,
 * and is answered when that is stored. Argument: the facts of `hit-provider.ts` as JSON.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makeEvent } from './deliver-messages.ts'
import { addPerson, startMeasured } from './measured.ts'
import { serveChild } from './serve.ts'

const { port, key, app, userId } = await startMeasured(JSON.parse(process.argv[2] ?? '{}'))
const [connection] = await app.store.connections.list(userId)
if (connection === undefined) throw new Error('there is no connection')
const { id } = connection
const { key: otherKey } = await addPerson(app, 'other@example.test', [])
const door = createServer(async (_asked, response) => {
  const sealed = await app.store.events.seal([makeEvent(userId, id, { rows: 1 })])
  await app.store.transact((tx) => tx.events.accept(sealed))
  response.end()
})
door.listen(0, '127.0.0.1', () => {
  serveChild({ port, key, otherKey, doorPort: (door.address() as AddressInfo).port })
})
