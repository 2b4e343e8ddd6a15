/**
 * The webhooks that are requested for a token: one for each kind, again where one is missing, none once the
 * token has ended.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectionId, newId, upstreamId } from '#kernel/ids.ts'
import type { Login } from '#providers/port.ts'
import { call, failureOf, type Ground, loginFor, makeGround } from './harness.ts'

/** The webhooks requested for the person of a login: `type state`, sorted. */
async function standing(ground: Ground, login: Login): Promise<string[]> {
  const response = await fetch(`${ground.akahu.baseUrl}/webhooks`, {
    headers: {
      authorization: `Bearer ${login.secret}`,
      'x-akahu-id': 'app_token_ckdemo0000000000000000000',
    },
  })
  const { items } = (await response.json()) as { items: { type: string; state: string }[] }
  return items.map(({ type, state }) => `${type} ${state}`).sort()
}

const kinds = ['ACCOUNT', 'TOKEN', 'TRANSACTION']
const asked = ({ akahu }: Ground) =>
  akahu.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/webhooks').length

async function listen({ adapter }: Ground, login: Login): Promise<void> {
  const { listen: ask } = adapter.webhooks ?? {}
  assert.ok(ask !== undefined)
  await ask(login, call)
}

test('each kind is asked for with the id of the login, and again only where it is missing', async () => {
  await using ground = await makeGround()
  const login = loginFor('healthy')
  await listen(ground, login)
  const wanted = kinds.map((kind) => `${kind} ${login.id}`)
  assert.deepEqual(await standing(ground, login), wanted)
  await listen(ground, login)
  assert.equal(asked(ground), 3)
  const order = { kind: 'WEBHOOK_CANCELLED', account: null }
  ground.akahu.faultControls.webhooks.fire('healthy', order, {})
  await listen(ground, login)
  assert.deepEqual(await standing(ground, login), wanted)
  assert.equal(asked(ground), 6)
})

test('what another login of the same person asked for stays beside it', async () => {
  await using ground = await makeGround()
  const [one, other] = [loginFor('healthy'), loginFor('healthy')]
  await listen(ground, one)
  await listen(ground, other)
  const wanted = [one, other].flatMap(({ id }) => kinds.map((kind) => `${kind} ${id}`))
  assert.deepEqual(await standing(ground, one), wanted.sort())
})

test('with the last connection of a token what it asked for ends, also when that is refused', async () => {
  for (const isRefused of [false, true]) {
    await using ground = await makeGround()
    const login = loginFor('healthy')
    await listen(ground, login)
    if (isRefused) {
      ground.akahu.addFault({
        when: ({ path }) => path.startsWith('/v1/webhooks'),
        does: { kind: 'reply', reply: { status: 500, body: {} } },
      })
    }
    const ref = {
      id: newId<ConnectionId>(),
      upstreamId: upstreamId('auth_1'),
      status: 'active',
    } as const
    await ground.adapter.revoke(login, ref, { last: true, isAsked: false }, call)
    assert.equal(ground.akahu.people.healthy.userToken, null)
    const ended = ground.akahu.requests.filter(
      ({ method, path }) => method === 'DELETE' && path.startsWith('/v1/webhooks/'),
    )
    assert.equal(ended.length, isRefused ? 0 : 3)
    assert.deepEqual(ground.oddities, isRefused ? ['webhooks could not be ended'] : [])
  }
})

test('an app without permission is refused as for other calls, and an ended token is a lost consent', async () => {
  await using ground = await makeGround()
  const login = loginFor('healthy')
  ground.akahu.addFault({
    when: ({ path }) => path === '/v1/webhooks',
    times: 1,
    does: { kind: 'reply', reply: { status: 403, body: { success: false, message: 'No' } } },
  })
  assert.equal((await failureOf(listen(ground, login))).kind, 'rejected')
  ground.akahu.people.healthy.userToken = null
  assert.equal((await failureOf(listen(ground, login))).kind, 'consent_lost')
  const forgotten = await failureOf(listen(ground, { ...login, secret: null }))
  assert.ok(forgotten.kind === 'consent_lost' && forgotten.becomes === 'revoked')
})

test('a list of webhooks that cannot be read is malformed, and none of it is followed', async () => {
  await using ground = await makeGround()
  const bodies = ['no JSON', { success: true }, { success: true, items: [{ _id: '../token' }] }]
  for (const body of bodies) {
    ground.akahu.addFault({
      when: ({ path }) => path === '/v1/webhooks',
      times: 1,
      does: { kind: 'reply', reply: { status: 200, body } },
    })
    assert.equal((await failureOf(listen(ground, loginFor('healthy')))).kind, 'malformed')
  }
})
