/** Sessions that were authorised elsewhere: what is asked of their accounts, and what is not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Credentials } from '#providers/credentials.ts'
import { demoApplication, toSessionId } from '#sandbox/enablebanking/index.ts'
import { adopt, call, dayMs, failureOf, makeGround, refsOf, toLogin } from './harness.ts'

const own = (fields: object): Credentials => ({ provider: 'enablebanking', ...fields })

test('an authorised session is adopted with what one call for each account tells; one that has ended is refused', async () => {
  await using ground = await makeGround()
  const { found } = await refsOf(ground, await adopt(ground, 'healthy'))
  assert.deepEqual(
    found.accounts?.map(({ name, type, assumed }) => [name, type, assumed]),
    [
      ['Käyttötili', 'transaction', undefined],
      ['Säästötili', 'savings', undefined],
      ['Kaarna Credit', 'credit-card', undefined],
    ],
  )
  assert.deepEqual(ground.bankCalls(), Array(3).fill('200 GET /accounts/{id}/details'))
  const session = toSessionId(demoApplication.id, 'expired')
  const failure = await failureOf(ground.adapter.identify(own({ session }), call))
  assert.match(failure.detail, /this session has ended/)
})

test('where the calls of the day are used up, an adopted session is asked nothing, and its accounts have assumed names', async () => {
  await using ground = await makeGround()
  for (let time = 0; time < 4; time += 1) await adopt(ground, 'healthy')
  const calls = ground.bankCalls().length
  const login = await adopt(ground, 'healthy')
  assert.equal(ground.bankCalls().length, calls)
  const { found } = await refsOf(ground, login)
  assert.deepEqual(
    found.accounts?.map(({ name, type, assumed }) => [name, type, assumed]),
    Array.from({ length: 3 }, () => ['Pankki Kaarna', 'other', ['name', 'type']]),
  )
  // The same session again, when they may be asked.
  ground.clock.ms += dayMs
  const session = toSessionId(demoApplication.id, 'healthy')
  const again = await ground.adapter.identify(own({ session }), call, [login])
  const { found: later } = await refsOf(ground, toLogin(again))
  assert.deepEqual(
    later.accounts?.map(({ name, upstreamId }) => [name, upstreamId]),
    ['Käyttötili', 'Säästötili', 'Kaarna Credit'].map((name, index) => [
      name,
      found.accounts?.[index]?.upstreamId,
    ]),
  )
})

test('details that do not repeat which account it is are taken; a session with too many accounts is not', async () => {
  await using ground = await makeGround()
  const { server } = ground
  server.addFault({
    when: ({ path }) => path.endsWith('/details'),
    does: {
      kind: 'edit',
      edit: (reply) => ({ ...reply, body: { details: 'Konto', cash_account_type: 'CACC' } }),
    },
  })
  const { found } = await refsOf(ground, await adopt(ground, 'healthy'))
  assert.deepEqual(
    found.accounts?.map(({ name }) => name),
    ['Konto', 'Konto', 'Konto'],
  )
  server.clearFaults()
  const calls = ground.bankCalls().length
  const accounts = Array.from({ length: 501 }, (_one, at) => ({
    uid: `u${at}`,
    identification_hash: `h${at}`,
  }))
  server.addFault({
    when: ({ path }) => path.startsWith('/sessions/'),
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: { ...(reply.body as object), accounts_data: accounts },
      }),
    },
  })
  assert.equal((await failureOf(adopt(ground, 'twins'))).kind, 'malformed')
  assert.equal(ground.bankCalls().length, calls)
})

test('an account whose details the bank refuses is adopted all the same', async () => {
  await using ground = await makeGround()
  ground.server.addFault({
    when: ({ path }) => path.endsWith('/details'),
    does: { kind: 'reply', reply: { status: 500, body: {} } },
    times: 1,
  })
  const { found } = await refsOf(ground, await adopt(ground, 'healthy'))
  const names = found.accounts?.map(({ name }) => name)
  assert.equal(names?.filter((name) => name === 'Pankki Kaarna').length, 1)
  assert.match(ground.oddities.join(), /the details of an account were not told: unavailable/)
})
