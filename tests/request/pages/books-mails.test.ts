/**
 * The book of mails: each mailed link is one mail and is booked once, with the address of whoever asked for
 * it or used it.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { readAdminAudit } from './book.ts'
import { pathIn, startMailed } from './mailed.ts'
import { password } from './world.ts'

const world = await startMailed()
after(() => world.close())

test('a sign-up, its confirmation and a new password are a mail each where one is sent, and one entry each, also when the link is used again', async () => {
  const email = 'booked@example.test'
  const jar = world.jar()
  const send = async (path: string, fields = {}) =>
    jar.post(path, { ...(await jar.get(path)).hidden, ...fields })
  await send('/sign-up', { name: 'Emma', email, password })
  const { id } = (await world.service.app.store.users.find(email)) ?? assert.fail('nobody')
  const confirm = pathIn(await world.mailTo(email, 1))
  const page = await world.jar().get(confirm)
  assert.equal(page.status, 200)
  const counts = async () => {
    const rows = await readAdminAudit(world, id)
    for (const { address } of rows) assert.equal(address, '127.0.0.1')
    return rows.map(({ action }) => action).sort()
  }
  const made = ['account.signed-in', 'account.signed-up']
  assert.deepEqual(await counts(), made, 'opening the link books nothing')
  const visitor = world.jar()
  const { hidden } = await jar.get(confirm)
  const uses = await Promise.all([1, 2].map(() => jar.post(confirm, hidden)))
  assert.deepEqual(uses.map(({ status }) => status).sort(), [303, 410])
  const confirmed = ['account.confirmed', ...made]
  assert.deepEqual(await counts(), confirmed)
  await send('/forgot-password', { email: 'nobody@example.test' })
  assert.deepEqual(await counts(), confirmed)
  await send('/forgot-password', { email })
  const reset = pathIn(await world.mailTo(email, 2))
  const form = await visitor.get(reset)
  const choose = (newPassword: string) => visitor.post(reset, { ...form.hidden, newPassword })
  assert.equal((await choose('short')).status, 400)
  assert.equal((await choose('another battery staple')).status, 303)
  assert.equal((await choose('another battery staple')).status, 410)
  assert.deepEqual(await counts(), [
    ...['account.asked-for-password', ...confirmed],
    'users.set-password',
  ])
  assert.equal(world.server.received.filter(({ to }) => to.includes(email)).length, 2)
})
