/**
 * The account that a stranger made with somebody's address: whoever proves the address first, by whatever
 * link and in whatever order, owns an account in which nothing of the stranger's is left.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { request } from 'undici'
import type { UserRow } from '#store/ports/users.ts'
import type { Jar } from '#tests/support/jar.ts'
import { totpOf } from '#tests/support/totp.ts'
import { startMailed } from './mailed.ts'
import { askForConsent, connectAgent, followOut, password, redeem, signIn } from './world.ts'

let people = 0
const newPassword = 'staple correct battery'
const receiver = 'http://127.0.0.1:9/stranger'

const world = await startMailed({ WEBHOOK_ALLOW_PRIVATE: 'true' })
after(() => world?.close())

/** Who made the account, what they have, and who owns the address. */
interface Stage {
  readonly email: string
  readonly stranger: Jar
  readonly owner: Jar
  key: string
  token: string
}

type Step = (stage: Stage) => Promise<void>

/** The newest link of this kind that was mailed to the address, when there are so many. */
async function linkTo({ email }: Stage, kind: string, count = 1): Promise<string> {
  const find = () =>
    world.server.received
      .filter(({ to }) => to.includes(email))
      .flatMap(({ text }) => new RegExp(`/${kind}/[\\w-]{43}`).exec(text) ?? [])
  for (let look = 0; look < 500 && find().length < count; look += 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(find().length, count, `${kind} to ${email}`)
  return find().at(-1) ?? ''
}

const signUp: Step = async ({ email, stranger }) => {
  const page = await stranger.get('/sign-up')
  const form = { ...page.hidden, name: 'The stranger', email, password }
  assert.equal((await stranger.post('/sign-up', form)).status, 303)
}

const makeKey: Step = async (stage) => {
  const { hidden } = await stage.stranger.get('/keys')
  const form = { ...hidden, name: 'stranger-key', expires: '' }
  assert.equal((await stage.stranger.post('/keys', form)).status, 303)
  const { text } = await stage.stranger.get('/keys')
  stage.key = /<output name="secret"[^>]*>([^<]*)<\/output>/.exec(text)?.[1] ?? ''
}

const makeAgent: Step = async (stage) => {
  const agent = await connectAgent(world.service, stage.stranger, { name: 'Stranger agent' })
  stage.token = agent.access_token
}

const makeEndpoint: Step = async ({ stranger }) => {
  const { hidden } = await stranger.get('/webhooks')
  const form = { ...hidden, url: receiver, events: ['transactions.synced'] }
  assert.equal((await stranger.post('/webhooks', form)).status, 303)
}

const beginLink = async ({ stranger }: Stage, institution: string): Promise<URL> => {
  const { hidden } = await stranger.get('/connections/new?provider=fiskil')
  const form = { ...hidden, provider: 'fiskil', institution }
  const left = await stranger.post('/connections/new', form)
  assert.equal(left.status, 303)
  return new URL(left.location ?? '')
}

const link: Step = async (stage) => {
  const page = await beginLink(stage, '41')
  const body = `sess_id=${page.searchParams.get('sess_id')}&decision=allow`
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await request(page, { method: 'POST', headers, body })
  await answer.body.dump()
  const back = new URL(String(answer.headers.location))
  await stage.stranger.get(back.pathname + back.search)
  // A second one is left open.
  await beginLink(stage, '22')
}

const setProfile: Step = async ({ stranger }) => {
  const { hidden } = await stranger.get('/settings')
  const form = { ...hidden, name: 'The stranger', timezone: 'Pacific/Chatham' }
  assert.equal((await stranger.post('/settings', form)).location, '/settings?done=saved')
}

const addFactor: Step = async ({ stranger }) => {
  const path = '/settings/second-factor'
  const shown = await stranger.get(path)
  const [, secret = ''] = /<output name="secret"[^>]*>([^<]*)<\/output>/.exec(shown.text) ?? []
  const code = totpOf(secret, world.service.clock.now())
  assert.equal((await stranger.post(path, { ...shown.hidden, code })).status, 303)
}

const acts: readonly Step[] = [makeKey, makeAgent, makeEndpoint, link, setProfile, addFactor]
const actAll: Step = async (stage) => {
  for (const act of acts) await act(stage)
}

const ask: Step = async ({ email, owner }) => {
  const { hidden } = await owner.get('/forgot-password')
  assert.equal((await owner.post('/forgot-password', { ...hidden, email })).status, 303)
}

const choose: Step = async (stage) => {
  const path = await linkTo(stage, 'reset-password')
  const page = await stage.owner.get(path)
  assert.match(page.text, /Nobody has confirmed this address yet/)
  const done = await stage.owner.post(path, { ...page.hidden, newPassword })
  assert.equal(done.location, '/password-changed')
}

/** The owner of the address has no account to sign in to, so the button confirms nothing. */
const pressConfirm: Step = async (stage) => {
  const path = await linkTo(stage, 'confirm-address')
  const page = await stage.owner.get(path)
  assert.match(page.text, /Did somebody else make the account/)
  const pressed = await stage.owner.post(path, page.hidden)
  assert.equal(pressed.location, `/sign-in?return=${encodeURIComponent(path)}`)
  assert.equal((await userOf(stage))?.emailConfirmedAt, null)
}

/** As above, in a browser where the owner of the address is signed in to another account. */
const pressConfirmAsOther: Step = async (stage) => {
  const other = await world.addPerson()
  const jar = await world.enter(other)
  const path = await linkTo(stage, 'confirm-address')
  const { text } = await jar.get(path)
  assert.match(text, new RegExp(`You are signed in as <strong>${other.email}`))
  const [, token = ''] = /name="token" value="([^"]*)"/.exec(text) ?? []
  assert.equal((await jar.post(path, { token })).location, path)
  assert.equal((await userOf(stage))?.emailConfirmedAt, null)
}

const invite: Step = async ({ email }) => {
  assert.equal((await world.invite(email)).status, 201)
}

const accept: Step = async (stage) => {
  const path = await linkTo(stage, 'invitations')
  const page = await stage.owner.get(path)
  assert.match(page.text, /Nobody has confirmed this address yet/)
  const form = { ...page.hidden, name: 'The owner', password: newPassword }
  const done = await stage.owner.post(path, form)
  assert.equal(done.location, '/welcome')
}

const leaveAlone: Step = async () => {}

const orders: Readonly<Record<string, readonly Step[]>> = {
  'everything, then a password by mail': [signUp, actAll, ask, choose],
  'a link for a password, then everything, then the password': [signUp, ask, actAll, choose],
  'everything, the confirmation, a password by mail': [signUp, actAll, pressConfirm, ask, choose],
  'the confirmation, everything, a password by mail': [signUp, pressConfirm, actAll, ask, choose],
  'the confirmation, a link, everything, the password': [
    ...[signUp, pressConfirm, ask, actAll, choose],
  ],
  'a confirmation under another account, then a password by mail': [
    ...[signUp, actAll, pressConfirmAsOther, ask, choose],
  ],
  'an invitation, the sign-up, everything, the acceptance': [invite, signUp, actAll, accept],
  'an invitation, the sign-up, the confirmation, everything, the acceptance': [
    ...[invite, signUp, pressConfirm, actAll, accept],
  ],
  'an invitation, the sign-up, everything, a password by mail': [
    ...[invite, signUp, actAll, ask, choose],
  ],
  ...Object.fromEntries(
    acts.map((act) => [`${act.name} alone, then a password by mail`, [signUp, act, ask, choose]]),
  ),
  'nothing but the sign-up': [signUp, leaveAlone, ask, choose],
}

function userOf({ email }: Stage): Promise<UserRow | null> {
  return world.service.app.store.users.find(email)
}

function newStage(): Stage {
  people += 1
  const email = `owner-${people}@example.test`
  return { email, stranger: world.jar(), owner: world.jar(), key: '', token: '' }
}

for (const [order, steps] of Object.entries(orders)) {
  test(`the first proof of an address leaves nothing of a stranger: ${order}`, async () => {
    const stage = newStage()
    let former: UserRow | null = null
    for (const step of steps) {
      await step(stage)
      if (step === signUp) former = await userOf(stage)
    }
    assert.ok(former !== null)
    await assertShutOut(stage)
    await assertEmpty(stage)
    await assertGone(stage, former)
  })
}

/** Nothing that the stranger had lets them in. */
async function assertShutOut({ email, stranger, key, token }: Stage): Promise<void> {
  assert.equal((await stranger.get('/keys')).location, '/sign-in?return=%2Fkeys')
  assert.equal((await signIn(world.jar(), { email, password })).status, 401)
  const { baseUrl } = world.service
  // A key that was found good within the last second is trusted that long; the clock of the test stands
  // still.
  world.service.clock.advance(1001)
  if (key !== '') {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await request(`${baseUrl}/v1/connections`, { headers })
    await answer.body.dump()
    assert.equal(answer.statusCode, 401)
  }
  if (token !== '') {
    const answer = await request(`${baseUrl}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    await answer.body.dump()
    assert.equal(answer.statusCode, 401)
  }
}

/** The owner signs in without a code and finds an empty, confirmed account. */
async function assertEmpty(stage: Stage): Promise<void> {
  const { email } = stage
  const owner = world.jar()
  assert.equal((await signIn(owner, { email, password: newPassword })).location, '/')
  const found = /stranger|fiskil|unconfirmed/i
  for (const path of ['/', '/keys', '/agents', '/webhooks', '/connections', '/settings', '/usage'])
    assert.doesNotMatch((await owner.get(path)).text, found, path)
  const user = await userOf(stage)
  assert.ok(user !== null && user.emailConfirmedAt !== null)
  assert.equal(user.timezone, null)
  const { store } = world.service.app
  const entries = await store.auditLog.list({ userId: user.id, after: null, limit: 20 })
  for (const { action } of entries)
    assert.match(action, /^account\.(?:signed-up|signed-in|sign-in-refused)$/)
  assert.deepEqual(await store.keys.list(user.id), [])
  assert.deepEqual(await store.connections.list(user.id), [])
  assert.deepEqual(await store.logins.listIds(user.id), [])
  assert.deepEqual(await store.endpoints.list(user.id), [])
  assert.equal(await store.secondFactors.has(user.id), false)
}

const formers: UserRow[] = []

/** The links of before are void, and the stranger’s account waits for its deletion. */
async function assertGone(stage: Stage, former: UserRow): Promise<void> {
  const { id } = former
  formers.push(former)
  const { store } = world.service.app
  const confirmation = await linkTo(stage, 'confirm-address')
  assert.equal((await world.jar().get(confirmation)).status, 410)
  assert.equal(await store.users.find(id), null)
  assert.notEqual(await store.users.find(id, { deleting: true }), null)
}

test('the account has its address as it was proven, not as a stranger spelled it', async () => {
  const stage = newStage()
  const { email } = stage
  await invite(stage)
  await signUp({ ...stage, email: email.toUpperCase() })
  await accept(stage)
  assert.equal((await userOf(stage))?.email, email)
})

test('the sweep deletes the accounts of strangers, here and at the providers', async () => {
  const { store, connections } = world.service.app
  world.service.clock.advance(6 * 60_000)
  const before = await store.connections.listDeleting({ after: null, limit: 100 })
  assert.ok(before.length > 0 && formers.length === Object.keys(orders).length)
  await connections.finishDeletions()
  for (const { id } of formers) assert.equal(await store.users.find(id, { deleting: true }), null)
  assert.deepEqual(await store.connections.listDeleting({ after: null, limit: 100 }), [])
})

test('a stranger who has the confirmation sent again and again does not keep the owner from choosing a password', async () => {
  const stage = newStage()
  await signUp(stage)
  const { text } = await stage.stranger.get('/agents')
  const [, token = ''] =
    /action="\/confirm-address"><input type="hidden" name="token" value="([^"]+)"/.exec(text) ?? []
  for (let count = 0; count < 15; count += 1)
    assert.equal((await stage.stranger.post('/confirm-address', { token })).status, 303)
  await ask(stage)
  await choose(stage)
  await assertShutOut(stage)
  await assertEmpty(stage)
})

test('a code that a stranger was given before the first proof is worth nothing after it', async () => {
  const stage = newStage()
  await signUp(stage)
  const asked = await askForConsent(world.service, stage.stranger)
  const page = await stage.stranger.get(asked.path)
  const form = { ...page.hidden, scope: ['mcp:read'], decision: 'allow' }
  const { url } = await followOut(
    world.service,
    stage.stranger,
    await stage.stranger.post(asked.path, form),
  )
  await ask(stage)
  await choose(stage)
  const code = url.searchParams.get('code') ?? ''
  const answer = await redeem(world.service, asked, code)
  assert.deepEqual(Object.keys(answer).sort(), ['error', 'error_description'])
  await assertEmpty(stage)
})

test('who made the account and confirms the address in it keeps everything, also with a later password by mail', async () => {
  const stage = newStage()
  await signUp(stage)
  await actAll(stage)
  const before = await userOf(stage)
  const path = await linkTo(stage, 'confirm-address')
  const page = await stage.stranger.get(path)
  assert.equal((await stage.stranger.post(path, page.hidden)).location, '/address-confirmed')
  await ask(stage)
  const reset = await linkTo(stage, 'reset-password')
  const chosen = await stage.owner.get(reset)
  assert.doesNotMatch(chosen.text, /Nobody has confirmed/)
  assert.equal((await stage.owner.post(reset, { ...chosen.hidden, newPassword })).status, 303)
  const user = await userOf(stage)
  assert.ok(user !== null && before !== null)
  assert.equal(user.id, before.id)
  const { store, clock } = { store: world.service.app.store, clock: world.service.clock }
  assert.equal((await store.keys.list(user.id))[0]?.revokedAt, null)
  assert.equal((await store.oauth.listAgents(user.id, clock.now())).length, 1)
  assert.equal((await store.endpoints.list(user.id)).length, 1)
  assert.equal((await store.connections.list(user.id)).length, 1)
  assert.equal(await store.secondFactors.has(user.id), true)
})
