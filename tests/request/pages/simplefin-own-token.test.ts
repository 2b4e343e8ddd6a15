/** A setup token of this service's own door, pasted where one of a SimpleFIN server is asked for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPages } from './world.ts'

test('400: a setup token of this service itself is refused at its field, and stays good for a program', async (t) => {
  const world = await startPages()
  t.after(() => world.close())
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const form = await jar.get('/simplefin/create')
  await jar.post('/simplefin/create', { ...form.hidden, name: 'me', all: 'true' })
  const made = await jar.get('/simplefin/create')
  const setupToken = /<output name="secret"[^>]*>([^<]*)/.exec(made.text)?.[1] ?? ''
  assert.notEqual(setupToken, '')
  const page = await jar.get('/connections/new?provider=simplefin')
  const fields = { ...page.hidden, provider: 'simplefin', setupToken }
  const refused = await jar.post('/connections/new', fields)
  assert.equal(refused.status, 400)
  assert.match(refused.text, /This is a setup token of this service itself/)
  const { connections, programs } = world.service.app.store
  assert.deepEqual(await connections.list(person.id), [])
  assert.deepEqual(
    (await programs.list(person.id)).map(({ claimedAt }) => claimedAt),
    [null],
  )
})
