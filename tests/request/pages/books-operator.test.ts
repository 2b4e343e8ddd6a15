/**
 * The book of an operator: whatever is changed through the admin API is in the audit of its person once, as
 * the operator's, with a true sentence on the activity page; what was refused or changed nothing is not.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { request } from 'undici'
import { type Line, openBook, readAdminAudit } from './book.ts'
import { connectAgent, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

/** The fields that are read here. */
interface Answered {
  readonly id: string
  readonly data: readonly { readonly id: string; readonly signedInAt: string }[]
  readonly connections: readonly { readonly id: string; readonly institutionName: string }[]
}

async function ask(method: 'POST' | 'PUT' | 'DELETE' | 'GET', path: string, body?: object) {
  const { adminUrl, adminToken } = world.service
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  const answer = await request(`${adminUrl}/admin/${path}`, {
    method,
    headers: { authorization: `Bearer ${adminToken}`, ...json },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.body.text()
  const parsed = (text === '' ? {} : JSON.parse(text)) as Answered
  return { status: answer.statusCode, body: parsed }
}

const theirs = (action: string, sentence: string): Line => [action, 'admin', null, sentence]
const nothing: readonly Line[] = []

async function begin() {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const book = await openBook(world, person, jar)
  const user = `users/${person.id}`
  return { person, jar, book, user }
}

test('users, plans, profiles, keys, agents and sessions', async () => {
  const { person, jar, book, user } = await begin()
  const taken = { email: person.email.toUpperCase() }
  await book.step('taken', () => ask('POST', 'users', taken), nothing)
  await book.step(
    'plan',
    () => ask('PUT', `${user}/plan`, { plan: 'developer', status: 'active' }),
    [theirs('plans.set', 'Set the plan: developer, active')],
  )
  await book.step('no plan', () => ask('PUT', `${user}/plan`, { plan: 'gold' }), nothing)
  const profile = { name: 'Ngaire', timezone: 'Pacific/Auckland' }
  await book.step('profile', () => ask('PUT', `${user}/profile`, profile), [
    theirs('account.set-name', 'Changed the name'),
    theirs('account.set-timezone', 'Set the time zone to Pacific/Auckland'),
  ])
  await book.step('the same', () => ask('PUT', `${user}/profile`, profile), nothing)
  await book.step(
    'half of it',
    () => ask('PUT', `${user}/profile`, { name: 'X', timezone: 'Y' }),
    nothing,
  )
  await book.step('no factor', () => ask('DELETE', `${user}/second-factor`), nothing)
  const made = await book.step('key', () => ask('POST', `${user}/keys`, { name: 'ci' }), [
    theirs('keys.create', 'Created the API key “ci”'),
  ])
  const key = `keys/${made.body.id}`
  const twice = async () => {
    assert.deepEqual(
      [(await ask('DELETE', key)).status, (await ask('DELETE', key)).status],
      [204, 204],
    )
  }
  await book.step('revoked twice', twice, [theirs('keys.revoke', 'Revoked the API key “ci”')])
  await connectAgent(world.service, jar, {
    name: 'Claude',
    scope: 'mcp:read',
    ticked: ['mcp:read'],
  })
  await world.enter(person)
  const later = await openBook(world, person, jar)
  const [agent] = (await ask('GET', `${user}/agents`)).body.data
  const cut = () => ask('DELETE', `${user}/agents/${agent?.id}`)
  await later.step('agent', cut, [theirs('agent.disconnected', 'Disconnected the agent Claude')])
  await later.step('agent again', cut, nothing)
  const { data } = (await ask('GET', `${user}/sessions`)).body
  assert.equal(data.length, 2)
  // The one that began last: the page is read with the other.
  const [newest] = data.toSorted((one, other) => other.signedInAt.localeCompare(one.signedInAt))
  const end = () => ask('DELETE', `${user}/sessions/${newest?.id}`)
  await later.step('session', end, [theirs('account.end-session', 'Signed out one browser')])
  await later.step('session again', end, nothing)
})

test('connections: linked, refreshed, synced and removed', async () => {
  const { book, user } = await begin()
  const [credentials] = world.service.sandbox
    .person('healthy')
    .filter(({ provider }) => provider === 'up')
  const linked = await book.step('link', () => ask('POST', `${user}/connections`, credentials), [
    theirs('connections.link', 'Linked Up'),
  ])
  const wrong = { ...credentials, token: 'up:yeah:nobody-has-this-token' }
  await book.step('no such token', () => ask('POST', `${user}/connections`, wrong), nothing)
  const [row] = linked.body.connections
  assert(row !== undefined)
  const { id, institutionName } = row
  const path = `connections/${id}`
  const bank = `the connection to ${institutionName}`
  await book.step('refresh', () => ask('POST', `${path}/refresh`), [
    theirs('connections.refresh', `Refreshed ${bank}`),
  ])
  await book.step('sync', () => ask('POST', `${path}/sync`), [
    theirs('connections.sync', `Asked for new data of ${bank}`),
  ])
  await book.step('remove', () => ask('DELETE', path), [
    theirs('connections.remove', 'Removed a connection'),
  ])
  await book.step('again', () => ask('DELETE', path), nothing)
  for (const verb of ['refresh', 'sync']) {
    await book.step(`${verb} of none`, () => ask('POST', `${path}/${verb}`), nothing)
  }
})

test('endpoints: made, changed and removed; a replay of nothing is no replay', async () => {
  const { book, user } = await begin()
  const made = await book.step(
    'made',
    () => ask('POST', `${user}/webhooks`, { url: 'https://203.0.113.80/hook' }),
    [theirs('webhooks.create', 'Added the webhook endpoint 203.0.113.80')],
  )
  await book.step('bad', () => ask('POST', `${user}/webhooks`, { url: 'ftp://x' }), nothing)
  const path = `webhooks/${made.body.id}`
  const at = 'the webhook endpoint 203.0.113.80'
  const range = { from: '2026-11-20T00:00:00Z', to: '2026-11-22T00:00:00Z' }
  const steps: readonly (readonly [string, object | undefined, readonly Line[]])[] = [
    ['replay', range, nothing],
    ['rotate', { overlapHours: -1 }, nothing],
    ['rotate', { overlapHours: 0 }, [theirs('webhooks.rotate', `Replaced the secret of ${at}`)]],
    ['disable', undefined, [theirs('webhooks.disable', `Disabled ${at}`)]],
    ['disable', undefined, nothing],
    ['test', undefined, nothing],
    ['replay', range, nothing],
    ['enable', undefined, [theirs('webhooks.enable', `Enabled ${at}`)]],
    ['enable', undefined, nothing],
  ]
  for (const [verb, body, expected] of steps) {
    await book.step(verb, () => ask('POST', `${path}/${verb}`, body), expected)
  }
  const gone = [theirs('webhooks.remove', 'Removed a webhook endpoint')]
  await book.step('removed', () => ask('DELETE', path), gone)
  await book.step('again', () => ask('DELETE', path), nothing)
})

test('what ends the sessions of a person is read by the operator: a password, a removed factor, a deletion', async () => {
  const { person, user } = await begin()
  const before = (await readAdminAudit(world, person.id)).length
  world.service.clock.advance(1000)
  await ask('PUT', `${user}/password`, { password: 'short' })
  await ask('PUT', `${user}/password`, { password: 'another battery staple' })
  const made = await ask('POST', 'users', { email: 'booked@example.test' })
  await ask('DELETE', `users/${made.body.id}`)
  assert.equal((await ask('DELETE', `users/${made.body.id}`)).status, 404)
  const own = await readAdminAudit(world, person.id)
  assert.deepEqual(
    own.slice(0, own.length - before).map(({ action, actor, address }) => [action, actor, address]),
    [['users.set-password', 'admin', null]],
  )
  const other = await readAdminAudit(world, made.body.id)
  assert.deepEqual(other.map(({ action, actor, subject }) => [action, actor, subject]).sort(), [
    ['users.create', 'admin', made.body.id],
    ['users.delete', 'admin', made.body.id],
  ])
})
