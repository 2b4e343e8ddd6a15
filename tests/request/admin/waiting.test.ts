/**
 * Calls of operators that wait for other work of the same person at a provider that hangs: each is answered
 * within the time of one request, and what was refused is not done later.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { ConnectionId, UserId } from '#kernel/ids.ts'
import { until } from '#tests/support/until.ts'
import { akahu, errorOf, fiskil, link, listed, need } from './credentials.ts'
import { type Answer, makeWorld } from './world.ts'

const timeoutMs = 1500
/** The rest is for a busy machine; the time of two requests is more. */
const inTimeMs = 2600
const hang = { does: { kind: 'hang' } } as const

async function open(t: TestContext) {
  const world = await makeWorld(t, { providers: ['fiskil', 'akahu'], timeoutMs })
  const id = (await world.addUser('a@b.example')) as UserId
  const emulator = need(world, 'fiskil')
  return { world, id, emulator, path: `/admin/users/${id}/connections` }
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const from = performance.now()
  const result = await work
  const tookMs = performance.now() - from
  assert.ok(tookMs < inTimeMs, `${Math.round(tookMs)} ms`)
  return result
}

/** Three of the same at once. */
const askThrice = (ask: () => Promise<Answer>): Promise<readonly Answer[]> =>
  inTime(Promise.all([ask(), ask(), ask()]))

test('503: of several links at once each is answered within the time of one request', async (t) => {
  const { world, emulator, path } = await open(t)
  emulator.addFault(hang)
  const answers = await askThrice(() => world.ask('POST', path, fiskil))
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers['retry-after']]),
    Array(3).fill([503, '30']),
  )
})

test('503: a link that waits for removals is refused within the time of one request, and not made later', async (t) => {
  const { world, id, emulator, path } = await open(t)
  const rows = await link(world, id, fiskil)
  emulator.addFault(hang)
  const removals = rows.map((row) => world.ask('DELETE', `/admin/connections/${row.id}`))
  const answer = await inTime(world.ask('POST', path, fiskil))
  assert.equal(answer.status, 503)
  assert.match(
    errorOf(answer).message,
    /^An earlier link or removal at this provider is still in progress; retry later$/,
  )
  await Promise.all(removals)
  emulator.clearFaults()
  // The turn after the one that was refused.
  await world.ask('POST', path, { ...fiskil, endUserId: 'nobody' })
  assert.deepEqual(listed(await world.ask('GET', path)), [])
})

test('503: a refresh that waits for others of its login is refused within the time of one request', async (t) => {
  const { world, id, emulator } = await open(t)
  const [row] = await link(world, id, fiskil)
  emulator.addFault(hang)
  const answers = await askThrice(() => world.ask('POST', `/admin/connections/${row?.id}/refresh`))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [503, 503, 503],
  )
})

test('204: a removal that waits for others is answered within the time of one request and goes on', async (t) => {
  const { world, id, emulator } = await open(t)
  const rows = await link(world, id, fiskil)
  emulator.addFault(hang)
  const remove = async () => {
    const answers = rows.map((row) => world.ask('DELETE', `/admin/connections/${row.id}`))
    return Promise.all(answers)
  }
  for (const { status, headers } of await inTime(remove())) {
    assert.deepEqual([status, headers['x-connection-status']], [204, 'deleting'])
  }
  emulator.clearFaults()
  await until('both have ended', async () => {
    await world.connections.finishDeletions()
    return emulator.people.healthy.consents.every(({ active }) => !active)
  })
})

test('201: a link does not wait for work at another provider', async (t) => {
  const { world, emulator, path } = await open(t)
  emulator.addFault(hang)
  const asked = emulator.requests.length
  const other = world.ask('POST', path, fiskil)
  await until('it is asked', () => emulator.requests.length > asked, 2)
  const first = await Promise.race([world.ask('POST', path, akahu), other])
  assert.equal(first.status, 201)
  await other
})

test('204: a person is deleted at once while their refreshes and links go on at a provider that hangs', async (t) => {
  const { world, id, emulator, path } = await open(t)
  const [row] = await link(world, id, fiskil)
  emulator.addFault({ ...hang, when: ({ path: at }) => at === '/v1/consent' })
  const asked = emulator.requests.length
  const refreshes = [1, 2, 3].map(() =>
    world.connections.refreshConnection(byOperator, row?.id as ConnectionId, { priority: 'user' }),
  )
  const under = Promise.allSettled([...refreshes, world.ask('POST', path, fiskil)])
  await until('both are asked for', () => emulator.requests.length > asked + 1, 2)
  const from = performance.now()
  assert.equal((await world.ask('DELETE', `/admin/users/${id}`)).status, 204)
  assert.ok(performance.now() - from < timeoutMs)
  assert.equal(await world.store.users.find(id, { deleting: true }), null)
  assert.ok(emulator.people.healthy.consents.every(({ active }) => !active))
  assert.ok(world.deletions.every(({ outcome }) => outcome === 'done'))
  await under
  assert.deepEqual(await world.store.logins.listIds(id), [])
})
