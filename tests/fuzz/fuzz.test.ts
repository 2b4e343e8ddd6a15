/**
 * A short run of the fuzzer in this process; the long one is `npm run fuzz`. The seed stands still, so that a
 * failure means the change at hand; `FUZZ_SEED` draws other requests.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Service, startService } from '#tests/support/service.ts'
import { type Bursts, makeBursts } from './bursts.ts'
import { type Kind, tryProperty } from './properties.ts'
import { fuzzEnvironment, makeWorld, type World } from './world.ts'

const seed = Number(process.env.FUZZ_SEED ?? 20261121)
let service: Service
let world: World
let bursts: Bursts

before(async () => {
  service = await startService({ env: { ...fuzzEnvironment, LOG_LEVEL: 'fatal' } })
  world = await makeWorld({
    ...service,
    advance: async (ms) => service.clock.advance(ms),
  })
  bursts = makeBursts(world)
})

after(async () => {
  bursts.sender.close()
  await service.close()
})

async function holds(kind: Kind, runs: number): Promise<void> {
  const failure = await tryProperty(kind, world, bursts, { seed, runs })
  if (failure !== null) assert.fail(failure)
}

test('R11 R12 R14 R15: hostile requests get the envelope or a described answer, never a 5xx, a hang or a row of another', () =>
  holds('requests', 400))

test('R20: while providers break, the same requests get the documented 503 at worst', () =>
  holds('faults', 100))

test('pipelined, dribbled, half-closed and aborted requests are answered or ended, and leave nothing behind', async () => {
  await holds('sockets', 120)
  const answer = await service.get('/v1/categories', `Bearer ${world.users.own?.key}`)
  assert.equal(answer.status, 200)
})

test('arbitrary input and disconnects on both listeners do not affect other clients', async () => {
  await holds('strangers', 60)
  const answer = await service.get('/v1/categories', `Bearer ${world.users.own?.key}`)
  assert.equal(answer.status, 200)
})

test('the run reached the code behind the checks: good answers, refusals and not-founds are among the answers', () => {
  const { statuses } = bursts.tally
  for (const status of ['200', '400', '401', '403', '404']) {
    assert.ok((statuses.get(status) ?? 0) > 20, `${status}: ${statuses.get(status)}`)
  }
})
