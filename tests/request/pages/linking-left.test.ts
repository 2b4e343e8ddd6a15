/** What a link opened at a bank and nothing uses ends there, however often the bank has to be asked. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { hashState } from '#connections/linking/linking-attempt.ts'
import { byOperator } from '#contract/actor.ts'
import { institutions } from '#sandbox/akahu/factories.ts'
import { agreeAtBank } from '#tests/support/bank-page.ts'
import type { Jar } from '#tests/support/jar.ts'
import { type Person, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

const provider = 'enablebanking'
const bank = 'FI:Pankki Kaarna'
const minuteMs = 60_000

const emulator = () => world.service.sandbox.enablebanking
const statuses = () => [...emulator().site.sessions.sessions.values()].map(({ status }) => status)
const sweep = () => world.service.app.connections.finishDeletions()
const loginsOf = ({ id }: Person) => world.service.app.store.logins.list(id)
const rowsOf = ({ id }: Person) => world.service.app.store.connections.list(id)

async function visitor() {
  emulator().site.sessions.sessions.clear()
  const person = await world.addPerson()
  return { person, jar: await world.enter(person) }
}

/** To the bank's page and its answer: the path with which the browser comes back. */
async function agree(jar: Jar): Promise<string> {
  const { hidden } = await jar.get(`/connections/new?provider=${provider}&country=FI`)
  const fields = { token: hidden.token ?? '', provider, country: 'FI', institution: bank }
  return answerBank((await jar.post('/connections/new', fields)).location ?? '')
}

async function answerBank(address: string): Promise<string> {
  const back = await agreeAtBank(address)
  return back.pathname + back.search
}

/** The provider fails for these requests until `clearFaults`. */
function fail(method: string, path: RegExp): void {
  emulator().addFault({
    when: (asked) => asked.method === method && path.test(asked.path),
    does: { kind: 'reply', reply: { status: 502, body: '<html>' } },
  })
}

test('a session that is not this person’s ends by a later sweep, where the provider failed at first', async () => {
  const [ann, bob] = [await visitor(), await visitor()]
  const theirs = new URLSearchParams((await agree(ann.jar)).split('?')[1])
  const own = new URLSearchParams((await agree(bob.jar)).split('?')[1])
  own.set('code', theirs.get('code') ?? '')
  fail('DELETE', /^\/sessions\//)
  const end = await bob.jar.get(`/providers/${provider}/callback?${own}`)
  assert.match(end.text, /That was another account/)
  await sweep()
  assert.deepEqual([statuses(), (await loginsOf(bob.person)).length], [['AUTHORIZED'], 1])
  emulator().clearFaults()
  await sweep()
  assert.deepEqual([statuses(), await loginsOf(bob.person)], [['CLOSED'], []])
})

test('the former session of a renewal ends by a later sweep, and the new one stays', async () => {
  const { person, jar } = await visitor()
  await jar.get(await agree(jar))
  fail('DELETE', /^\/sessions\//)
  await jar.get(await agree(jar))
  assert.deepEqual(statuses(), ['AUTHORIZED', 'AUTHORIZED'])
  emulator().clearFaults()
  await sweep()
  assert.deepEqual(statuses(), ['CLOSED', 'AUTHORIZED'])
  assert.deepEqual(
    [(await rowsOf(person)).map(({ status }) => status), (await loginsOf(person)).length],
    [['active'], 1],
  )
})

test('a session that could never be read ends when the hour of its link is over', async () => {
  const { person, jar } = await visitor()
  const back = await agree(jar)
  // The first look tells whose it is, the second whether it is open.
  let looks = 0
  emulator().addFault({
    when: ({ method, path }) => {
      if (method !== 'GET' || !path.startsWith('/sessions/')) return false
      looks += 1
      return looks > 1
    },
    does: { kind: 'reply', reply: { status: 502, body: '<html>' } },
  })
  await jar.get(back)
  assert.deepEqual([statuses(), await rowsOf(person)], [['AUTHORIZED'], []])
  await sweep()
  assert.deepEqual(statuses(), ['AUTHORIZED'])
  world.service.clock.advance(61 * minuteMs)
  emulator().clearFaults()
  await sweep()
  assert.deepEqual([statuses(), await loginsOf(person)], [['CLOSED'], []])
})

test('a session of a link that waits ends with the account of its person', async () => {
  const { person, jar } = await visitor()
  const back = await agree(jar)
  fail('GET', /^\/sessions\//)
  fail('DELETE', /^\/sessions\//)
  await jar.get(back)
  assert.equal((await loginsOf(person)).length, 1)
  emulator().clearFaults()
  await world.service.app.connections.deleteUser(byOperator, person.id)
  assert.deepEqual(statuses(), ['CLOSED'])
})

/** To Akahu’s page and its answer; the path of the return. */
async function agreeAtAkahu(
  jar: Jar,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { hidden } = await jar.get('/connections/new?provider=akahu')
  const fields = { ...hidden, provider: 'akahu', institution: institutions.asb._id }
  const begun = await jar.post('/connections/new', fields)
  const address = new URL(begun.location ?? assert.fail(begun.text))
  const body = new URLSearchParams([...address.searchParams])
  for (const [name, value] of Object.entries({ decision: 'allow', ...more })) body.set(name, value)
  const target = address.origin + address.pathname
  const answer = await fetch(target, { method: 'POST', body, redirect: 'manual' })
  const back = new URL(answer.headers.get('location') ?? assert.fail(await answer.text()))
  return back.pathname + back.search
}

const tokens = () =>
  Object.values(world.service.sandbox.akahu.people).map(({ userToken }) => userToken)

/** Akahu tells nothing about a token, and ends none. */
function failAtAkahu(): void {
  world.service.sandbox.akahu.addFault({
    when: ({ method, path }) => method === 'DELETE' || /^\/v1\/(me|webhooks)$/.test(path),
    does: { kind: 'reply', reply: { status: 503 } },
  })
}

/** A link at Akahu whose token was given, and which then neither tells its owner nor can be ended. */
async function leaveToken() {
  const { person, jar } = await visitor()
  const back = await agreeAtAkahu(jar)
  failAtAkahu()
  assert.match((await jar.get(back)).text, /It did not work this time/)
  world.service.sandbox.akahu.clearFaults()
  const [left, ...others] = await loginsOf(person)
  assert.ok(left !== undefined && others.length === 0)
  return { person, jar, isValid: () => tokens().includes(left.secret) }
}

test('R38: a token of Akahu whose owner was never told is ended by a later sweep', async () => {
  const { person, isValid } = await leaveToken()
  assert.ok(isValid())
  await sweep()
  assert.deepEqual([isValid(), await loginsOf(person)], [false, []])
})

test('a token of Akahu is not ended while another login of its person may have its consent', async () => {
  const { person, jar, isValid } = await leaveToken()
  // The second one is stored beside it, then given again.
  for (const fields of [{ 'new-token': 'on' }, {}]) {
    const end = await jar.get(await agreeAtAkahu(jar, fields))
    assert.match(end.location ?? '', /done=linked/)
  }
  assert.equal((await loginsOf(person)).length, 2)
  const { requests } = world.service.sandbox.akahu
  const before = requests.length
  await sweep()
  assert.deepEqual(requests.slice(before), [])
  const [login, ...others] = await loginsOf(person)
  assert.ok(login !== undefined && others.length === 0 && !isValid())
  failAtAkahu()
  assert.match((await jar.get(await agreeAtAkahu(jar))).text, /It did not work this time/)
  world.service.sandbox.akahu.clearFaults()
  assert.deepEqual(
    [tokens().includes(login.secret), await loginsOf(person), (await rowsOf(person)).length],
    [true, [login], 1],
  )
})

test('a renewal whose return was never read to its end has failed, although the former session still works', async () => {
  const { person, jar } = await visitor()
  await jar.get(await agree(jar))
  const [row] = await rowsOf(person)
  assert.ok(row !== undefined)
  const path = `/connections/${row.id}`
  const { hidden } = await jar.get(path)
  const left = await jar.post(`${path}/reconnect`, { token: hidden.token ?? '' })
  const back = await answerBank(left.location ?? '')
  // As a process leaves it that ends while it exchanges the code.
  const { store } = world.service.app
  const id = hashState(new URLSearchParams(back.split('?')[1]).get('state') ?? '')
  const { sessionId } = (await store.linkings.find(id)) ?? assert.fail('the link was begun')
  const at = world.service.clock.now()
  assert.ok(await store.linkings.claim(id, { sessionId, at }))
  world.service.clock.advance(10 * minuteMs)
  const waiting = await jar.get(back)
  const end = await jar.get(waiting.location ?? '')
  assert.match(end.text, /Linking was interrupted/)
  assert.equal((await rowsOf(person))[0]?.status, 'active')
})
