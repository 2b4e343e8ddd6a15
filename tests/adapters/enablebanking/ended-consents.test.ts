/** What a connection whose consent is known to have ended is asked and answered (reading R36). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UpstreamError } from '#providers/failure.ts'
import type { Login } from '#providers/port.ts'
import {
  adoptEarlier,
  call,
  type Ground,
  link,
  makeGround,
  personOf,
  queryFor,
  refsOf,
  walk,
} from './harness.ts'

const minuteMs = 60_000
const bankFails = {
  when: ({ path }: { readonly path: string }) => path.includes('/accounts/'),
  does: { kind: 'reply', reply: { status: 500, body: 'x' } },
} as const

/** Reads rows and balances of an `invalidated` connection; each ends as `read`, or by its failure. */
async function openEnded(ground: Ground, login: Login) {
  const { refs, ...found } = await refsOf(ground, login)
  const connection = { ...found.connection, status: 'invalidated' } as const
  const accounts = refs.map((account) => ({ account, connection }))
  const query = { ...(await queryFor(ground, login)), connection }
  const kindOf = (error: unknown) => {
    assert.ok(error instanceof UpstreamError)
    return error.failure.kind
  }
  return async () => [
    await walk(ground.adapter, query).then(() => 'read', kindOf),
    await ground.adapter.balances?.({ login, accounts }, call).then(() => 'read', kindOf),
  ]
}

test('R36: a consent that is known to have ended costs no call of the account, and is named with none left', async () => {
  await using ground = await makeGround()
  const readBoth = await openEnded(ground, await adoptEarlier(ground, 'twins'))
  const person = personOf(ground, 'twins')
  person.ended = { error: 'EXPIRED_SESSION' }
  for (let times = 0; times < 3; times += 1) {
    assert.deepEqual(await readBoth(), ['consent_lost', 'consent_lost'])
  }
  assert.equal(ground.bankCalls().length, 0)
  // It is open again: the bank is asked, and its failures count.
  delete person.ended
  ground.clock.ms += minuteMs + 1
  ground.server.addFault(bankFails)
  for (let times = 0; times < 2; times += 1) {
    assert.deepEqual(await readBoth(), ['unavailable', 'unavailable'])
  }
  // None is left, and the bank may go on to refuse under an open session.
  assert.deepEqual(await readBoth(), ['consent_lost', 'consent_lost'])
  person.ended = { error: 'EXPIRED_SESSION' }
  ground.clock.ms += minuteMs + 1
  assert.deepEqual(await readBoth(), ['consent_lost', 'consent_lost'])
  assert.equal(ground.bankCalls().length, 4)
})

test('R36: of an ended consent the session is asked once a minute, for all its accounts and all who read them', async () => {
  await using ground = await makeGround()
  const readBoth = await openEnded(ground, await adoptEarlier(ground, 'healthy'))
  const countSessionCalls = async () => {
    ground.exchanges.length = 0
    for (let times = 0; times < 5; times += 1) await Promise.all([readBoth(), readBoth()])
    return ground.exchanges.filter((one) => one.includes('/sessions/')).length
  }
  personOf(ground, 'healthy').ended = { error: 'EXPIRED_SESSION' }
  assert.equal(await countSessionCalls(), 1)
  ground.clock.ms += minuteMs - 1
  assert.equal(await countSessionCalls(), 0)
  ground.clock.ms += 2
  assert.equal(await countSessionCalls(), 1)
  // One that is open again is asked no more often while its bank fails.
  delete personOf(ground, 'healthy').ended
  ground.server.addFault(bankFails)
  ground.clock.ms += minuteMs + 1
  assert.equal(await countSessionCalls(), 1)
})

test('R36: a consent that was renewed is read at once, whatever its earlier session was a moment before', async () => {
  await using ground = await makeGround()
  const earlier = await link(ground, 'healthy')
  const readEarlier = await openEnded(ground, earlier)
  personOf(ground, 'healthy').ended = { error: 'EXPIRED_SESSION' }
  assert.deepEqual(await readEarlier(), ['consent_lost', 'consent_lost'])
  const renewed = await link(ground, 'healthy', { known: [earlier] })
  assert.equal(renewed.id, earlier.id)
  const readRenewed = await openEnded(ground, renewed)
  assert.deepEqual(await readRenewed(), ['read', 'read'])
})
