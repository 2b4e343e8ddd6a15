/** Requests of a person whose account another page or process deletes while they are under way. */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import type { Jar, PageAnswer } from '#tests/support/jar.ts'
import { type Person, password, startPages } from './world.ts'

const world = await startPages({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
after(() => world.close())

/** The deletion happens once the service has read who sends the request. */
function deleteOnceRead(t: TestContext, { id }: Person, step: 'disarm' | 'delete'): void {
  const { users } = world.service.app.store
  const find = users.find.bind(users)
  const hook = t.mock.method(users, 'find', async (...given: Parameters<typeof find>) => {
    const row = await find(...given)
    if (row?.id === id) {
      hook.mock.restore()
      await users[step](id, world.service.clock.now())
    }
    return row
  })
}

async function addEndpoint(jar: Jar): Promise<string> {
  const { hidden } = await jar.get('/webhooks')
  const url = 'http://127.0.0.1:9/events'
  const made = await jar.post('/webhooks', { ...hidden, url, events: ['transactions.synced'] })
  return /^\/webhooks\/[0-9a-f-]{36}/.exec(made.location ?? '')?.[0] ?? assert.fail(made.text)
}

type Send = (jar: Jar, hidden: Readonly<Record<string, string>>, endpoint: string) => unknown

const forms: Readonly<Record<string, Send>> = {
  'a new key': (jar, hidden) => jar.post('/keys', { ...hidden, name: 'late', expires: '' }),
  'a new endpoint': (jar, hidden) =>
    jar.post('/webhooks', { ...hidden, url: 'http://127.0.0.1:9/', events: 'trades.synced' }),
  'a test event': (jar, hidden, endpoint) => jar.post(`${endpoint}/test`, hidden),
  'a new secret': (jar, hidden, endpoint) =>
    jar.post(`${endpoint}/rotate`, { ...hidden, decision: 'confirm' }),
  'recovery codes': (jar, hidden) => jar.post('/settings/second-factor/codes', hidden),
  'a name': (jar, hidden) => jar.post('/settings', { ...hidden, name: 'Late' }),
  'a password': (jar, hidden) =>
    jar.post('/settings', { ...hidden, password, newPassword: 'staple battery horse' }),
  'a link': (jar, hidden) =>
    jar.post('/connections/new', { ...hidden, provider: 'fiskil', institution: '41' }),
  'a key of their own': (jar, hidden) =>
    jar.post('/connections/new', { ...hidden, provider: 'up', upToken: 'up:yeah:unknown' }),
  'made-up data': (jar, hidden) => jar.post('/welcome/made-up-data', hidden),
  'the other sessions': (jar, hidden) => jar.post('/settings/sessions/end-others', hidden),
}

for (const [what, send] of Object.entries(forms)) {
  test(`303: a form for ${what} leads to the sign-in when the account is deleted meanwhile`, async (t) => {
    const person = await world.addPerson()
    const jar = await world.enter(person)
    const endpoint = await addEndpoint(jar)
    const { hidden } = await jar.get('/settings')
    deleteOnceRead(t, person, 'disarm')
    const answer = (await send(jar, hidden, endpoint)) as PageAnswer
    const next = await jar.get(answer.location ?? '/nowhere')
    assert.equal(answer.status, 303, answer.text)
    const leadsOut =
      answer.location?.startsWith('/sign-in?return=') || next.location?.startsWith('/sign-in?')
    assert.ok(leadsOut, `${answer.location} ${next.location}`)
  })
}

test('303: a form for a forgotten password answers the same when the account is deleted meanwhile', async (t) => {
  const person = await world.addPerson()
  const jar = world.jar()
  const { hidden } = await jar.get('/forgot-password')
  deleteOnceRead(t, person, 'delete')
  const answer = await jar.post('/forgot-password', { ...hidden, email: person.email })
  assert.deepEqual([answer.status, answer.location], [303, '/forgot-password?done=asked'])
})
