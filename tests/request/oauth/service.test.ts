import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { post } from '#tests/support/agent.ts'
import { signUp } from '#tests/support/person.ts'
import { startService } from '#tests/support/service.ts'
import {
  loopback,
  makePkce,
  redeem,
  refresh,
  registerClient,
  send,
  sendForm,
  toParams,
} from './dance.ts'

const service = await startService({ env: { LOG_LEVEL: 'trace' } })
const person = await signUp(service)
after(() => service.close())

const at = () => ({ url: service.baseUrl })

/** From registration to tokens, through the real pages. */
async function connect(origin = service.baseUrl) {
  const clientId = await registerClient(at())
  const { verifier, challenge } = makePkce()
  const state = `state-${challenge.slice(0, 20)}`
  const params = toParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: loopback,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    scope: 'mcp:read brokerage:read',
    state,
  })
  const answer = await person.approve(`${origin}/authorize?${params}`)
  const code = answer.searchParams.get('code') ?? ''
  const { body } = await redeem(at(), { clientId, verifier, code })
  return { clientId, verifier, challenge, state, code, ...body }
}

/** Every file below. */
function readFiles(folder: string): Buffer {
  const paths = readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)))
  return Buffer.concat(paths.filter((path) => statSync(path).isFile()).map((p) => readFileSync(p)))
}

test('no token, code, verifier or state is in logs, metrics or files of a running service', async () => {
  const first = await connect()
  const next = (await refresh(at(), first)).body
  await refresh(at(), first)
  const second = await connect()
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  assert.equal((await post(service, list, { as: `Bearer ${second.access_token}` })).status, 200)
  assert.equal((await post(service, list, { as: `Bearer ${first.access_token}` })).status, 401)
  const log = service.logLines.join('')
  const places: Readonly<Record<string, Buffer>> = {
    log: Buffer.from(log),
    metrics: Buffer.from(await service.metrics.text()),
    files: readFiles(service.dataDir),
  }
  // Proof that the search would find what is there.
  assert.match(log, /"operation":"token"/)
  assert.match(log, /was used twice/)
  for (const one of [first, second])
    for (const hidden of [
      one.code,
      one.verifier,
      one.challenge,
      one.state,
      one.access_token,
      one.refresh_token,
      next.access_token,
      next.refresh_token,
    ])
      for (const [place, bytes] of Object.entries(places)) {
        assert.ok(hidden.length > 10)
        assert.ok(!bytes.includes(hidden), `${place}: ${hidden}`)
      }
})

test('a machine of several names: who begins at localhost ends there too', async () => {
  const { port } = new URL(service.baseUrl)
  const clientId = await registerClient(at())
  const params = toParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: loopback,
    code_challenge: makePkce().challenge,
    code_challenge_method: 'S256',
  })
  const asked = await send(`http://localhost:${port}/authorize?${params}`)
  const path = String(asked.headers.location)
  assert.match(path, /^\/consent\//)
  const cookies = [asked.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0])
  const page = await send(`http://localhost:${port}${path}`, {
    headers: { cookie: cookies.join('; ') },
  })
  // Nobody is signed in at this name yet; the page knows the request and asks who is there.
  assert.equal(page.status, 303)
  assert.match(String(page.headers.location), /^\/sign-in\?/)
})

test('a foreign Host gets no consent page, and its name is not repeated', async () => {
  const headers = { host: 'evil.test', origin: 'https://evil.test' }
  for (const reply of [
    await send(`${service.baseUrl}/consent/x`, { headers }),
    await sendForm(`${service.baseUrl}/consent/x`, { decision: 'allow' }, headers),
    await sendForm(`${service.baseUrl}/token`, { grant_type: 'x' }, headers),
  ]) {
    assert.ok([400, 401, 403].includes(reply.status), String(reply.status))
    assert.ok(!`${reply.text}${JSON.stringify(reply.headers)}`.includes('evil.test'))
  }
})

test('with an origin of its own the authorization server brings its pages along', async () => {
  const env = { AUTH_URL: 'https://auth.example.test' }
  const apart = await startService({ env })
  const clientId = await registerClient({ url: apart.baseUrl })
  const params = toParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: loopback,
    code_challenge: makePkce().challenge,
    code_challenge_method: 'S256',
  })
  const headers = { host: 'auth.example.test' }
  const asked = await send(`${apart.baseUrl}/authorize?${params}`, { headers })
  const cookies = [asked.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0])
  const page = await send(apart.baseUrl + String(asked.headers.location), {
    headers: { ...headers, cookie: cookies.join('; ') },
  })
  assert.equal(page.status, 303, page.text)
  assert.match(String(page.headers.location), /^\/sign-in\?/)
  await apart.close()
})
