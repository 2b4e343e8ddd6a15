/** What a connection whose consent is known to have ended is asked and answered (reading R36). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adoptEarlier, call, failureOf, makeGround, personOf, queryFor, walk } from './harness.ts'

test('R36: a consent that is known to have ended costs no call of the account, and is named with none left', async () => {
  await using ground = await makeGround()
  const login = await adoptEarlier(ground, 'twins')
  const known = await queryFor(ground, login)
  const connection = { ...known.connection, status: 'invalidated' } as const
  const accounts = known.accounts.map((account) => ({ account, connection }))
  const readBoth = async () => [
    await failureOf(walk(ground.adapter, { ...known, connection })),
    await failureOf(ground.adapter.balances?.({ login, accounts }, call) ?? assert.fail()),
  ]
  const kindsOf = async () => (await readBoth()).map(({ kind }) => kind)
  const person = personOf(ground, 'twins')
  person.ended = { error: 'EXPIRED_SESSION' }
  for (let times = 0; times < 3; times += 1) {
    assert.deepEqual(await kindsOf(), ['consent_lost', 'consent_lost'])
  }
  assert.equal(ground.bankCalls().length, 0)
  // It is open again: the bank is asked, and its failures count.
  delete person.ended
  const fault = { kind: 'reply', reply: { status: 500, body: 'x' } } as const
  ground.server.addFault({ when: ({ path }) => path.includes('/accounts/'), does: fault })
  for (let times = 0; times < 2; times += 1) {
    assert.deepEqual(await kindsOf(), ['unavailable', 'unavailable'])
  }
  assert.deepEqual(await kindsOf(), ['throttled', 'throttled'])
  person.ended = { error: 'EXPIRED_SESSION' }
  assert.deepEqual(await kindsOf(), ['consent_lost', 'consent_lost'])
  assert.equal(ground.bankCalls().length, 4)
})
