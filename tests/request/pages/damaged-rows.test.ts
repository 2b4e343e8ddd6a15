/**
 * A row whose sealed part cannot be decrypted, or with a time or a status that is none: the pages of its
 * person are shown all the same.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { request } from 'undici'
import { post, rpc, toolCall } from '#tests/support/agent.ts'
import type { Jar } from '#tests/support/jar.ts'
import { emit } from '../list-events/emitted.ts'
import { connectAgent, type Person, startPages } from './world.ts'

const world = await startPages({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
after(() => world?.close())

/** Statements that damage one person's rows, with the id of the person. */
const damages: Readonly<Record<string, string>> = {
  'the address of an endpoint':
    'update webhook_endpoints set sealed_url = zeroblob(64) where user_id = ?',
  'the secret of an endpoint':
    'update webhook_endpoints set secret = zeroblob(64) where user_id = ?',
  'the secret of a login': 'update logins set secret = zeroblob(64) where user_id = ?',
  'the grant of an agent': 'update oauth_grants set payload = zeroblob(64) where user_id = ?',
  'what the list of agents shows': `update oauth_rows set payload = zeroblob(64) where model = 'Agent'
    and grant_id in (select id from oauth_grants where user_id = ?)`,
  'the secret of a second factor':
    'update second_factors set secret = zeroblob(64) where user_id = ?',
  'the status of a connection': "update connections set status = 'unheard of' where user_id = ?",
  'the times of a connection': `update connections set created_at = 'yesterday',
    last_refreshed_at = '99999-01-01', consent_expires_at = '' where user_id = ?`,
  'the times of its syncs': `update syncs set due_at = 'soon', rows_read_at = 'never'
    where connection_id in (select id from connections where user_id = ?)`,
  'the health of an endpoint': "update webhook_endpoints set health = '' where user_id = ?",
  'the time of an endpoint': "update webhook_endpoints set created_at = '?' where user_id = ?",
  'the times of a key': `update api_keys set created_at = 'then', last_used_at = 'now'
    where user_id = ?`,
  'the times of an agent': `update oauth_grants set created_at = 'then', last_used_at = 'now'
    where user_id = ?`,
  'the times of what was done': "update audit set at = '2026-13-45T00:00:00Z' where user_id = ?",
  'the times of the person': `update users set created_at = 'once', email_confirmed_at = 'later'
    where id = ?`,
}

async function settle(): Promise<{ person: Person; jar: Jar; endpoint: string }> {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  await connectAgent(world.service, jar, { name: 'Claude' })
  const { hidden } = await jar.get('/keys')
  await jar.post('/keys', { ...hidden, name: 'laptop', expires: '' })
  const url = 'http://127.0.0.1:9/events'
  await jar.post('/webhooks', { ...hidden, url, events: ['transactions.synced'] })
  await jar.post('/welcome/made-up-data', hidden)
  const { store } = world.service.app
  const hash = new Uint8Array(32)
  const [secret, at] = [new Uint8Array(20), world.service.clock.now()]
  await store.secondFactors.create({ userId: person.id, secret, at, step: 1, codeHashes: [hash] })
  const [endpoint] = await store.endpoints.list(person.id)
  return { person, jar, endpoint: endpoint?.id ?? '' }
}

function damage(statement: string, { id }: Pick<Person, 'id'>): void {
  const db = new DatabaseSync(join(world.service.dataDir, 'sandbox/tributary.db'))
  const { changes } = db.prepare(statement).run(id)
  db.close()
  assert.ok(Number(changes) > 0)
}

for (const [what, statement] of Object.entries(damages)) {
  test(`F15: every page is shown with one damaged row: ${what}`, async () => {
    const { person, jar, endpoint } = await settle()
    damage(statement, person)
    const [connection] = await world.service.app.store.connections.list(person.id)
    const paths = [
      ...['/', '/connections', `/connections/${connection?.id}`, '/connections/new', '/keys'],
      ...['/webhooks', `/webhooks/${endpoint}`, `/webhooks/${endpoint}/remove`, '/agents'],
      ...['/usage', '/activity', '/settings', '/settings/second-factor', '/settings/delete'],
      ...['/money', '/events', '/plan', '/activity/download', '/settings/download'],
    ]
    for (const path of paths) assert.equal((await jar.get(path)).status, 200, path)
  })
}

test('a connection whose status cannot be read is to be reconnected, and a key whose end cannot be read has ended', async () => {
  const { service } = world
  const user = await service.createUser()
  await service.link(user, 'healthy')
  damage("update connections set status = 'unheard of' where user_id = ?", user)
  const { data } = (await service.get('/v1/connections', user)).body
  const statuses = new Set(data.map(({ status }: { status: string }) => status))
  assert.deepEqual([...statuses], ['invalidated'])
  damage("update api_keys set expires_at = 'tomorrow' where user_id = ?", user)
  service.clock.advance(61_000)
  assert.equal((await service.get('/v1/connections', user)).status, 401)
})

test('a delivery whose payload cannot be decrypted is shown and says so', async () => {
  const { person, jar, endpoint } = await settle()
  await emit(world.service.app.store, person.id)
  const list = await jar.get(`/webhooks/${endpoint}`)
  const [path = ''] = /\/webhooks\/[\w-]{36}\/deliveries\/[\w-]{36}/.exec(list.text) ?? []
  assert.match((await jar.get(path)).text, /Decrypted for you/)
  damage('update events set payload = zeroblob(64) where user_id = ?', person)
  const page = await jar.get(path)
  assert.equal(page.status, 200)
  assert.match(page.text, /It cannot be decrypted\./)
})

test('the page of an endpoint whose address cannot be decrypted says what helps and offers nothing that does not', async () => {
  const { person, jar, endpoint } = await settle()
  const path = `/webhooks/${endpoint}`
  damage('update webhook_endpoints set sealed_url = zeroblob(64) where user_id = ?', person)
  const { text, hidden } = await jar.get(path)
  assert.match(text, /remove it and add it again/)
  assert.doesNotMatch(text, /\/(?:rotate|test)"/)
  const refused = await jar.post(`${path}/rotate`, { ...hidden, decision: 'confirm' })
  assert.equal(refused.status, 400)
  await jar.post(`${path}/remove`, { ...hidden, decision: 'confirm' })
  assert.deepEqual(await world.service.app.store.endpoints.list(person.id), [])
})

test('a secret that cannot be decrypted is replaced, and the page does not claim that it still signs', async () => {
  const { person, jar, endpoint } = await settle()
  const path = `/webhooks/${endpoint}`
  damage('update webhook_endpoints set secret = zeroblob(64) where user_id = ?', person)
  const { hidden } = await jar.get(path)
  const answer = await jar.post(`${path}/rotate`, { ...hidden, decision: 'confirm' })
  assert.equal(answer.location, `${path}?done=replaced`)
})

test('an agent whose facts cannot be decrypted is listed and can be disconnected', async () => {
  const { person, jar } = await settle()
  damage(damages['what the list of agents shows'] ?? '', person)
  const page = await jar.get('/agents')
  assert.match(page.text, /An agent whose name cannot be decrypted/)
  const { grant = '' } = page.hidden
  const question = await jar.get(`/agents/disconnect?grant=${encodeURIComponent(grant)}`)
  const form = { ...question.hidden, decision: 'confirm' }
  const other = await world.enter(await world.addPerson())
  const { hidden } = await other.get('/agents')
  const refused = await other.post('/agents/disconnect', { ...hidden, grant, decision: 'confirm' })
  assert.equal(refused.location, '/agents?done=gone')
  assert.equal((await jar.post('/agents/disconnect', form)).location, '/agents?done=disconnected')
  assert.match((await jar.get('/agents')).text, /No agent is connected/)
})

test('an agent whose token is damaged gets 401, and is disconnected even if its grant is damaged', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { access_token: token } = await connectAgent(world.service, jar, { name: 'Claude' })
  const ping = () => post(world.service, rpc('ping'), { as: `Bearer ${token}` })
  assert.equal((await ping()).status, 200)
  damage(
    `update oauth_rows set payload = zeroblob(64) where model = 'AccessToken'
      and grant_id in (select id from oauth_grants where user_id = ?)`,
    person,
  )
  const refused = await ping()
  assert.equal(refused.status, 401)
  assert.match(String(refused.headers['www-authenticate']), /^Bearer error="invalid_token"/)
  damage(damages['the grant of an agent'] ?? '', person)
  const { hidden } = await jar.get('/agents')
  const question = await jar.get(
    `/agents/disconnect?grant=${encodeURIComponent(hidden.grant ?? '')}`,
  )
  const form = { ...question.hidden, decision: 'confirm' }
  assert.equal((await jar.post('/agents/disconnect', form)).location, '/agents?done=disconnected')
})

test('the doctor names the columns whose values are none', async () => {
  const { person } = await settle()
  damage("update api_keys set created_at = 'then' where user_id = ?", person)
  damage("update connections set status = 'unheard of' where user_id = ?", person)
  const { adminUrl, adminToken } = world.service
  const { body } = await request(`${adminUrl}/admin/doctor`, {
    headers: { authorization: `Bearer ${adminToken}` },
  })
  const { checks } = (await body.json()) as { checks: { name: string; message: string }[] }
  const said = (name: string) => checks.find((check) => check.name === name)?.message ?? ''
  assert.match(said('rows:api_keys.created_at'), /where rowid is \d+$/)
  assert.match(said('rows:connections.status'), /where id is [\w-]{36}$/)
  assert.equal(said('rows:connections.provider'), '')
})

test('a time zone that this runtime does not know is as if none was set, and stops nothing', async () => {
  const { person, jar } = await settle()
  const { access_token: token } = await connectAgent(world.service, jar, { name: 'Claude' })
  damage("update users set timezone = 'Mars/Olympus_Mons' where id = ?", person)
  const { store } = world.service.app
  await store.users.outdate(person.id)
  const as = `Bearer ${token}`
  assert.equal((await post(world.service, toolCall('list_accounts', {}), { as })).status, 200)
  const [account] = await store.accounts.list(person.id)
  const money = await jar.get(`/money/${account?.id}`)
  assert.match(money.text, /Times are those of Australia\/Sydney/)
  for (const path of ['/', '/usage', '/activity', '/settings', '/settings/download'])
    assert.equal((await jar.get(path)).status, 200, path)
})
