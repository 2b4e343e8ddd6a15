import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AkahuEmulator, demoApp, startAkahuEmulator } from './emulator.ts'
import { institutions } from './factories.ts'

const right = {
  response_type: 'code',
  client_id: demoApp.appToken,
  redirect_uri: 'https://tributary.example/back',
  scope: 'ENDURING_CONSENT',
  state: 's1',
}

const start = () => startAkahuEmulator({ clock: { now: () => Date.parse('2026-11-20T21:15:00Z') } })

const open = (akahu: AkahuEmulator, fields: Readonly<Record<string, string>>) =>
  fetch(`${akahu.oauthUrl}?${new URLSearchParams(fields)}`, { redirect: 'manual' })

test('a wrong app or address is told on the page, and nobody is sent there', async () => {
  const akahu = await start()
  const wrong = [
    { client_id: 'app_token_of_somebody' },
    { redirect_uri: 'http://tributary.example/back' },
    { redirect_uri: 'javascript:alert(1)' },
    { redirect_uri: 'https://tributary.example/back?x=1' },
    { redirect_uri: '' },
  ]
  for (const fields of wrong) {
    const reply = await open(akahu, { ...right, ...fields })
    assert.deepEqual([reply.status, reply.headers.get('location')], [400, null])
  }
  await akahu.close()
})

test('what else is wrong goes back to the app with its state', async () => {
  const akahu = await start()
  const wrong = [
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ scope: 'ONE_OFF' }, 'invalid_scope'],
    [{ connection: 'conn_unknown' }, 'invalid_request'],
  ] as const
  for (const [fields, error] of wrong) {
    const reply = await open(akahu, { ...right, ...fields })
    const location = `https://tributary.example/back?error=${error}&state=s1`
    assert.deepEqual([reply.status, reply.headers.get('location')], [303, location])
  }
  await akahu.close()
})

test('the page shows what is typed without running it, and offers banks that are open', async () => {
  const akahu = await start()
  const reply = await open(akahu, { ...right, email: '"><script>alert(1)</script>@x.test' })
  const page = await reply.text()
  assert.equal(reply.status, 200)
  assert.ok(!page.includes('<script'))
  assert.match(reply.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.ok(page.includes(institutions.asb.name))
  assert.ok(!page.includes(institutions.heartland.name))
  const chosen = await (await open(akahu, { ...right, connection: institutions.asb._id })).text()
  assert.ok(!chosen.includes('type="radio"'))
  await akahu.close()
})

test('a decision without a bank or an address keeps the person on the page', async () => {
  const akahu = await start()
  const post = async (fields: Readonly<Record<string, string>>) => {
    const body = new URLSearchParams({ ...right, ...fields })
    const reply = await fetch(akahu.oauthUrl, { method: 'POST', body, redirect: 'manual' })
    return [reply.status, /role="alert">([^<]*)/.exec(await reply.text())?.[1]]
  }
  const bank = institutions.asb._id
  assert.deepEqual(await post({ decision: 'allow', email: 'a@b.test' }), [200, 'Choose a bank.'])
  const typed = 'Type an e-mail address, for example me@example.com.'
  assert.deepEqual(await post({ decision: 'allow', bank }), [200, typed])
  const refused = 'The bank refused this sign-in. Try again, or leave with “Deny”.'
  assert.deepEqual(await post({ decision: 'wrong-password' }), [200, refused])
  assert.deepEqual(await post({}), [200, 'Choose what happens.'])
  await akahu.close()
})
