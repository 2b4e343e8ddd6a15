/** Decisions that must not count: of another request than the page's, and of a session that has ended. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { authorize, Jar, makePkce, registerClient, send, sendForm } from './dance.ts'
import { startWorld } from './world.ts'

const { challenge } = makePkce()

test('the page of one request does not decide another one that this browser made since', async (t) => {
  const world = await startWorld()
  t.after(() => world.close())
  const clientId = await registerClient(world)
  const jar = new Jar()
  const first = await authorize(world, { clientId, challenge }, jar)
  const second = await authorize(world, { clientId, challenge }, jar)
  jar.set('person', await world.addPerson())
  const cookies = jar.header(world.url + String(second.headers.location))
  const [former, present] = [first, second].map(({ headers }) => world.url + headers.location)
  const fields = { scope: 'mcp:read', decision: 'allow' }
  assert.equal((await send(String(former), { headers: cookies })).status, 410)
  assert.equal((await sendForm(String(former), fields, cookies)).status, 410)
  assert.equal((await sendForm(String(present), fields, cookies)).status, 303)
})

test('a decision of a session that has ended leaves no grant', async (t) => {
  const world = await startWorld()
  t.after(() => world.close())
  const clientId = await registerClient(world)
  const jar = new Jar()
  const asked = await authorize(world, { clientId, challenge }, jar)
  const person = await world.addPerson()
  jar.set('person', person)
  // A session of the former password cannot begin any more.
  await world.store.sessions.setPassword(person, 'new')
  const url = world.url + String(asked.headers.location)
  const decided = await sendForm(url, { scope: 'mcp:read', decision: 'allow' }, jar.header(url))
  assert.equal(decided.status, 409)
  const db = new DatabaseSync(join(world.dataDir, 'tributary.db'), { readOnly: true })
  const { count } = db.prepare('select count(*) as count from oauth_grants').get() ?? {}
  db.close()
  assert.equal(count, 0)
})
