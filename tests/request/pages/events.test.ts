/** The page of consumers: who fetches a person's events, and the removal of one (reading R42). */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { emit } from '../list-events/emitted.ts'
import { startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

const store = () => world.service.app.store
const follow = (userId: string, name: string) =>
  store().consumers.create(
    { userId: userId as never, name, createdAt: world.service.clock.now() },
    { ofSight: 20, inAll: 100 },
  )

test('R42: /events lists consumers with the events that wait, and removes one after asking', async () => {
  const person = await world.addPerson()
  const stranger = await world.addPerson()
  const jar = await world.enter(person)
  assert.match((await jar.get('/events')).text, /No program fetches your events/)
  await follow(person.id, 'books')
  await follow(stranger.id, 'theirs')
  await emit(store(), person.id)
  const page = await jar.get('/events')
  assert.match(page.text, /books/)
  assert.match(page.text, /<td[^>]*>1<\/td>/)
  assert.doesNotMatch(page.text, /theirs/)
  const [consumer] = await store().consumers.list(person.id)
  assert.ok(consumer)
  const path = `/events/${consumer.id}/remove`
  const question = await jar.get(path)
  assert.match(question.text, /1 event waits/)
  const kept = await jar.post(path, { ...question.hidden, decision: 'cancel' })
  assert.equal(kept.location, '/events')
  assert.equal(await store().consumers.count(person.id), 1)
  const removed = await jar.post(path, { ...question.hidden, decision: 'confirm' })
  assert.equal(removed.location, '/events?done=removed')
  assert.equal(await store().consumers.count(person.id), 0)
  const entries = await store().auditLog.list({ userId: person.id, after: null, limit: 10 })
  assert.equal(entries.filter(({ action }) => action === 'consumers.remove').length, 1)
})

test('R42: another person’s consumer does not exist', async () => {
  const person = await world.addPerson()
  const stranger = await world.addPerson()
  await follow(stranger.id, 'theirs')
  const [consumer] = await store().consumers.list(stranger.id)
  const jar = await world.enter(person)
  const page = await jar.get(`/events/${consumer?.id}/remove`)
  assert.equal(page.location, '/events?done=gone')
  assert.equal(await store().consumers.count(stranger.id), 1)
})
