/**
 * A stored row by which somebody proves who they are, and that cannot be read: it proves nothing, no page
 * fails, another way in is named, and the log says what mends it.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { makeRecoveryCodes } from '#auth/sign-in/recovery-codes.ts'
import { toTotpText } from '#auth/sign-in/totp.ts'
import { totpOf } from '#tests/support/totp.ts'
import { pathIn, startMailed } from './mailed.ts'
import { addSafePerson, givePasskey } from './passkey-world.ts'
import { type Person, password, signIn } from './world.ts'

const world = await startMailed()
after(() => world?.close())

const secret = new Uint8Array(20).fill(7)

function damage(statement: string, { id }: Person): void {
  const db = new DatabaseSync(join(world.service.dataDir, 'sandbox/tributary.db'))
  const { changes } = db.prepare(statement).run(id)
  db.close()
  assert.ok(Number(changes) > 0)
}

const isLogged = (words: string) => world.service.logLines.some((line) => line.includes(words))

/** A person whose app is there and cannot be read any more; its code, and a recovery code. */
async function addWithApp() {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const { codes, hashes: codeHashes } = makeRecoveryCodes()
  const at = world.service.clock.now()
  const { secondFactors } = world.service.app.store
  await secondFactors.create({ userId: person.id, secret, at, step: 1, codeHashes })
  damage('update second_factors set secret = zeroblob(64) where user_id = ?', person)
  const right = totpOf(toTotpText(secret), at)
  return { person, jar, right, recovery: codes[0] ?? assert.fail('no recovery code') }
}

const canBeMended = /cannot read the key of your app.* A recovery code works; or ask the operator/

test('503: a code of an app whose key cannot be read is not said to be wrong, and a recovery code signs in', async () => {
  const { person, right, recovery } = await addWithApp()
  const jar = world.jar()
  const step = await signIn(jar, { email: person.email, password })
  const page = await jar.get(step.location ?? '')
  const refused = await jar.post('/sign-in/code', { ...page.hidden, code: right })
  assert.equal(refused.status, 503)
  assert.match(refused.text, canBeMended)
  assert.ok(isLogged(`tributary users reset-second-factor ${person.id}`))
  const entered = await jar.post('/sign-in/code', { ...refused.hidden, code: recovery })
  assert.equal(entered.status, 303, entered.text)
})

test('503: an app whose key cannot be read is switched off by a recovery code, and by no code of it', async () => {
  const { person, jar, right, recovery } = await addWithApp()
  const path = '/settings/second-factor/remove'
  const { hidden } = await jar.get(path)
  const form = { ...hidden, decision: 'confirm' }
  const refused = await jar.post(path, { ...form, code: right })
  assert.equal(refused.status, 503)
  assert.match(refused.text, canBeMended)
  const done = await jar.post(path, { ...form, code: recovery })
  assert.equal(done.location, '/settings?done=switched-off', done.text)
  assert.equal(await world.service.app.store.secondFactors.has(person.id), false)
})

test('401: a stored password that is none reads like a wrong one, and a mailed link mends it', async () => {
  const person = await world.addPerson()
  await world.service.app.store.users.confirmEmail(person.id, world.service.clock.now())
  const { email } = person
  const wrong = await signIn(world.jar(), { email, password: 'another battery' })
  const shown = ({ text }: typeof wrong) => text.replaceAll(/value="[^"]*"/g, '')
  const rest = `${'A'.repeat(22)}$${'A'.repeat(43)}`
  const shapes = [
    '$argon2id$v=19$',
    `$argon2id$v=19$m=0,t=1,p=1$${rest}`,
    `$argon2id$v=19$m=8,t=1,p=2$${rest}`,
    `$argon2id$v=19$m=999999,t=1,p=1$${rest}`,
    `$argon2id$v=19$m=8,t=0,p=1$${rest}`,
    `$argon2id$v=19$m=8,t=999,p=1$${rest}`,
    `$argon2id$v=19$m=8,t=1,p=0$${rest}`,
    `$argon2id$v=19$m=8,t=1,p=1$AAAA$${'A'.repeat(43)}`,
  ]
  for (const shape of shapes) {
    damage(`update users set password_hash = '${shape}' where id = ?`, person)
    const refused = await signIn(world.jar(), { email, password })
    assert.deepEqual([refused.status, shown(refused)], [401, shown(wrong)], shape)
  }
  assert.ok(isLogged(`tributary users set-password ${person.id}`))
  assert.ok(isLogged('a stored password or second factor cannot be read'))
  assert.ok(!isLogged('background work failed'))
  const jar = world.jar()
  const { hidden } = await jar.get('/forgot-password')
  await jar.post('/forgot-password', { ...hidden, email })
  const path = pathIn(await world.mailTo(email))
  const newPassword = 'staple correct battery'
  const done = await jar.post(path, { ...(await jar.get(path)).hidden, newPassword })
  assert.equal(done.location, '/password-changed', done.text)
  assert.equal((await signIn(world.jar(), { email, password: newPassword })).status, 303)
})

test('a passkey, a session and a mailed link that cannot be read are as if there were none', async () => {
  for (const column of ['public_key = zeroblob(64)', 'credential_id = zeroblob(32)']) {
    const { person, passkey } = await addSafePerson(world)
    damage(`update passkeys set ${column} where user_id = ?`, person)
    assert.equal((await givePasskey(world, passkey)).answer.status, 401, column)
  }
  for (const column of ['hash = zeroblob(32)', "last_seen_at = 'soon'", "created_at = 'once'"]) {
    const person = await world.addPerson()
    const jar = await world.enter(person)
    damage(`update sessions set ${column} where user_id = ?`, person)
    assert.equal((await jar.get('/keys')).location, '/sign-in?return=%2Fkeys', column)
  }
  const person = await world.addPerson()
  const jar = world.jar()
  const { hidden } = await jar.get('/forgot-password')
  await jar.post('/forgot-password', { ...hidden, email: person.email })
  const path = pathIn(await world.mailTo(person.email))
  const form = { ...(await jar.get(path)).hidden, newPassword: 'staple correct battery' }
  damage("update mailed_links set expires_at = 'tomorrow' where user_id = ?", person)
  assert.equal((await jar.get(path)).status, 410)
  assert.equal((await jar.post(path, form)).status, 410)
})
