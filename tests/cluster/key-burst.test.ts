/**
 * Bursts of a key while limits are shared through Redis: the latency of Redis does not change the result
 * (R6).
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Fleet, startFleet, until } from './fleet.ts'
import type { Answer, ServerProcess } from './server-process.ts'

let fleet: Fleet
before(async () => {
  fleet = await startFleet({
    env: { RATE_LIMIT_CHEAP: '90', RATE_LIMIT_PREAUTH: '5', RATE_LIMIT_PREAUTH_IP: '12' },
  })
})
after(() => fleet?.close())

const path = '/v1/categories'
const statuses = (answers: readonly Answer[]) => new Set(answers.map(({ status }) => status))
const burst = (count: number, ask: (index: number) => Promise<Answer>) =>
  Promise.all(Array.from({ length: count }, (_, index) => ask(index)))
const serverOf = (index: number): ServerProcess => (index % 2 === 0 ? fleet.one : fleet.two)

test('R6: a burst of one good key within its own bucket is refused by no process, also the first one', async () => {
  const user = await fleet.createUser()
  const answers = await burst(89, (index) => serverOf(index).get(path, user.key))
  assert.deepEqual(statuses(answers), new Set([200]))
})

test('R6: guesses from its address that have filled the ceiling shut out no key that was good before', async () => {
  const user = await fleet.createUser()
  for (const server of [fleet.one, fleet.two]) {
    assert.equal((await server.get(path, user.key)).status, 200)
  }
  const guesses = await burst(60, (index) => serverOf(index).get(path, `guess-${index}-and-no-key`))
  assert.deepEqual(statuses(guesses), new Set([401, 429]))
  assert.equal(guesses.filter(({ status }) => status === 401).length, 12)
  const answers = await burst(40, (index) => serverOf(index).get(path, user.key))
  assert.deepEqual(statuses(answers), new Set([200]))

  await fleet.one.admin('DELETE', `/keys/${user.keyId}`)
  assert.notEqual((await fleet.one.get(path, user.key)).status, 200, 'at once where it was revoked')
  await until(
    'refused by the other process',
    async () => (await fleet.two.get(path, user.key)).status !== 200,
    1100,
  )
})
