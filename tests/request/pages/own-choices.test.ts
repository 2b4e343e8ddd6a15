/** What people choose for their own pages: a name for a connection, and balances at once. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { ServiceUser } from '#tests/support/service.ts'
import { type Person, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

async function begin() {
  const person = await world.addPerson()
  const [row] = await world.service.link(person as unknown as ServiceUser, 'healthy', 'akahu')
  assert.ok(row !== undefined)
  return { person, row, jar: await world.enter(person) }
}

async function trail({ id }: Person): Promise<string[]> {
  const rows = await world.service.app.store.auditLog.list({ userId: id, after: null, limit: 5 })
  return rows.map(({ action }) => action)
}

test('F11: a connection has the name that its owner gives it, on every page, and programs see the institution', async () => {
  const { person, row, jar } = await begin()
  const path = `/connections/${row.id}`
  const { hidden } = await jar.get(path)
  const label = 'Holiday <b>fund</b> 🌴'
  const saved = await jar.post(path, { token: hidden.token ?? '', label })
  assert.deepEqual([saved.status, saved.location], [303, `${path}?done=named`])
  for (const page of ['/', '/connections', path, '/money', '/simplefin/create', '/activity']) {
    const { text } = await jar.get(page)
    assert.ok(text.includes('Holiday &lt;b&gt;fund&lt;/b&gt; 🌴'), page)
  }
  assert.ok((await jar.get(path)).text.includes(row.institutionName))
  assert.ok((await trail(person)).includes('connections.set-label'))
  const key = await world.service.app.actions.createKey(
    { actor: { kind: 'operator' } },
    person.id,
    { name: 'k' },
  )
  const answer = await world.service.get('/v1/connections', `Bearer ${key.key}`)
  assert.ok(!answer.text.includes('Holiday'))
  const removed = await jar.post(path, { token: hidden.token ?? '', label: '  ' })
  assert.equal(removed.status, 303)
  assert.ok(!(await jar.get('/connections')).text.includes('Holiday'))
})

test('a name that cannot be used is said at its field, and nobody names another person’s connection', async () => {
  const { person, row, jar } = await begin()
  const other = await begin()
  const path = `/connections/${row.id}`
  const { hidden } = await jar.get(path)
  for (const label of ['x'.repeat(61), 'a\u0007b']) {
    const refused = await jar.post(path, { token: hidden.token ?? '', label })
    assert.equal(refused.status, 400)
    assert.match(refused.text, /The name must have at most 60 characters, no control characters/)
  }
  const theirs = `/connections/${other.row.id}`
  const foreign = await jar.post(theirs, { token: hidden.token ?? '', label: 'mine' })
  assert.equal(foreign.location, '/connections?done=gone')
  assert.equal((await world.service.app.store.connections.find(other.row.id))?.label, null)
  assert.ok(!(await trail(person)).includes('connections.set-label'))
})

test('balances are read at once where the person has chosen so, and not for a page that is fetched ahead', async () => {
  const { person, jar } = await begin()
  const asked = () => world.service.sandbox.akahu.requests.length
  const before = asked()
  assert.match((await jar.get('/money')).text, /Show balances/)
  assert.equal(asked(), before)
  const { hidden, text } = await jar.get('/settings')
  assert.match(text, /name="showBalances"/)
  const fields = { token: hidden.token ?? '', choice: 'balances' }
  assert.equal((await jar.post('/settings', { ...fields, showBalances: 'true' })).status, 303)
  assert.ok((await trail(person)).includes('account.set-shows-balances'))
  assert.match((await jar.get('/money')).text, /Read again/)
  assert.ok(asked() > before)
  assert.equal((await jar.post('/settings', fields)).status, 303)
  assert.match((await jar.get('/money')).text, /Show balances/)
})
