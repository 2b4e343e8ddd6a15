/** Linking in the browser by somebody who has as many connections as one person may have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { addLogin, newConnection } from '#tests/contract/store/rows.ts'
import type { Jar } from '#tests/support/jar.ts'
import { startPages } from './world.ts'

const newPath = '/connections/new'

async function choose(jar: Jar) {
  const page = await jar.get(`${newPath}?provider=fiskil`)
  return jar.post(newPath, { ...page.hidden, provider: 'fiskil', institution: '41' })
}

async function agree(address: string | null): Promise<string> {
  const page = new URL(address ?? '')
  const sess_id = page.searchParams.get('sess_id') ?? ''
  const answer = await request(page, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ sess_id, decision: 'allow' }).toString(),
  })
  await answer.body.dump()
  const back = new URL(String(answer.headers.location))
  return back.pathname + back.search
}

test('who has 500 connections reads so in place of the provider’s page, or at the return where the last place was taken meanwhile', async (t) => {
  const world = await startPages()
  t.after(() => world.close())
  const { store } = world.service.app
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const login = await addLogin(store, person.id)
  const add = (count: number) =>
    store.transact(async (tx) => {
      for (let at = 0; at < count; at += 1) {
        await tx.connections.save(newConnection(person.id, login.id))
      }
    })
  await add(499)
  const begun = await choose(jar)
  assert.equal(begun.status, 303)
  const back = await agree(begun.location)
  await add(1)
  for (const _ of ['at first', 'and whenever it is read again']) {
    const end = await jar.get(back)
    assert.match(end.text, /<h1>You have too many connections<\/h1>/)
    assert.match(end.text, /At most 500 connections.*remove a connection first/)
    assert.match(end.text, /still be open at Fiskil: unless you end it there/)
  }
  assert.equal((await store.connections.list(person.id)).length, 500)
  const refused = await choose(jar)
  assert.equal(refused.status, 409)
  assert.match(refused.text, /At most 500 connections/)
})
