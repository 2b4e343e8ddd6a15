/** Passkeys in the settings: added, refused, removed; and what operators and files tell of them. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { maxPasskeys } from '#store/ports/passkeys.ts'
import { type Lies, makeSoftPasskey } from '#tests/support/authenticator.ts'
import { totpOf } from '#tests/support/totp.ts'
import {
  addSafePerson,
  arriveAtStep,
  enterByName,
  givePasskey,
  homeOf,
  mustAsk,
  namedJar,
  passkeysPath,
  readAsked,
  readTrail,
  signInPath,
} from './passkey-world.ts'
import { password, signIn, startPages } from './world.ts'

const world = await startPages({ env: { RATE_LIMIT_SIGNIN: '100000' } })
after(() => world.close())

const store = () => world.service.app.store

test('an app and passkeys stand side by side: each is removed alone, and the last one takes the codes along', async () => {
  const { person, jar } = await addSafePerson(world)
  const page = await jar.get('/settings/second-factor/app')
  const secret = /<output name="secret"[^>]*>([^<]*)<\/output>/.exec(page.text)?.[1] ?? ''
  const codeNow = () => totpOf(secret, world.service.clock.now())
  const on = await jar.post('/settings/second-factor', { ...page.hidden, code: codeNow() })
  assert.equal(on.status, 303, on.text)
  const second = await arriveAtStep(world, person)
  assert.match(second.page.text, /<h1>Enter your code<\/h1>/)
  assert.ok(readAsked(second.page) !== null)
  world.service.clock.advance(30_000)
  const off = await jar.get('/settings/second-factor/remove')
  assert.match(off.text, /Your passkeys and recovery codes stay/)
  const given = { ...off.hidden, code: codeNow(), decision: 'confirm' }
  const removed = await jar.post('/settings/second-factor/remove', given)
  assert.equal(removed.location, '/settings?done=app-removed')
  assert.equal(await store().secondFactors.countCodes(person.id), 10)
  const [row] = await store().passkeys.list(person.id)
  const path = `${passkeysPath}/${row?.id}/remove`
  const question = await jar.get(path)
  assert.match(question.text, /It is your last second factor/)
  const kept = await jar.post(path, { ...question.hidden, decision: 'cancel' })
  assert.equal(kept.location, '/settings')
  assert.equal((await store().passkeys.list(person.id)).length, 1)
  const gone = await jar.post(path, { ...question.hidden, decision: 'confirm' })
  assert.equal(gone.location, '/settings?done=passkey-removed')
  assert.equal(await store().secondFactors.has(person.id), false)
  assert.equal(await store().secondFactors.countCodes(person.id), 0)
  assert.ok(
    (await readTrail(world, person)).includes(`account.remove-passkey {"passkeyId":"${row?.id}"}`),
  )
  const fresh = namedJar(world)
  assert.equal((await signIn(fresh, { email: person.email, password })).location, '/')
})

test('303: adding and removing need the password of the last ten minutes, or a passkey of theirs', async () => {
  const { person, jar, passkey } = await addSafePerson(world)
  const [row] = await store().passkeys.list(person.id)
  const path = `${passkeysPath}/${row?.id}/remove`
  const { hidden } = await jar.get(path)
  world.service.clock.advance(10 * 60_000)
  for (const place of [passkeysPath, path]) {
    const to = `/sign-in?return=${encodeURIComponent(place)}`
    assert.equal((await jar.get(place)).location, to)
    assert.equal((await namedJar(world).get(place)).location, to)
  }
  const late = await jar.post(path, { ...hidden, decision: 'confirm' })
  assert.match(late.location ?? '', /^\/sign-in\?return=/)
  assert.equal((await store().passkeys.list(person.id)).length, 1)
  const again = mustAsk(await jar.get(`/sign-in?return=${encodeURIComponent(path)}`))
  const credential = passkey.answer(again.publicKey)
  const entered = await jar.post(signInPath, { ...again.fields, credential })
  assert.deepEqual([entered.status, entered.location], [303, path], entered.text)
  assert.equal((await jar.get(path)).status, 200)
})

test('another person’s passkey is not found, and cannot be removed', async () => {
  const { person, passkey } = await addSafePerson(world)
  const other = await addSafePerson(world)
  const [row] = await store().passkeys.list(person.id)
  const path = `${passkeysPath}/${row?.id}/remove`
  assert.equal((await other.jar.get(path)).location, '/settings')
  const { hidden } = await other.jar.get('/settings')
  const answer = await other.jar.post(path, { ...hidden, decision: 'confirm' })
  assert.equal(answer.location, '/settings')
  assert.equal((await store().passkeys.list(person.id)).length, 1)
  assert.equal((await givePasskey(world, passkey)).answer.status, 303)
})

test('400: a passkey that is not right, not named, stored already or one too many is not added', async () => {
  const { person, jar, passkey } = await addSafePerson(world)
  const count = async () => (await store().passkeys.list(person.id)).length
  const post = async (fields: Readonly<Record<string, string>>, lies: Lies = {}) => {
    const asked = mustAsk(await jar.get(passkeysPath))
    const made = makeSoftPasskey(asked.publicKey, homeOf(world), lies)
    const form = { ...asked.fields, name: 'x', credential: made.attestation, ...fields }
    return { form, answer: await jar.post(passkeysPath, form) }
  }
  for (const lies of [
    ...[{ origin: 'http://localhost:9' }, { rpId: 'evil.test' }, { isVerified: false }],
    ...[{ isPresent: false }, { challenge: 'AAAA' }, { type: 'webauthn.get' }],
  ]) {
    const { answer } = await post({}, lies)
    assert.equal(answer.status, 400, JSON.stringify(lies))
    assert.match(answer.text, /That passkey was not accepted/)
  }
  assert.match((await post({ name: ' ' })).answer.text, /The name must have 1 to 100 characters/)
  assert.match((await post({ credential: '' })).answer.text, /This browser gave no passkey/)
  for (const credential of ['{', '{}', passkey.attestation]) {
    assert.equal((await post({ credential })).answer.status, 400)
  }
  assert.equal(await count(), 1)
  const { form, answer } = await post({ name: 'once' })
  assert.equal(answer.status, 303)
  const again = await jar.post(passkeysPath, form)
  assert.equal(again.status, 400)
  assert.match(again.text, /This was sent before/)
  while ((await count()) < maxPasskeys) assert.equal((await post({})).answer.status, 303)
  const surplus = await post({})
  assert.equal(surplus.answer.status, 400)
  assert.match(surplus.answer.text, /You have as many passkeys as there can be/)
  assert.match((await jar.get('/settings')).text, /the most there can be/)
  assert.equal(await count(), maxPasskeys)
})

test('the challenge of a new passkey belongs to its session', async () => {
  const person = await world.addPerson()
  const [jar, other] = [await enterByName(world, person), await enterByName(world, person)]
  const asked = mustAsk(await jar.get(passkeysPath))
  const made = makeSoftPasskey(asked.publicKey, homeOf(world))
  const { token = '' } = (await other.get(passkeysPath)).hidden
  const form = { ...asked.fields, token, name: 'x', credential: made.attestation }
  assert.equal((await other.post(passkeysPath, form)).status, 400)
  assert.deepEqual(await store().passkeys.list(person.id), [])
})

test('an operator sees the kinds of a second factor, and removes all of them', async () => {
  const { person, passkey } = await addSafePerson(world)
  await world.service.app.actions.resetSecondFactor(byOperator, person.id)
  assert.deepEqual(await store().passkeys.list(person.id), [])
  assert.equal(await store().secondFactors.countCodes(person.id), 0)
  assert.equal((await givePasskey(world, passkey)).answer.status, 401)
  const jar = namedJar(world)
  assert.equal((await signIn(jar, { email: person.email, password })).location, '/')
})

test('the file of a person’s own data names their passkeys, without their keys', async () => {
  const { jar, passkey } = await addSafePerson(world)
  const { text } = await jar.get('/settings/download')
  const { account } = JSON.parse(text) as {
    account: { passkeys: unknown[]; secondFactor: boolean }
  }
  assert.equal(account.secondFactor, true)
  assert.deepEqual(
    account.passkeys.map((one) => Object.keys(one as object)),
    [['name', 'createdAt', 'lastUsedAt']],
  )
  assert.ok(!text.includes(passkey.id))
})
