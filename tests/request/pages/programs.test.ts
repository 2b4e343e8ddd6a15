/**
 * `/simplefin/create`: a setup token is made, shown once, listed with its last use, and ended, by its person
 * alone.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Jar } from '#tests/support/jar.ts'
import { bind } from '../simplefin/world.ts'
import { askForConsent, type Person, startPages } from './world.ts'

const path = '/simplefin/create'
const world = await startPages()
after(() => world.close())

const secretOf = (text: string) => /<output name="secret"[^>]*>([^<]*)<\/output>/.exec(text)?.[1]
const programsOf = ({ id }: Person) => world.service.app.store.programs.list(id)
const client = () => bind(world.service, { id: '' as never, key: '', keyId: '' as never })

async function create(jar: Jar, fields: Readonly<Record<string, string>>) {
  const page = await jar.get(path)
  return jar.post(path, { ...page.hidden, ...fields })
}

async function makeToken(jar: Jar, name: string): Promise<string> {
  const answer = await create(jar, { name })
  assert.deepEqual([answer.status, answer.location], [303, path])
  return secretOf((await jar.get(path)).text) ?? assert.fail('no token was shown')
}

test('303: a visitor is redirected to the sign-in and back', async () => {
  assert.equal((await world.jar().get(path)).location, '/sign-in?return=%2Fsimplefin%2Fcreate')
})

test('a setup token is shown once and can be claimed; the page then shows the last use, and never the token or the credentials', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const token = await makeToken(jar, 'Actual <b>')
  const again = await jar.get(path)
  assert.equal(secretOf(again.text), undefined)
  assert.match(again.text, /Actual &lt;b&gt;/)
  const { status, text: access } = await client().claim(token)
  assert.equal(status, 200)
  assert.equal((await client().read(access, '/accounts')).status, 200)
  const [program] = await programsOf(person)
  assert.notEqual(program?.lastUsedAt, null)
  const { password } = new URL(access)
  assert(!(await jar.get(path)).text.includes(password))
})

test('a token that is presented again is said on the page', async () => {
  const jar = await world.enter(await world.addPerson())
  const token = await makeToken(jar, 'Sure')
  await client().claim(token)
  assert.equal((await client().claim(token)).status, 403)
  const { text: activity } = await jar.get('/activity')
  const again = /and was refused<\/td>\s*<td[^>]*>([^<]*)/.exec(activity)
  assert.equal(again?.[1], 'Somebody', 'whoever has the token')
  assert.match((await jar.get(path)).text, /presented again/)
})

test('a program is asked about before its access ends, and is refused from then on; another person’s does not exist', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { text: access } = await client().claim(await makeToken(jar, 'Firefly III'))
  const [program] = await programsOf(person)
  const place = `/simplefin/programs/${program?.id}/revoke`
  const stranger = await world.enter(await world.addPerson())
  assert.equal((await stranger.get(place)).location, `${path}?done=gone`)
  const question = await jar.get(place)
  assert.match(question.text, /Firefly III/)
  assert.equal((await jar.post(place, { ...question.hidden, decision: 'cancel' })).location, path)
  assert.equal((await client().read(access, '/accounts')).status, 200)
  const done = await jar.post(place, { ...question.hidden, decision: 'confirm' })
  assert.equal(done.location, `${path}?done=ended`)
  assert.equal((await client().read(access, '/accounts')).status, 403)
  assert.equal((await jar.get(place)).location, `${path}?done=gone`)
})

test('400: a name of more than 100 characters says so at its field, and nothing is made', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const answer = await create(jar, { name: 'x'.repeat(101) })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /1 to 100 characters/)
  assert.deepEqual(await programsOf(person), [])
})

test('F11: connections to one bank are told apart by their accounts wherever one chooses among them', async () => {
  const person = await world.addPerson()
  const { service } = world
  const user = { id: person.id, key: '', keyId: '' } as unknown as Parameters<
    typeof service.link
  >[0]
  await service.link(user, 'healthy', 'fiskil')
  const jar = await world.enter(person)
  const [first] = (await service.app.store.accounts.list(person.id)).map(({ name }) => name)
  const { path: consent } = await askForConsent(service, jar)
  for (const place of [path, '/keys', consent]) {
    assert.match((await jar.get(place)).text, new RegExp(`<small[^>]*>[^<]*${first}`), place)
  }
})
