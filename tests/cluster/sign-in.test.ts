/** Wrong passwords are counted over all processes together, and all of them recognise a known browser. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Jar, makeJar } from '#tests/support/jar.ts'
import { type Fleet, startFleet } from './fleet.ts'
import type { ServerProcess } from './server-process.ts'

let fleet: Fleet
before(async () => {
  fleet = await startFleet({ env: { RATE_LIMIT_SIGNIN: '1000' } })
})
after(() => fleet?.close())

const password = 'correct horse battery'
let people = 0

async function addPerson(): Promise<string> {
  people += 1
  const email = `visitor-${people}@example.test`
  await fleet.one.admin('POST', '/users', { email, password })
  return email
}

async function send(jar: Jar, email: string, given: string) {
  const { hidden } = await jar.get('/sign-in')
  return jar.post('/sign-in', { ...hidden, email, password: given })
}

/** The profile of a browser, carried over to another process. */
function carry(from: Jar, server: ServerProcess): Jar {
  const jar = makeJar(server.baseUrl)
  const mark = from.cookies.get('tributary-browser')
  assert(mark !== undefined)
  jar.cookies.set('tributary-browser', mark)
  return jar
}

test('ten guesses in all, on whichever process, and the owner’s browser gets in on either', async () => {
  const email = await addPerson()
  const servers = [fleet.one, fleet.two]
  const own = makeJar(fleet.one.baseUrl)
  assert.equal((await send(own, email, password)).status, 303)
  const statuses = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const jar = makeJar((servers[index % 2] ?? fleet.one).baseUrl)
      return (await send(jar, email, 'a wrong guess')).status
    }),
  )
  assert.equal(statuses.filter((status) => status === 401).length, 10)
  assert.equal(statuses.filter((status) => status === 429).length, 20)
  for (const server of servers) {
    const stranger = await send(makeJar(server.baseUrl), email, password)
    assert.equal(stranger.status, 429)
    const wait = Number(stranger.headers['retry-after'])
    assert.ok(wait > 0 && wait <= 60, `${wait}`)
    assert.equal((await send(carry(own, server), email, password)).status, 303)
  }
})

test('the right password on one process clears the failures counted on the other', async () => {
  const email = await addPerson()
  for (let round = 0; round < 3; round += 1) {
    for (let count = 0; count < 8; count += 1) {
      assert.equal((await send(makeJar(fleet.one.baseUrl), email, 'a wrong guess')).status, 401)
    }
    assert.equal((await send(makeJar(fleet.two.baseUrl), email, password)).status, 303)
  }
})
