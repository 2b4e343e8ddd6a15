/**
 * The book of a person: whatever they do on the pages is in the audit once, with who, from where and a true
 * sentence, in the admin API and on the activity page alike; what was refused, declined or done already is
 * not.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Fields, Jar } from '#tests/support/jar.ts'
import { totpOf } from '#tests/support/totp.ts'
import { type Book, type Line, openBook } from './book.ts'
import { connectAgent, type Person, password, signIn, startPages } from './world.ts'

const here = '203.0.113.9'
const newPassword = 'another battery staple'

const world = await startPages({ env: { TRUST_PROXY: '127.0.0.1', RATE_LIMIT_SIGNIN: '100000' } })
after(() => world.close())

/** A browser at an address of the documentation's range, behind a proxy. */
function browserAt(address: string): Jar {
  const jar = world.jar()
  const from = { 'x-forwarded-for': address }
  return {
    ...jar,
    get: (path, headers = {}) => jar.get(path, { ...from, ...headers }),
    post: (path, fields, headers = {}) => jar.post(path, fields, { ...from, ...headers }),
  }
}

const mine = (action: string, sentence: string): Line => [action, 'user', here, sentence]
const nothing: readonly Line[] = []

interface Told {
  readonly person: Person
  readonly jar: Jar
  readonly book: Book
  /** Opens a page and sends its form. */
  send(page: string, fields?: Fields, path?: string): ReturnType<Jar['post']>
}

async function begin(): Promise<Told> {
  const person = await world.addPerson()
  const jar = browserAt(here)
  assert.equal((await signIn(jar, { email: person.email, password })).status, 303)
  const send: Told['send'] = async (page, fields = {}, path = page) =>
    jar.post(path, { ...(await jar.get(page)).hidden, ...fields })
  return { person, jar, send, book: await openBook(world, person, jar) }
}

test('signing in and out, wrong passwords and codes are booked with the address they came from', async () => {
  const { person, book } = await begin()
  const there = '198.51.100.7'
  const other = browserAt(there)
  const given = { email: person.email, password }
  const booked = (action: string, sentence: string): Line => [action, there, there, sentence]
  await book.step('wrong', () => signIn(other, { ...given, password: 'a wrong password' }), [
    booked('account.sign-in-refused', 'Gave a wrong password, and was refused'),
  ])
  await book.step('a stranger', () => signIn(other, { ...given, email: 'x@example.test' }), nothing)
  await book.step('in', () => signIn(other, given), [booked('account.signed-in', 'Signed in')])
  const { hidden } = await other.get('/')
  await book.step('no token', () => other.post('/sign-out', { token: 'A' }), nothing)
  await book.step('out', () => other.post('/sign-out', hidden), [
    ['account.signed-out', 'user', there, 'Signed out'],
  ])
  await book.step('out again', () => other.post('/sign-out', hidden), nothing)
})

test('the settings: name, zone, sessions, second factor and password are booked once each, and not when nothing changed', async () => {
  const { person, jar, book, send } = await begin()
  await book.step('name', () => send('/settings', { name: 'Ngaire' }), [
    mine('account.set-name', 'Changed the name'),
  ])
  await book.step('same name', () => send('/settings', { name: 'Ngaire' }), nothing)
  await book.step('zone', () => send('/settings', { timezone: 'Pacific/Auckland' }), [
    mine('account.set-timezone', 'Set the time zone to Pacific/Auckland'),
  ])
  await book.step('no zone', () => send('/settings', { timezone: 'Mars/Base' }), nothing)
  for (const _ of [1, 2, 3]) await world.enter(person)
  const more = await openBook(world, person, jar)
  const end = /name="session" value="([^"]+)"/.exec((await jar.get('/settings')).text)?.[1] ?? ''
  const endOne = () => send('/settings', { session: end }, '/settings/sessions/end')
  await more.step('one', endOne, [mine('account.end-session', 'Signed out one browser')])
  await more.step('the same again', endOne, nothing)
  const endOthers = () => send('/settings', {}, '/settings/sessions/end-others')
  await more.step('others', endOthers, [
    mine('account.end-other-sessions', 'Signed out 2 other browsers'),
  ])
  await more.step('nobody else', endOthers, nothing)
  await bookSecondFactor({ person, jar, book: more, send })
  const wrong = { password: 'a wrong password', newPassword }
  await more.step('wrong password', () => send('/settings', wrong), [
    ['account.sign-in-refused', here, here, 'Gave a wrong password, and was refused'],
  ])
  await more.step('short', () => send('/settings', { password, newPassword: 'x' }), nothing)
  await more.step('password', () => send('/settings', { password, newPassword }), [
    mine('account.set-password', 'Changed the password, and signed out every other browser'),
  ])
})

async function bookSecondFactor({ jar, book, send }: Told): Promise<void> {
  const path = '/settings/second-factor'
  const { text } = await jar.get(path)
  const secret = /<output name="secret"[^>]*>([^<]*)</.exec(text)?.[1] ?? ''
  const { clock } = world.service
  const code = () => totpOf(secret, clock.now())
  await book.step('no code', () => send(path, { code: 'x' }), nothing)
  await book.step('on', () => send(path, { code: code() }), [
    mine('account.set-second-factor', 'Switched the second factor on'),
  ])
  await book.step('codes', () => send(path, {}, `${path}/codes`), [
    mine('account.set-recovery-codes', 'Created new recovery codes'),
  ])
  clock.advance(60_000)
  const remove = `${path}/remove`
  const confirm = (typed: string) => send(remove, { code: typed, decision: 'confirm' })
  await book.step('kept', () => send(remove, { code: code(), decision: 'cancel' }), nothing)
  await book.step('wrong code', () => confirm('abcdef'), [
    ['account.sign-in-refused', here, here, 'Gave a wrong code, and was refused'],
  ])
  await book.step('off', () => confirm(code()), [
    mine('account.remove-second-factor', 'Switched the second factor off'),
  ])
  await book.step('off again', () => confirm(code()), nothing)
}

test('keys and agents are booked when they are made and when they end, once', async () => {
  const { person, jar, book, send } = await begin()
  const key = { name: 'laptop', expires: '' }
  await book.step('past', () => send('/keys', { ...key, expires: '2020-01-01' }), nothing)
  await book.step('made', () => send('/keys', key), [
    mine('keys.create', 'Created the API key “laptop”'),
  ])
  const [row] = await world.service.app.store.keys.list(person.id)
  const revoke = `/keys/${row?.id}/revoke`
  const { hidden } = await jar.get(revoke)
  const decide = (decision: string) => jar.post(revoke, { ...hidden, decision })
  await book.step('kept', () => decide('cancel'), nothing)
  await book.step(
    'revoked, pressed three times',
    () => Promise.all([1, 2, 3].map(() => decide('confirm'))),
    [mine('keys.revoke', 'Revoked the API key “laptop”')],
  )
  await book.step('again', () => decide('confirm'), nothing)
  await book.step('agent', () => connectAgent(world.service, jar, { name: 'Claude' }), [
    mine('agent.connected', 'Allowed the agent Claude to read banks and brokers'),
  ])
  const page = await jar.get('/agents')
  const grant = /name="grant" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  const end = (decision: string) =>
    jar.post('/agents/disconnect', { ...page.hidden, grant, decision })
  await book.step('kept', () => end('cancel'), nothing)
  await book.step('ended', () => end('confirm'), [
    mine('agent.disconnected', 'Disconnected the agent Claude'),
  ])
  await book.step('again', () => end('confirm'), nothing)
})

test('connections are booked when they are linked, refreshed and removed, and not when a provider or the minute refuses', async () => {
  const { person, jar, send } = await begin()
  const { store } = world.service.app
  await world.service.link(
    { id: person.id } as unknown as Parameters<typeof world.service.link>[0],
    'healthy',
    'fiskil',
  )
  const [row] = await store.connections.list(person.id)
  assert(row !== undefined)
  const bank = `the connection to ${row.institutionName}`
  const book = await openBook(world, person, jar)
  const path = `/connections/${row.id}`
  const refresh = () => send(path, {}, `${path}/refresh`)
  world.service.sandbox.fiskil.addFault({ does: { kind: 'reply', reply: { status: 500 } } })
  await book.step('down', refresh, nothing)
  world.service.sandbox.fiskil.clearFaults()
  world.service.clock.advance(61_000)
  await book.step('read', refresh, [mine('connections.refresh', `Refreshed ${bank}`)])
  await book.step('too soon', refresh, nothing)
  await book.step('renewal', () => send(path, {}, `${path}/reconnect`), [
    mine('connections.start-linking', `Began to renew ${bank}`),
  ])
  const chosen = { provider: 'fiskil', institution: 'no such bank' }
  await book.step('no bank', () => send('/connections/new?provider=fiskil', chosen), nothing)
  const { hidden } = await jar.get(`${path}/remove`)
  const remove = (decision: string) => jar.post(`${path}/remove`, { ...hidden, decision })
  await book.step('kept', () => remove('cancel'), nothing)
  await book.step('removed', () => remove('confirm'), [
    mine('connections.remove', 'Removed a connection'),
  ])
  await book.step('again', () => remove('confirm'), nothing)
})

test('webhook endpoints are booked for each change that changed something', async () => {
  const { person, jar, book, send } = await begin()
  const url = 'https://203.0.113.80/hook'
  const add = (given: Fields) => send('/webhooks', { events: ['trades.synced'], ...given })
  await book.step('no address', () => add({ url: 'x' }), nothing)
  const at = 'the webhook endpoint 203.0.113.80'
  await book.step('added', () => add({ url }), [mine('webhooks.create', `Added ${at}`)])
  const [row] = await world.service.app.store.endpoints.list(person.id)
  const path = `/webhooks/${row?.id}`
  const press = (verb: string) => send(path, {}, `${path}/${verb}`)
  await book.step('off', () => press('disable'), [mine('webhooks.disable', `Disabled ${at}`)])
  await book.step('off again', () => press('disable'), nothing)
  await book.step('test while off', () => press('test'), nothing)
  await book.step('on', () => press('enable'), [mine('webhooks.enable', `Enabled ${at}`)])
  await book.step('on again', () => press('enable'), nothing)
  const ask = async (what: string, decision: string) =>
    jar.post(`${path}/${what}`, { ...(await jar.get(`${path}/${what}`)).hidden, decision })
  await book.step('kept', () => ask('rotate', 'cancel'), nothing)
  await book.step('rotated', () => ask('rotate', 'confirm'), [
    mine('webhooks.rotate', `Replaced the secret of ${at}`),
  ])
  await book.step('stays', () => ask('remove', 'cancel'), nothing)
  await book.step('removed', () => ask('remove', 'confirm'), [
    mine('webhooks.remove', 'Removed a webhook endpoint'),
  ])
  await book.step('no such', () => press('disable'), nothing)
})
