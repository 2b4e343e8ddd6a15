/** No redirect to an address that a client registered itself before the browser's person has allowed it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { authorize, connect, type Fields, loopback, makePkce, registerClient } from './dance.ts'
import { startWorld } from './world.ts'

const world = await startWorld()
after(async () => {
  await world.close()
  assert.deepEqual(world.failures, [])
})

const { challenge } = makePkce()

/** Every request whose error would be sent to the client without a person's decision. */
const errors: Readonly<Record<string, readonly [Fields, string]>> = {
  'prompt=none': [{ prompt: 'none' }, 'consent_required'],
  'a request without PKCE': [{ code_challenge: undefined }, 'invalid_request'],
  'the plain method': [{ code_challenge_method: 'plain' }, 'invalid_request'],
  'another resource': [{ resource: 'https://other.test/' }, 'invalid_target'],
  'the implicit flow': [{ response_type: 'token' }, 'unsupported_response_type'],
  'an answer in the fragment': [{ response_mode: 'fragment', prompt: 'none' }, 'consent_required'],
  'a prompt that nobody knows': [{ prompt: 'guess' }, 'invalid_request'],
  'a request object': [{ request: 'x' }, 'request_not_supported'],
  'a scope given twice': [{ scope: ['mcp:read', 'mcp:read'] }, 'invalid_request'],
}

for (const [what, [over, error]] of Object.entries(errors)) {
  test(`${what} of a client without a grant ends on a page, whatever its redirect address`, async () => {
    for (const redirect of ['https://evil.test/phish', loopback, 'com.example.app:/cb']) {
      const clientId = await registerClient(world, { redirect_uris: [redirect] })
      const asked = { clientId, challenge, over: { redirect_uri: redirect, ...over } }
      const reply = await authorize(world, asked)
      assert.equal(reply.status, 400)
      assert.equal(reply.headers.location, undefined)
      assert.equal(reply.headers.refresh, undefined)
      assert.match(String(reply.headers['content-type']), /^text\/html/)
      assert.ok(reply.text.includes(`<code>${error}</code>`), reply.text)
      assert.ok(!reply.text.includes('evil.test'))
      assert.match(reply.text, /<a href="\/">/)
    }
  })

  test(`${what} of a client that others allowed ends on a page that names it`, async () => {
    const clientId = await registerClient(world, { client_name: 'Evil <b>' })
    await connect(world, await world.addPerson(), { clientId })
    for (const headers of [{}, { cookie: `person=${await world.addPerson()}` }]) {
      const reply = await authorize(world, { clientId, challenge, over, headers })
      assert.equal(reply.status, 400)
      assert.equal(reply.headers.location, undefined)
      assert.ok(reply.text.includes(`<code>${error}</code>`), reply.text)
      assert.match(reply.text, /calls itself <span class="foreign">Evil &lt;b&gt;</)
    }
  })

  test(`${what} of a client that this person allowed is sent to the client`, async () => {
    const clientId = await registerClient(world)
    const person = await world.addPerson()
    await connect(world, person, { clientId })
    const headers = { cookie: `person=${person}` }
    const reply = await authorize(world, { clientId, challenge, over, headers })
    assert.equal(reply.status, 303)
    const url = new URL(String(reply.headers.location))
    assert.equal(url.origin + url.pathname, loopback)
    const reported = url.hash === '' ? url.searchParams : new URLSearchParams(url.hash.slice(1))
    assert.equal(reported.get('error'), error)
  })
}
