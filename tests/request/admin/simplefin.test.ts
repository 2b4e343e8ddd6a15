/**
 * Programs that read SimpleFIN over the admin API: a token is shown once, the list tells their use, an end is
 * at once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashSecret } from '#auth/programs/tokens.ts'
import type { ProgramId, UserId } from '#kernel/ids.ts'
import { type Answer, makeWorld } from './world.ts'

const bodyOf = ({ body }: Answer) => body as Readonly<Record<string, unknown>>
const listed = (answer: Answer) => bodyOf(answer).data as Record<string, unknown>[]

test('201: a setup token is answered once, and neither it nor its secret is in lists, log or on the disk', async (t) => {
  const { ask, addUser, readDisk, logged } = await makeWorld(t)
  const id = await addUser('a@b.example')
  const answer = await ask('POST', `/admin/users/${id}/simplefin`, { name: ' Actual ' })
  assert.equal(answer.status, 201)
  const { setupToken, ...rest } = bodyOf(answer)
  assert.deepEqual(Object.keys(rest), ['id', 'name', 'expiresAt'])
  assert.deepEqual([rest.name, rest.expiresAt], ['Actual', '2026-11-21T03:15:00.000Z'])
  const url = Buffer.from(String(setupToken), 'base64').toString()
  const secret = url.split('/simplefin/claim/')[1] ?? assert.fail(url)
  const list = await ask('GET', `/admin/users/${id}/simplefin`)
  assert.deepEqual(
    listed(list).map(({ id, status, connections, lastUsedAt }) => [
      id,
      status,
      connections,
      lastUsedAt,
    ]),
    [[rest.id, 'waiting', null, null]],
  )
  const disk = await readDisk()
  assert(disk.includes('Actual'))
  for (const text of [JSON.stringify(list.body), logged.join('\n'), disk])
    assert(!text.includes(secret))
})

test('the list tells a program that waits, has access, was never used in time or is ended', async (t) => {
  const { ask, addUser, store, clock } = await makeWorld(t)
  const id = (await addUser('a@b.example')) as UserId
  const make = async (name: string) => {
    const { setupToken, id: program } = bodyOf(
      await ask('POST', `/admin/users/${id}/simplefin`, { name }),
    )
    const [, secret = ''] = Buffer.from(String(setupToken), 'base64').toString().split('/claim/')
    return { id: String(program) as ProgramId, secret }
  }
  await make('expired')
  const active = await make('active')
  await store.programs.claim({
    setupHash: hashSecret(active.secret),
    accessHash: new Uint8Array([1]),
    at: clock.now(),
  })
  const ended = await make('ended')
  assert.equal((await ask('DELETE', `/admin/simplefin/${ended.id}`)).status, 204)
  assert.equal((await ask('DELETE', `/admin/simplefin/${ended.id}`)).status, 204)
  clock.advance(25 * 3_600_000)
  await make('waiting')
  const rows = listed(await ask('GET', `/admin/users/${id}/simplefin`))
  assert.deepEqual(Object.fromEntries(rows.map(({ name, status }) => [name, status])), {
    expired: 'expired',
    active: 'active',
    ended: 'revoked',
    waiting: 'waiting',
  })
})

test('400 and 404: connections that are none of theirs, a name that is too long, an unknown program', async (t) => {
  const { ask, addUser } = await makeWorld(t)
  const id = await addUser('a@b.example')
  const path = `/admin/users/${id}/simplefin`
  for (const input of [
    { connections: ['x'] },
    { connections: [] },
    { name: 'x'.repeat(101) },
    { other: 1 },
  ]) {
    assert.equal((await ask('POST', path, input)).status, 400)
  }
  assert.equal(
    (await ask('DELETE', '/admin/simplefin/7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10')).status,
    404,
  )
  assert.equal((await ask('DELETE', '/admin/simplefin/none')).status, 404)
})
