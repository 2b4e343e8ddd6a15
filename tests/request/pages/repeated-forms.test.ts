/** A form that creates something counts as carried out only when it was. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

test('a form that was refused may be sent again when the reason is gone, and then counts once', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { endpoints } = world.service.app.store
  const makeSend = async () => {
    const { hidden } = await jar.get('/webhooks')
    const fields = { ...hidden, url: 'http://127.0.0.1:9/hook', events: 'trades.synced' }
    return () => jar.post('/webhooks', fields)
  }
  for (let made = 0; made < 20; made += 1) await (await makeSend())()
  const send = await makeSend()
  assert.equal((await send()).status, 409)
  const [{ id } = assert.fail()] = await endpoints.list(person.id)
  await endpoints.delete(id)
  assert.match((await send()).location ?? '', /\?done=created$/)
  assert.equal((await send()).location, '/webhooks?done=repeated')
  assert.equal((await endpoints.list(person.id)).length, 20)
})
