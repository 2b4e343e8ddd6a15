/**
 * The demo users' keys and password are the same for every start over one store, and no start takes away
 * another's.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeUserActions } from '#auth/actions.ts'
import { hashKey, isKeyShaped } from '#auth/keys.ts'
import { byOperator } from '#contract/actor.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Credentials } from '#providers/credentials.ts'
import { type Demo, prepareDemo } from '#sandbox/demo.ts'
import { credentialsOf, type MagicName } from '#sandbox/magic-users.ts'
import { makeSealer } from '#store/seal.ts'
import { makeWorld, type World } from '#tests/request/admin/world.ts'

const secretOf = (byte: number) => makeSealer([new Uint8Array(32).fill(byte)]).derive('demo')

const onlyFiskil = {
  ...{ fiskil: { baseUrl: '' }, akahu: null, snaptrade: null },
  ...{ up: null, simplefin: null, enablebanking: null },
}

interface Ground {
  readonly world: World
  readonly actions: ReturnType<typeof makeUserActions>
  /** What a start does, with the secret of its encryption key. */
  start(secret?: Uint8Array): Promise<Demo>
}

async function makeGround(t: TestContext): Promise<Ground> {
  const world = await makeWorld(t, { providers: ['fiskil'] })
  const { store, connections, signIns, clock } = world
  const invite = async () => assert.fail('nobody is invited')
  const actions = makeUserActions({ store, clock, signIns, invite })
  const person = (name: MagicName) => credentialsOf(name, onlyFiskil)
  const options = { store, actions, connections, sandbox: { person } }
  return {
    world,
    actions,
    start: (secret = secretOf(1)) => prepareDemo({ ...options, secret }),
  }
}

async function findOwner({ world }: Ground, key = ''): Promise<string | undefined> {
  const caller = await world.store.keys.findCaller(hashKey(key))
  return world.store.users.find(caller?.userId ?? '').then((user) => user?.email)
}

test('starts over one store, also at once on an empty one, have the same keys and password and end no session', async (t) => {
  const ground = await makeGround(t)
  const { store } = ground.world
  const [one, other] = await Promise.all([ground.start(), ground.start()])
  assert.deepEqual(other, one)
  const user = await store.users.find('professional@demo.example')
  assert(user !== null)
  const password = await store.sessions.findPassword(user.id)
  for (let count = 0; count < 12; count += 1) assert.deepEqual(await ground.start(), one)
  // A password that is set again has another salt.
  assert.equal(await store.sessions.findPassword(user.id), password)
  assert.equal((await store.keys.list(user.id)).length, 1)
  for (const { key, email } of one.users) {
    assert.ok(isKeyShaped(key))
    assert.equal(await findOwner(ground, key), email)
  }
  const given = { email: user.email, password: one.password }
  assert.equal((await ground.world.signIns.signIn(given, '192.0.2.1')).kind, 'in')
})

test('R36: at providers that count the calls of a person, each demo user is a person of their own', async (t) => {
  const { world, actions } = await makeGround(t)
  const { store } = world
  const access = {
    ...onlyFiskil,
    simplefin: { baseUrl: 'http://bridge.test', allowPrivate: true },
    enablebanking: { baseUrl: '', applicationId: '', privateKey: '', countries: null },
  }
  const linked: { readonly userId: UserId; readonly person: Credentials }[] = []
  const linkConnections: typeof world.connections.linkConnections = async (by, userId, given) => {
    const person = given as Credentials
    if (person.provider === 'fiskil') return world.connections.linkConnections(by, userId, person)
    linked.push({ userId, person })
    return []
  }
  await prepareDemo({
    ...{ store, actions, connections: { linkConnections }, secret: secretOf(1) },
    sandbox: { person: (name) => credentialsOf(name, access) },
  })
  assert.equal(linked.length, 4)
  assert.equal(new Set(linked.map(({ userId }) => userId)).size, 2)
  assert.equal(new Set(linked.map(({ person }) => JSON.stringify(person))).size, 4)
})

test('a demo key that somebody revoked stays revoked, and all starts after it have one other', async (t) => {
  const ground = await makeGround(t)
  const { actions, world } = ground
  const given = new Set<string>()
  for (let round = 0; round < 3; round += 1) {
    const demo = await ground.start()
    const [key = ''] = demo.users.map((user) => user.key)
    assert.deepEqual(await ground.start(), demo)
    assert.equal(await findOwner(ground, key), demo.users[0]?.email)
    given.add(key)
    const caller = await world.store.keys.findCaller(hashKey(key))
    assert(caller !== null)
    await actions.revokeKey(byOperator, caller.keyId)
    world.clock.advance(1000)
  }
  assert.equal(given.size, 3)
  for (const key of given) assert.equal(await findOwner(ground, key), undefined)
})

test('a start succeeds although somebody made twenty keys for a demo user', async (t) => {
  const ground = await makeGround(t)
  const { actions, world } = ground
  const user = await actions.createUser(byOperator, { email: 'developer@demo.example' })
  for (let count = 0; count < 20; count += 1) await actions.createKey(byOperator, user.id, {})
  const { users } = await ground.start()
  assert.equal(await findOwner(ground, users[1]?.key), user.email)
  assert.equal((await world.store.keys.list(user.id)).length, 21)
})

test('another encryption key gives another password and other keys, and leaves the earlier keys valid', async (t) => {
  const ground = await makeGround(t)
  const before = await ground.start()
  const after = await ground.start(secretOf(2))
  assert.notEqual(after.password, before.password)
  for (const [index, { key, email }] of before.users.entries()) {
    assert.notEqual(after.users[index]?.key, key)
    assert.equal(await findOwner(ground, key), email)
    assert.equal(await findOwner(ground, after.users[index]?.key), email)
  }
})
