/** Paged lists: users and the audit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorOf } from './credentials.ts'
import { makeWorld } from './world.ts'

interface Page {
  readonly data: readonly Readonly<Record<string, unknown>>[]
  readonly next: string | null
}

test('200: a client that reads only `data` gets all of a short list; a long one has pages', async (t) => {
  const { ask, addUser } = await makeWorld(t)
  const emails = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@b.example`)
  for (const email of emails) await addUser(email)
  const whole = (await ask('GET', '/admin/users')).body as Page
  assert.deepEqual([whole.data.length, whole.next], [5, null])
  const read: unknown[] = []
  let next: string | null = null
  let pages = 0
  do {
    const cursor: string = next === null ? '' : `&cursor=${next}`
    const page = (await ask('GET', `/admin/users?limit=2${cursor}`)).body as Page
    read.push(...page.data)
    next = page.next
    pages += 1
  } while (next !== null)
  assert.equal(pages, 3)
  assert.deepEqual(read, whole.data)
  const clamped = (await ask('GET', '/admin/users?limit=99999999999')).body as Page
  assert.equal(clamped.data.length, 5)
})

test('200: the audit shows who did what, newest first, for all users or for one', async (t) => {
  const { ask, clock } = await makeWorld(t)
  const ids: unknown[] = []
  for (const email of ['a@b.example', 'c@d.example']) {
    const made = await ask('POST', '/admin/users', { email })
    ids.push((made.body as { id: string }).id)
  }
  await ask('POST', '/admin/users/a@b.example/keys', { name: 'laptop' })
  await ask('DELETE', '/admin/users/c@d.example')
  const actions = async (query: string) =>
    ((await ask('GET', `/admin/audit${query}`)).body as Page).data.map(({ action }) => action)
  assert.equal((await actions('')).length, 4)
  assert.deepEqual((await actions('?user=a@b.example')).sort(), ['keys.create', 'users.create'])
  assert.deepEqual((await actions(`?user=${ids[1]}`)).sort(), ['users.create', 'users.delete'])
  const { data, next } = (await ask('GET', '/admin/audit?limit=1')).body as Page
  assert.notEqual(next, null)
  const [entry] = data
  assert.deepEqual(Object.keys(entry ?? {}).sort(), [
    'action',
    'actor',
    'address',
    'at',
    'id',
    'subject',
    'userId',
  ])
  assert.equal(entry?.at, new Date(clock.now()).toISOString())
  assert.equal((await actions(`?limit=5&cursor=${next}`)).length, 3)
})

test('400 and 404: a page that cannot be is refused, and a misspelt parameter too', async (t) => {
  const { ask } = await makeWorld(t)
  const wrong = [
    'limit=0',
    'limit=-1',
    'limit=1.5',
    'limit=',
    'limit=1&limit=2',
    'cursor=',
    'limt=1',
  ]
  for (const path of ['/admin/users', '/admin/audit']) {
    for (const query of [...wrong, 'cursor=x', 'cursor=1.x', "cursor=1'--"]) {
      const answer = await ask('GET', `${path}?${query}`)
      assert.equal(answer.status, 400, `${path}?${query}`)
      assert.equal(errorOf(answer).code, 'invalid_params')
    }
  }
  assert.equal((await ask('GET', '/admin/audit?user=nobody@b.example')).status, 404)
  assert.equal((await ask('GET', '/admin/audit?user=')).status, 400)
})
