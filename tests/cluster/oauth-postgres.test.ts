/** Codes and refresh tokens on PostgreSQL, asked of two processes at once. */
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import {
  authorize,
  connect,
  getCode,
  Jar,
  loopback,
  makePkce,
  type Reply,
  redeem,
  refresh,
  register,
  registerClient,
  revoke,
  sendForm,
} from '#tests/request/oauth/dance.ts'
import { startWorld, type World } from '#tests/request/oauth/world.ts'
import { makeCutLine } from './cut-line.ts'
import { makePostgresGround, type PostgresGround, type PostgresPlace } from './postgres-place.ts'

const origin = 'https://auth.example.test'

let ground: PostgresGround
let place: PostgresPlace
let world: World
let children: readonly ChildProcessWithoutNullStreams[]
let urls: readonly string[]

before(async () => {
  ground = await makePostgresGround()
  place = await ground.makePlace()
  const origins = { base: origin, mcp: origin, auth: origin }
  world = await startWorld({ databaseUrl: place.databaseUrl, origins })
  children = [start(), start()]
  urls = await Promise.all(children.map(readUrl))
})
after(async () => {
  const codes = await Promise.all(children.map(stop))
  await world.close()
  await place.remove()
  await ground.remove()
  // A child says 1 when anything failed in it.
  assert.deepEqual(codes, [0, 0])
  assert.deepEqual(world.failures, [])
})

function start(): ChildProcessWithoutNullStreams {
  const file = new URL('oauth-process.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [file, place.databaseUrl, origin])
  child.stderr.pipe(process.stderr)
  return child
}

async function readUrl(child: ChildProcessWithoutNullStreams): Promise<string> {
  const [chunk] = await once(child.stdout, 'data')
  return String(chunk).trim()
}

async function stop(child: ChildProcessWithoutNullStreams): Promise<unknown> {
  const ended = once(child, 'exit')
  child.stdin.end()
  const [code] = await ended
  return code
}

const at = (index: number) => ({ url: urls[index % urls.length] ?? '' })

/** Exactly one succeeded, and its tokens are revoked, because the others were reuse. */
async function oneOf(replies: readonly Reply[]): Promise<void> {
  const statuses = replies.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [200, ...Array(replies.length - 1).fill(400)])
  for (const { status, body } of replies) {
    if (status === 400) assert.equal(body.error, 'invalid_grant')
    else assert.equal(await world.oauth.tokens.find(body.access_token), null)
  }
}

test('four redemptions of one code on two processes at once: one 200, three 400', async () => {
  for (let round = 0; round < 10; round += 1) {
    const code = await getCode(world, await world.addPerson())
    await oneOf(await Promise.all([0, 1, 2, 3].map((index) => redeem(at(index), code))))
  }
})

test('four refreshes with one token on two processes at once: one 200, three 400', async () => {
  for (let round = 0; round < 10; round += 1) {
    const tokens = await connect(world, await world.addPerson())
    await oneOf(await Promise.all([0, 1, 2, 3].map((index) => refresh(at(index), tokens))))
  }
})

test('five decisions of a person for one client on three processes at once leave one grant', async () => {
  const person = await world.addPerson()
  const clientId = await registerClient(world)
  const forms = await Promise.all(
    Array.from({ length: 5 }, async (_, index) => {
      const jar = new Jar()
      const sent = await authorize(world, { clientId, challenge: makePkce().challenge }, jar)
      jar.set('person', person)
      const { url } = index === 0 ? world : at(index)
      return { jar, url: url + String(sent.headers.location) }
    }),
  )
  const decisions = await Promise.all(
    forms.map(({ jar, url }) =>
      sendForm(url, { scope: 'mcp:read', decision: 'allow' }, jar.header(url)),
    ),
  )
  assert.deepEqual(
    decisions.map(({ status }) => status),
    Array(5).fill(303),
  )
  assert.equal((await world.store.oauth.listAgentGrants(person, clientId)).length, 1)
})

test('R27: what one process revokes, no other accepts from then on', async () => {
  const tokens = await connect(world, await world.addPerson())
  assert.notEqual(await world.oauth.tokens.find(tokens.access_token), null)
  assert.equal((await revoke(at(0), tokens.clientId, tokens.access_token)).status, 200)
  assert.equal(await world.oauth.tokens.find(tokens.access_token), null)
  assert.equal((await refresh(at(1), tokens)).status, 400)
})

test('what one process began another finishes: registration, code, refresh', async () => {
  const code = await getCode(world, await world.addPerson())
  const redeemed = await redeem(at(0), code)
  assert.equal(redeemed.status, 200)
  const next = await refresh(at(1), { ...redeemed.body, clientId: code.clientId })
  assert.equal(next.status, 200)
  assert.notEqual(await world.oauth.tokens.find(next.body.access_token), null)
})

test('a revocation in one process during a refresh in another leaves no valid token', async () => {
  for (let round = 0; round < 10; round += 1) {
    const tokens = await connect(world, await world.addPerson())
    const [refreshed] = await Promise.all([
      refresh(at(0), tokens),
      revoke(at(1), tokens.clientId, tokens.refresh_token),
    ])
    if (refreshed.status === 200) {
      assert.equal(await world.oauth.tokens.find(refreshed.body.access_token), null)
      const next = { ...refreshed.body, clientId: tokens.clientId }
      assert.equal((await refresh(at(1), next)).status, 400)
    }
    assert.equal(await world.oauth.tokens.find(tokens.access_token), null)
  }
})

test('while PostgreSQL is unavailable the answer is 503 with Retry-After; nothing is lost', async () => {
  const server = new URL(place.databaseUrl)
  const line = await makeCutLine({ host: server.hostname, port: Number(server.port || 5432) })
  server.hostname = '127.0.0.1'
  server.port = String(line.port)
  const origins = { base: origin, mcp: origin, auth: origin }
  const databaseUrl = server.href.replaceAll('+', '%20')
  const fragile = await startWorld({ databaseUrl, origins })
  const person = await fragile.addPerson()
  const tokens = await connect(fragile, person)
  const code = await getCode(fragile, person, { clientId: await registerClient(fragile) })
  await line.cut()
  for (const reply of [
    await refresh(fragile, tokens),
    await redeem(fragile, code),
    await revoke(fragile, tokens.clientId, tokens.access_token),
    await register(fragile, { redirect_uris: [loopback] }),
  ]) {
    assert.equal(reply.status, 503, reply.text)
    assert.equal(reply.headers['retry-after'], '5')
    assert.equal(reply.body.error, 'server_error')
  }
  assert.equal(fragile.failures.length, 4)
  await line.mend()
  assert.equal((await redeem(fragile, code)).status, 200)
  assert.equal((await refresh(fragile, tokens)).status, 200)
  await fragile.close()
  await line.close()
})
