/** Reading R43 on the page of keys: limits are ticked, shown and kept, and a key gets a new secret. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Jar } from '#tests/support/jar.ts'
import { startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

const secretOf = (text: string) => /<output name="secret"[^>]*>([^<]*)<\/output>/.exec(text)?.[1]

async function enter() {
  const person = await world.addPerson()
  const user = { id: person.id, key: '', keyId: '' as never }
  const connections = await world.service.link(user, 'healthy', 'fiskil')
  const accounts = await world.service.accounts(user)
  return { person, connections, accounts, jar: await world.enter(person) }
}

type Fields = Readonly<Record<string, string | readonly string[]>>

async function create(jar: Jar, fields: Fields) {
  const { hidden } = await jar.get('/keys')
  return jar.post('/keys', { ...hidden, name: 'narrow', expires: '', ...fields })
}

const get = (path: string, key = '') => world.service.get(path, `Bearer ${key}`)
const keysOf = ({ id }: { readonly id: Awaited<ReturnType<typeof enter>>['person']['id'] }) =>
  world.service.app.store.keys.list(id)

test('R43: a key with ticked limits sees what was ticked, and the list says so', async () => {
  const { jar, person, accounts } = await enter()
  const [account] = accounts
  assert(account !== undefined)
  const answer = await create(jar, {
    scopes: ['accounts', 'balances'],
    connectionIds: account.connectionId,
    accountIds: account.id,
    addresses: '127.0.0.0/8, ::1',
  })
  assert.equal(answer.status, 303)
  const page = await jar.get('/keys')
  const key = secretOf(page.text)
  assert.match(
    page.text,
    /connections and accounts, balances; 1 connection; 1 account; from 127\.0\.0\.0\/8, ::1/,
  )
  assert.match(page.text, /\/v1\/categories'/)
  const { body } = await get('/v1/accounts', key)
  assert.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    [account.id],
  )
  assert.equal((await get('/v1/transactions', key)).status, 403)
  const [row] = await keysOf(person)
  assert.deepEqual(row?.addresses, ['127.0.0.0/8', '::1'])
})

test('R43: with nothing ticked a key sees everything', async () => {
  const { jar, person } = await enter()
  assert.equal((await create(jar, { addresses: ' ' })).status, 303)
  const [row] = await keysOf(person)
  assert.deepEqual(
    [row?.scopes, row?.connectionIds, row?.accountIds, row?.addresses],
    [null, null, null, null],
  )
  const page = await jar.get('/keys')
  assert.match(page.text, /data-label="Sees">everything</)
  assert.equal((await get('/v1/connections', secretOf(page.text))).status, 200)
})

test('R43: a wrong address stands beside its field, and what was ticked stays ticked', async () => {
  const { jar, person, accounts } = await enter()
  const id = accounts[0]?.id ?? ''
  const answer = await create(jar, { accountIds: id, scopes: 'trades', addresses: 'home' })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /id="addresses-problem">Each address must be an IP address/)
  assert.match(answer.text, /<details open>/)
  assert.ok(answer.text.includes(`name="accountIds" value="${id}" checked`))
  assert.match(answer.text, /name="scopes" value="trades" checked/)
  assert.match(answer.text, /value="home"/)
  assert.deepEqual(await keysOf(person), [])
})

test('R43: an account outside of the chosen connections, or of somebody else, is refused beside the boxes', async () => {
  const { jar, connections, accounts } = await enter()
  const stranger = await enter()
  const foreign = stranger.accounts[0]?.id ?? ''
  const refused = await create(jar, { accountIds: foreign })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /id="accountIds-problem" class="problem">The choice/)
  const [one] = connections
  const outside = accounts.find(({ connectionId }) => connectionId !== one?.id)
  assert(outside !== undefined)
  const other = await create(jar, { connectionIds: one?.id ?? '', accountIds: outside.id })
  assert.match(other.text, /is on none of the chosen connections/)
})

test('R43: a new secret is shown once, and the former one stays good for as long as was chosen', async () => {
  const { jar, person } = await enter()
  await create(jar, {})
  const former = secretOf((await jar.get('/keys')).text)
  const [row] = await keysOf(person)
  const path = `/keys/${row?.id}/rotate`
  const { hidden, text } = await jar.get(path)
  assert.match(text, /<option value="24" selected>/)
  assert.equal((await jar.post(path, { ...hidden, decision: 'cancel' })).location, '/keys')
  const again = await jar.get(path)
  const answer = await jar.post(path, { ...again.hidden, overlapHours: '1', decision: 'confirm' })
  assert.equal(answer.location, '/keys')
  const page = await jar.get('/keys')
  const fresh = secretOf(page.text)
  assert.ok(fresh !== undefined && fresh !== former)
  assert.match(page.text, /Its former secret:/)
  assert.equal(secretOf((await jar.get('/keys')).text), undefined)
  const statuses = async () => [
    (await get('/v1/categories', former)).status,
    (await get('/v1/categories', fresh)).status,
  ]
  assert.deepEqual(await statuses(), [200, 200])
  world.service.clock.advance(3_600_000)
  assert.deepEqual(await statuses(), [401, 200])
})

test('R43: somebody else’s key and one that has ended get no new secret', async () => {
  const [mine, theirs] = [await enter(), await enter()]
  await create(theirs.jar, {})
  const [row] = await keysOf(theirs.person)
  const path = `/keys/${row?.id}/rotate`
  assert.equal((await mine.jar.get(path)).location, '/keys?done=gone')
  const { hidden } = await mine.jar.get('/keys')
  const answer = await mine.jar.post(path, { ...hidden, decision: 'confirm' })
  assert.equal(answer.location, '/keys?done=gone')
  assert.equal((await keysOf(theirs.person))[0]?.prefix, row?.prefix)
})
