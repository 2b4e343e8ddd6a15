/** A person deletes their own account: what is asked, what is left, and what the page after it says. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import type { Jar } from '#tests/support/jar.ts'
import { invite } from './mailed.ts'
import { connectAgent, type Person, password, signIn, startPages } from './world.ts'

const path = '/settings/delete'

const world = await startPages()
after(() => world.close())

/** Everything that the databases on disk hold, as text, by table. */
async function readTables(): Promise<ReadonlyMap<string, string>> {
  const { dataDir } = world.service
  const names = await readdir(dataDir, { recursive: true })
  const tables = new Map<string, string>()
  for (const file of names.filter((name) => name.endsWith('.db'))) {
    const db = new DatabaseSync(join(dataDir, file), { readOnly: true })
    try {
      const rows = db.prepare("select name from sqlite_master where type = 'table'").all()
      for (const { name } of rows) {
        tables.set(String(name), JSON.stringify(db.prepare(`select * from "${name}"`).all()))
      }
    } finally {
      db.close()
    }
  }
  return tables
}

async function link(
  { id }: Person,
  person: 'healthy' | 'history' | 'twins',
): Promise<readonly string[]> {
  const { service } = world
  const user = { id, key: '', keyId: '' } as unknown as Parameters<typeof service.link>[0]
  return (await service.link(user, person, person === 'history' ? 'fiskil' : undefined)).map(
    ({ institutionName }) => institutionName,
  )
}

/** As a browser does it, with the address that the page asks for. */
async function confirm(jar: Jar) {
  const { hidden, text } = await jar.get(path)
  const [, email = ''] = /Type <strong>([^<]*)<\/strong>/.exec(text) ?? []
  return jar.post(path, { ...hidden, email, decision: 'confirm' })
}

test('303: a visitor is redirected to the sign-in, and so is a person whose password was given long ago', async () => {
  assert.equal(
    (await world.jar().get(path)).location,
    `/sign-in?return=${encodeURIComponent(path)}`,
  )
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { hidden } = await jar.get(path)
  world.service.clock.advance(10 * 60_000)
  for (const answer of [
    await jar.get(path),
    await jar.post(path, { ...hidden, decision: 'confirm' }),
  ]) {
    assert.equal(answer.location, `/sign-in?return=${encodeURIComponent(path)}`)
  }
  assert.notEqual(await world.service.app.store.users.find(person.id), null)
})

test('F11, F19: deletion asks once, says what ends with its accounts, and cancel keeps everything', async () => {
  const person = await world.addPerson()
  const names = await link(person, 'healthy')
  const jar = await world.enter(person)
  const page = await jar.get(path)
  assert.match(page.text, /<h1>Delete this account\?<\/h1>/)
  assert.match(page.text, /a key of your own is only forgotten here/)
  for (const name of names) assert.ok(page.text.includes(name))
  assert.match(page.text, /<strong class="foreign">Kiwibank<\/strong>: \w/)
  assert.match(
    page.text,
    /value="cancel" class="secondary outline".*value="confirm" class="danger"/s,
  )
  const answer = await jar.post(path, { ...page.hidden, decision: 'cancel' })
  assert.equal(answer.location, '/settings')
  assert.equal((await jar.get('/settings')).status, 200)
})

test('F19: the address is typed before an account is deleted; without it nothing is', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { hidden, text } = await jar.get(path)
  assert.match(text, /<button [^>]*value="cancel"[^>]* formnovalidate>/)
  for (const email of ['', 'other@example.test', `${person.email}x`]) {
    const answer = await jar.post(path, { ...hidden, email, decision: 'confirm' })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /Type the address exactly as it is shown\. Nothing was deleted\./)
    assert.match(answer.text, /<title>Error: /)
    assert.ok(!email || !answer.text.includes(`value="${email}"`))
  }
  assert.notEqual(await world.service.app.store.users.find(person.id), null)
  const email = ` ${person.email.toUpperCase()} `
  assert.equal((await jar.post(path, { ...hidden, email, decision: 'confirm' })).status, 303)
  assert.equal(await world.service.app.store.users.find(person.id), null)
})

test('a deleted account leaves nothing in the store but the audit, and the page after it says what was ended', async () => {
  const person = await world.addPerson()
  const names = await link(person, 'healthy')
  assert.ok(names.length > 1)
  const jar = await world.enter(person)
  await connectAgent(world.service, jar, { name: 'Claude' })
  const { hidden } = await jar.get('/keys')
  await jar.post('/keys', { ...hidden, name: 'laptop', expires: '' })
  await jar.get('/settings/second-factor')
  const before = await readTables()
  const holds = (text: string) => text.includes(person.id) || text.includes(person.email)
  const named = [...before].filter(([, text]) => holds(text)).map(([table]) => table)
  for (const table of ['users', 'sessions', 'api_keys', 'connections', 'logins', 'accounts']) {
    assert.ok(named.includes(table), table)
  }
  const answer = await confirm(jar)
  assert.deepEqual([answer.status, answer.location], [303, '/deleted'])
  const left = [...(await readTables())].filter(([, text]) => holds(text)).map(([table]) => table)
  assert.deepEqual(left, ['audit'])
  const page = await jar.get('/deleted')
  assert.match(page.text, /<h1>The account is deleted<\/h1>/)
  // Up and the two banks of SimpleFIN are read with keys of the person's own, which no call ends.
  // The operator adopted a session of Enable Banking, which others may use.
  assert.equal(page.text.match(/: the consent was given elsewhere and stays\./g)?.length, 1)
  assert.equal(page.text.match(/: the consent is ended\./g)?.length, names.length - 4)
  assert.match(page.text, /Up<\/span>: your own key is forgotten here/)
  for (const name of names) assert.ok(page.text.includes(name))
  assert.equal((await jar.get('/deleted')).location, '/', 'it is shown once')
  assert.equal((await jar.get('/settings')).location, '/sign-in?return=%2Fsettings')
  assert.equal((await signIn(world.jar(), { email: person.email, password })).status, 401)
})

test('the address of an invited person is in no table either, once the account is deleted', async () => {
  const email = 'invited@example.test'
  const { pathname } = new URL((await invite(world, email)).url)
  const jar = world.jar()
  const { hidden } = await jar.get(pathname)
  const made = await jar.post(pathname, { ...hidden, name: 'Emma', password })
  assert.equal(made.status, 303, made.text)
  assert.equal((await confirm(jar)).location, '/deleted')
  const tables = [...(await readTables())].filter(([, text]) => text.includes(email))
  assert.deepEqual(
    tables.map(([table]) => table),
    [],
  )
})

test('a second submit, a form from elsewhere and another browser’s page after it change and show nothing', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { hidden } = await jar.get(path)
  const fields = { ...hidden, email: person.email, decision: 'confirm' }
  const foreign = { origin: 'https://evil.example' }
  assert.equal((await jar.post(path, fields, foreign)).status, 403)
  assert.notEqual(await world.service.app.store.users.find(person.id), null)
  const session = jar.cookies.get('tributary') ?? ''
  assert.equal((await jar.post(path, fields)).location, '/deleted')
  const note = jar.cookies.get('tributary-once') ?? ''
  const stranger = world.jar()
  await stranger.get('/')
  stranger.cookies.set('tributary-once', note)
  assert.equal((await stranger.get('/deleted')).location, '/')
  jar.cookies.set('tributary', session)
  assert.equal(
    (await jar.post(path, fields)).location,
    `/sign-in?return=${encodeURIComponent(path)}`,
  )
})

test('what the provider did not end is said, and the account is deleted all the same', async () => {
  const person = await world.addPerson()
  const rows = await link(person, 'twins')
  assert.ok(rows.length > 0)
  const jar = await world.enter(person)
  const { hidden } = await jar.get(path)
  await world.service.sandbox.close()
  const answer = await jar.post(path, { ...hidden, email: person.email, decision: 'confirm' })
  assert.equal(answer.location, '/deleted')
  const { text } = await jar.get('/deleted')
  const ends = [
    ...text.matchAll(/<li>.*?(could not be asked|is forgotten here|was given elsewhere|is ended)/g),
  ].map(([, end]) => end)
  const order = ['could not be asked', 'is forgotten here', 'was given elsewhere', 'is ended']
  const places = ends.map((end) => order.indexOf(String(end)))
  assert.deepEqual(places, places.toSorted(), 'what is left to end is first')
  assert.deepEqual([places[0], places.length], [0, rows.length])
  assert.equal(await world.service.app.store.users.find(person.id), null)
})
