/**
 * A provider that fails at one request of a link, whichever it is and however it fails: the person reads what
 * happened, nothing half done is stored here or left there, and a second try links once.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { institutions } from '#sandbox/akahu/factories.ts'
import type { EmulatorRequest, Misbehaviour } from '#sandbox/emulator.ts'
import type { Jar, PageAnswer } from '#tests/support/jar.ts'
import { type Person, startPages } from './world.ts'

const world = await startPages({ env: { UPSTREAM_TIMEOUT_MS: '400', REQUEST_TIMEOUT_MS: '1500' } })
after(() => world.close())

const reply = (status: number, body: unknown): Misbehaviour => ({
  kind: 'reply',
  reply: { status, body },
})

const failures: Readonly<Record<string, Misbehaviour>> = {
  403: reply(403, { error: 'forbidden' }),
  404: reply(404, { error: 'not found' }),
  429: reply(429, { error: 'slow down' }),
  500: reply(500, 'oops'),
  'no JSON': reply(200, '<html>'),
  'an empty object': reply(200, {}),
  'no answer': { kind: 'hang' },
}

interface Way {
  readonly institution: string | null
  /** What a person sends on the provider's page. */
  decide(address: URL): Readonly<Record<string, string>>
  /** What is asked of the provider, in order; those who fail without a consequence are left out. */
  readonly asked: readonly string[]
}

const ways = {
  fiskil: {
    institution: '41',
    decide: ({ searchParams }) => ({
      sess_id: searchParams.get('sess_id') ?? '',
      decision: 'allow',
    }),
    asked: [
      'POST /v1/end-users',
      'POST /v1/auth/session',
      'GET /v1/consent',
      'GET /v1/banking/accounts',
    ],
  },
  akahu: {
    institution: institutions.asb._id,
    decide: ({ searchParams }) => ({
      ...Object.fromEntries(searchParams),
      decision: 'allow',
      bank: institutions.asb._id,
    }),
    asked: ['POST /v1/token', 'GET /v1/me', 'GET /v1/accounts'],
  },
  snaptrade: {
    institution: null,
    decide: ({ searchParams }) => ({
      token: searchParams.get('token') ?? '',
      decision: 'connect',
      broker: 'STAKEAUS',
    }),
    asked: [
      'POST /snapTrade/registerUser',
      'POST /snapTrade/login',
      'GET /authorizations',
      'GET /accounts',
    ],
  },
} as const satisfies Readonly<Record<string, Way>>

type Browsed = keyof typeof ways

/** From the choice to the last page that the person sees, which is read twice. */
async function walk(jar: Jar, provider: Browsed): Promise<readonly PageAnswer[]> {
  const { institution, decide }: Way = ways[provider]
  const path = '/connections/new'
  const page = await jar.get(`${path}?provider=${provider}`)
  const fields = { ...page.hidden, provider, ...(institution === null ? {} : { institution }) }
  const begun = await jar.post(path, fields)
  if (!begun.location?.startsWith('http')) return [page, begun]
  const address = new URL(begun.location)
  const target = provider === 'akahu' ? address.origin + address.pathname : address
  const body = new URLSearchParams(decide(address))
  const decided = await fetch(target, { method: 'POST', body, redirect: 'manual' })
  const back = new URL(decided.headers.get('location') ?? assert.fail(await decided.text()))
  const done = await jar.get(back.pathname + back.search)
  const waits = done.location?.startsWith('/connections/waiting') === true
  const looked = waits ? [await jar.get(done.location ?? '')] : []
  return [page, begun, done, ...looked, await jar.get(back.pathname + back.search)]
}

async function countRows({ id }: Person) {
  const { store } = world.service.app
  const rows = await store.connections.list(id)
  return [rows.length, rows.filter(({ status }) => status === 'active').length]
}

/** Every page says what happened, or leads to one that does. */
function judge(pages: readonly PageAnswer[]): void {
  for (const { status, text, location } of pages) {
    assert.ok([200, 303, 400, 429, 503].includes(status), `${status} ${text}`)
    assert.match(status === 303 ? (location ?? '') : text, status === 303 ? /^(\/|http)/ : /<h1>/)
    assert.doesNotMatch(text, /went wrong here/i)
  }
}

for (const provider of Object.keys(ways) as Browsed[])
  for (const route of ways[provider].asked)
    test(`${provider}: ${route} fails in every way, and a second try links once`, async () => {
      const emulator = world.service.sandbox[provider]
      const isMeant = ({ method, path }: EmulatorRequest) => `${method} ${path}` === route
      for (const [name, does] of Object.entries(failures)) {
        // The budget of requests at SnapTrade is that of a minute.
        world.service.clock.advance(60_000)
        const person = await world.addPerson()
        const jar = await world.enter(person)
        const before = emulator.requests.length
        emulator.addFault({ when: isMeant, times: 2, does })
        judge(await walk(jar, provider))
        emulator.clearFaults()
        assert.ok(emulator.requests.slice(before).some(isMeant), name)
        const [made = 0] = await countRows(person)
        // The token was given, and is stored nowhere.
        if (route === 'GET /v1/me') assert.equal(tokenOf(person), null)
        if (made === 0) judge(await walk(jar, provider))
        assert.deepEqual(await countRows(person), [1, 1], name)
        assert.ok((await world.service.app.store.logins.listIds(person.id)).length === 1)
        await world.service.app.connections.deleteUser(byOperator, person.id)
      }
    })

/** The token that Akahu has given for this person, and not ended. */
function tokenOf({ email }: Person): string | null {
  const people = Object.values(world.service.sandbox.akahu.people)
  return people.find(({ user }) => user.email === email)?.userToken ?? null
}
