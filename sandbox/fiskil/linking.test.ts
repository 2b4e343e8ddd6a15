/**
 * Tests of how a person links a bank at the Fiskil emulator: end users, auth sessions, and every way out of
 * the page.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { type FiskilEmulator, fiskilDemoCredentials, startFiskilEmulator } from './index.ts'

const clock = { ms: Date.parse('2026-11-20T03:00:00Z'), now: () => clock.ms }
let emulator: FiskilEmulator
let token: string

before(async () => {
  emulator = await startFiskilEmulator({ clock })
  const { clientId, clientSecret } = fiskilDemoCredentials
  const body = JSON.stringify({ client_id: clientId, client_secret: clientSecret })
  const reply = await fetch(`${emulator.url}/v1/token`, { method: 'POST', body })
  token = String(Object(await reply.json()).token)
})
after(() => emulator.close())

async function post(
  path: string,
  fields: object,
  origin: string = emulator.url,
): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${token}` }
  const url = new URL(path, origin)
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(fields) })
  return { status: response.status, ...Object(await response.json()) }
}

test('a new end user links a bank through an auth session that can be used once', async () => {
  const made = await post('/v1/end-users', { email: 'new@sandbox.example', name: 'New' })
  assert.equal(made.status, 201)
  const endUserId = String(made.end_user_id)
  const session = await post('/v1/auth/session', {
    end_user_id: endUserId,
    institution_id: '22',
    redirect_uri: 'http://localhost/callback?state=s1',
    cancel_uri: 'http://localhost/cancel',
  })
  const page = String(session.auth_url)
  assert.match(await (await fetch(page)).text(), /Wattle Bank/)
  const allowed = await answerPage(page, { decision: 'allow' })
  assert.equal(
    allowed.headers.get('location'),
    `http://localhost/callback?state=s1&session_id=${session.session_id}`,
  )
  assert.equal((await fetch(page)).status, 400)
  const headers = { authorization: `Bearer ${token}` }
  const target = `${emulator.url}/v1/banking/accounts?end_user_id=${endUserId}`
  const { accounts } = Object(await (await fetch(target, { headers })).json())
  assert.equal(accounts.length, 2)
})

test('a refused session leads to the cancel address with the error type', async () => {
  const session = await post('/v1/auth/session', {
    end_user_id: 'eu_sandbox_healthy',
    cancel_uri: 'http://localhost/cancel?state=s2',
  })
  const answer = await answerPage(String(session.auth_url), { decision: 'deny' })
  const url = new URL(answer.headers.get('location') ?? '')
  assert.equal(url.searchParams.get('state'), 's2')
  assert.equal(url.searchParams.get('error_type'), 'CONSENT_ENDUSER_DENIED')
})

test('every other way out of the page has its own error, and uses the session up', async () => {
  const types = {
    cancel: 'AUTH_SESSION_CANCELLED',
    otp: 'CONSENT_OTP_FAILURE',
    ineligible: 'CONSENT_ENDUSER_INELIGIBLE',
    timeout: 'CONSENT_TIMEOUT',
    upstream: 'CONSENT_UPSTREAM_PROCESSING_ERROR',
    data: 'CONSUMERDATA_PROCESSING_ERROR',
    invalid: 'AUTH_SESSION_INVALID',
  }
  for (const [decision, type] of Object.entries(types)) {
    const page = await openPage({ cancel_uri: 'http://localhost/cancel' })
    assert.ok((await (await fetch(page)).text()).includes(`value="${decision}"`))
    const answer = await answerPage(page, { decision })
    const url = new URL(answer.headers.get('location') ?? '')
    assert.equal(url.searchParams.get('error_type'), type)
    assert.equal((await answerPage(page, { decision })).status, 400)
  }
})

test('without a chosen bank the page asks for one that takes consents', async () => {
  const page = await openPage({})
  const shown = await (await fetch(page)).text()
  assert.ok(shown.includes('Wattle Bank'))
  for (const name of ['Lilly Pilly Bank', 'Banksia Energy']) assert.ok(!shown.includes(name))
  for (const institution of ['', '91', '305', 'x']) {
    const answer = await answerPage(page, { decision: 'allow', institution })
    assert.match(await answer.text(), /Choose a bank/)
  }
  assert.equal((await answerPage(page, { decision: 'allow', institution: '58' })).status, 200)
  assert.equal((await fetch(page)).status, 400)
})

test('accounts may arrive after the consent, with their webhooks', async () => {
  const own = await startFiskilEmulator({ clock })
  try {
    const person = own.people.history
    const page = await openPage({ end_user_id: person.endUserId, institution_id: '22' }, own.url)
    const arrived = Promise.withResolvers<void>()
    const receiver = createServer((request, response) => {
      request.resume().on('end', () => {
        kinds.push(String(request.url))
        response.end()
        if (kinds.length === 4) arrived.resolve()
      })
    })
    const kinds: string[] = []
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const { port } = receiver.address() as AddressInfo
    own.webhooks.target = `http://127.0.0.1:${port}/`
    await answerPage(page, { decision: 'allow', arrival: '2' })
    const made = person.consents.at(-1)
    assert.equal(made?.synced, false)
    await arrived.promise
    assert.equal(made.synced, true)
    receiver.closeAllConnections()
    receiver.close()
  } finally {
    await own.close()
  }
})

test('a renewal may give a new consent with new ids of its accounts and rows, and the same numbers', async () => {
  const own = await startFiskilEmulator({ clock })
  try {
    const person = own.people.healthy
    const [former] = person.consents
    assert.ok(former !== undefined)
    const renewal = { end_user_id: person.endUserId, arrangement_id: former.arrangementId }
    const page = await openPage(renewal, own.url)
    await answerPage(page, { decision: 'allow', 'new-ids': 'on' })
    const renewed = person.consents.at(-1)
    assert.ok(renewed !== undefined && former.active === false)
    const show = (consent: typeof former) => ({
      ids: [
        consent.arrangementId,
        ...consent.accounts.flatMap(({ body, rows }) => [
          body.account_id,
          body.fiskil_id,
          ...rows.map((row) => row.body.fiskil_id),
        ]),
      ],
      bank: consent.institutionId,
      numbers: consent.accounts.map(({ body }) => [body.display_name, body.account_number]),
      amounts: consent.accounts.map(({ rows }) => rows.map((row) => row.body.amount)),
    })
    const [old, made] = [show(former), show(renewed)]
    assert.deepEqual({ ...made, ids: [] }, { ...old, ids: [] })
    assert.equal(made.ids.length, old.ids.length)
    assert.deepEqual(
      made.ids.filter((id) => old.ids.includes(id)),
      [],
    )
    for (const { body, rows } of renewed.accounts) {
      assert.ok(rows.every((row) => row.body.account_id === body.account_id))
      assert.ok(rows.every((row) => row.body.arrangement_id === renewed.arrangementId))
    }
  } finally {
    await own.close()
  }
})

/** The page of a session of the healthy person. */
async function openPage(fields: object, origin?: string): Promise<string> {
  const session = await post(
    '/v1/auth/session',
    { end_user_id: 'eu_sandbox_healthy', ...fields },
    origin,
  )
  return String(session.auth_url)
}

/** What a browser sends from the page. */
function answerPage(page: string, fields: Readonly<Record<string, string>>): Promise<Response> {
  const { origin, searchParams } = new URL(page)
  const body = new URLSearchParams({ sess_id: searchParams.get('sess_id') ?? '', ...fields })
  return fetch(`${origin}/auth`, { method: 'POST', body, redirect: 'manual' })
}

test('a consent is renewed under its own id', async () => {
  const consent = emulator.people.healthy.consents[1]
  assert.ok(consent !== undefined)
  const until = consent.expiresAtMs
  const count = emulator.people.healthy.consents.length
  const session = await post('/v1/auth/session', {
    end_user_id: 'eu_sandbox_healthy',
    arrangement_id: consent.arrangementId,
  })
  consent.active = false
  await answerPage(String(session.auth_url), { decision: 'allow' })
  assert.ok(consent.active && consent.expiresAtMs > until)
  assert.equal(emulator.people.healthy.consents.length, count)
})

test('sessions for unknown people, banks and consents are refused', async () => {
  const person = { end_user_id: 'eu_sandbox_healthy' }
  const refused = await Promise.all([
    post('/v1/auth/session', {}),
    post('/v1/auth/session', { ...person, institution_id: '9' }),
    post('/v1/auth/session', { ...person, arrangement_id: 'x' }),
    post('/v1/end-users', { name: 'No address' }),
    post('/v1/auth/session', { end_user_id: 'eu_nobody' }),
    post('/v1/auth/session', { ...person, institution_id: '91' }),
    post('/v1/auth/session', { ...person, redirect_uri: 'javascript:alert(1)' }),
    post('/v1/auth/session', { ...person, cancel_uri: 'http://us.example/back' }),
  ])
  assert.deepEqual(
    refused.map((reply) => reply.status),
    [400, 400, 400, 400, 404, 400, 400, 400],
  )
})
