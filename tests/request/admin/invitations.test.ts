/**
 * `POST /admin/invitations`, status by status. What the link does is in
 * tests/request/pages/invitations.test.ts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, makeWorld } from './world.ts'

const path = '/admin/invitations'
const errorOf = ({ body }: Answer) =>
  (body as { error: { message: string; code?: string; details?: string[] } }).error

test('201: an invitation is a link that is valid for seven days, and nobody exists because of it', async (t) => {
  const { ask, store, clock } = await makeWorld(t)
  const { status, body } = await ask('POST', path, { email: ' Guest@Example.com ' })
  assert.equal(status, 201)
  const { email, url, expiresAt } = body as Record<string, string>
  assert.equal(email, 'Guest@Example.com')
  assert.match(url ?? '', /^https:\/\/bank\.example\.com\/invitations\/[\w-]{43}$/)
  assert.equal(Date.parse(expiresAt ?? ''), clock.now() + 7 * 86_400_000)
  assert.deepEqual(Object.keys(body as object), ['email', 'url', 'expiresAt'])
  assert.deepEqual(await store.users.list(), [])
  const [entry] = await store.auditLog.list({ userId: null, after: null, limit: 1 })
  assert.deepEqual([entry?.action, entry?.actor], ['users.invite', 'admin'])
  assert.ok(!JSON.stringify(entry).toLowerCase().includes('guest'))
})

test('201: each invitation of an address is another link', async (t) => {
  const { ask } = await makeWorld(t)
  const [one, two] = [
    await ask('POST', path, { email: 'guest@example.com' }),
    await ask('POST', path, { email: 'GUEST@example.com' }),
  ]
  assert.deepEqual([one.status, two.status], [201, 201])
  assert.notEqual((one.body as { url: string }).url, (two.body as { url: string }).url)
})

test('400: whatever is no address is named', async (t) => {
  const { ask } = await makeWorld(t)
  for (const body of [
    {},
    { email: 'nobody' },
    { email: 5 },
    { email: 'a@b.example\r\nBcc: c@d' },
  ]) {
    const answer = await ask('POST', path, body)
    assert.equal(answer.status, 400)
    assert.match(errorOf(answer).details?.[0] ?? '', /^email: (?:must|is required)/)
  }
  const other = await ask('POST', path, { email: 'a@b.example', plan: 'developer' })
  assert.equal(other.status, 400)
})

test('409: an address that has an account is not invited', async (t) => {
  const { ask } = await makeWorld(t)
  await ask('POST', '/admin/users', { email: 'emma@example.com' })
  const answer = await ask('POST', path, { email: 'Emma@Example.com' })
  assert.deepEqual([answer.status, errorOf(answer).code], [409, 'email_taken'])
})

test('409: where nobody can sign up the refusal says what to do', async (t) => {
  const { ask } = await makeWorld(t, { signUp: 'closed' })
  const answer = await ask('POST', path, { email: 'guest@example.com' })
  assert.deepEqual([answer.status, errorOf(answer).code], [409, 'sign_up_closed'])
  assert.match(errorOf(answer).message, /users create.*SIGN_UP to invite/)
})

test('429: one address is invited twenty times a day at most', async (t) => {
  const { ask } = await makeWorld(t)
  for (let count = 0; count < 20; count += 1)
    assert.equal((await ask('POST', path, { email: 'guest@example.com' })).status, 201)
  assert.equal((await ask('POST', path, { email: 'guest@example.com' })).status, 429)
  assert.equal((await ask('POST', path, { email: 'other@example.com' })).status, 201)
})

test('200: invitations that can be used are listed without their links; a withdrawn one is of no use', async (t) => {
  const { ask, store, clock } = await makeWorld(t)
  assert.deepEqual((await ask('GET', path)).body, { data: [] })
  await ask('POST', path, { email: 'one@example.com' })
  clock.advance(1000)
  const { body: made } = await ask('POST', path, { email: 'Two@example.com' })
  const { data } = (await ask('GET', path)).body as { data: Record<string, string>[] }
  assert.deepEqual(
    data.map(({ email }) => email),
    ['Two@example.com', 'one@example.com'],
  )
  assert.deepEqual(Object.keys(data[0] ?? {}), ['email', 'createdAt', 'expiresAt'])
  assert.equal(data[0]?.expiresAt, (made as { expiresAt: string }).expiresAt)
  clock.advance(1000)
  assert.equal((await ask('DELETE', `${path}/two%40EXAMPLE.com`)).status, 204)
  const [entry] = await store.auditLog.list({ userId: null, after: null, limit: 1 })
  assert.deepEqual([entry?.action, entry?.actor], ['users.withdraw-invitation', 'admin'])
  const again = await ask('DELETE', `${path}/two%40example.com`)
  assert.deepEqual([again.status, errorOf(again).code], [404, 'invitation_not_found'])
  clock.advance(8 * 86_400_000)
  assert.deepEqual((await ask('GET', path)).body, { data: [] })
})
