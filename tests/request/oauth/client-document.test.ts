import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeClientDocuments } from '#auth/oauth/client-documents.ts'
import { systemClock } from '#kernel/time.ts'
import { fetchDocument } from '#outbound/fetch-document.ts'
import { makeGuardedAgent } from '#outbound/guarded-agent.ts'
import {
  authorize,
  connect,
  getCode,
  Jar,
  loopback,
  makePkce,
  type Reply,
  redeem,
  send,
} from './dance.ts'
import { startWorld, type World } from './world.ts'

const clientId = 'https://agent.example.test/oauth/client.json'
const document = {
  client_id: clientId,
  client_name: 'Agent by document',
  redirect_uris: [loopback, 'https://agent.example.test/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

/** A world whose fetch gives this answer; it counts how often it is asked. */
async function withDocument(
  answer: (url: string) => Promise<Response>,
  work: (world: World, asked: string[]) => Promise<void>,
): Promise<void> {
  const asked: string[] = []
  const world = await startWorld({
    fetchDocument: (url) => {
      asked.push(url)
      return answer(url)
    },
  })
  try {
    await work(world, asked)
  } finally {
    await world.close()
  }
}

const ask = (world: World, id = clientId) =>
  authorize(world, { clientId: id, challenge: makePkce().challenge })

function refused(reply: Reply): void {
  assert.equal(reply.status, 400, reply.text)
  assert.equal(reply.headers.location, undefined)
  assert.match(reply.text, /<code>invalid_(?:client(?:_metadata)?|redirect_uri)<\/code>/)
}

test('a client that never registered connects by its document, which is fetched once', () =>
  withDocument(
    async () => Response.json({ ...document, scope: 'openid admin', jwks_uri: 'https://x.test' }),
    async (world, asked) => {
      const person = await world.addPerson()
      const tokens = await connect(world, person, { clientId })
      const facts = await world.oauth.tokens.find(tokens.access_token)
      assert.equal(facts?.clientId, clientId)
      const [agent] = await world.oauth.agents.list(person)
      assert.equal(agent?.clientName, 'Agent by document')
      await ask(world)
      assert.deepEqual(asked, [clientId])
      assert.deepEqual(world.failures, [])
    },
  ))

test('installations of one document stay connected side by side, up to a bound', () =>
  withDocument(
    async () => Response.json(document),
    async (world) => {
      const person = await world.addPerson()
      const first = await connect(world, person, { clientId })
      for (let count = 0; count < 9; count += 1) {
        world.clock.advance(1000)
        await connect(world, person, { clientId })
      }
      assert.notEqual(await world.oauth.tokens.find(first.access_token), null)
      world.clock.advance(1000)
      await connect(world, person, { clientId })
      assert.equal(await world.oauth.tokens.find(first.access_token), null)
      assert.equal((await world.oauth.agents.list(person)).length, 10)
    },
  ))

const bad: Readonly<Record<string, () => Promise<Response>>> = {
  'names another client': async () => Response.json({ ...document, client_id: `${clientId}2` }),
  'is no JSON': async () => new Response('<html>'),
  'is a list': async () => Response.json([document]),
  'is not there': async () => new Response(null, { status: 404 }),
  'is a redirect': async () =>
    new Response(null, { status: 302, headers: { location: 'https://x.test' } }),
  'is over 5 kB': async () =>
    Response.json({ ...document, client_uri: `https://${'x'.repeat(6000)}` }),
  'cannot be reached': async () => {
    throw new Error('unreachable')
  },
  'holds a secret': async () => Response.json({ ...document, client_secret: 'x' }),
  'wants a shared secret': async () =>
    Response.json({ ...document, token_endpoint_auth_method: 'client_secret_post' }),
  'redirects to plain http': async () =>
    Response.json({ ...document, redirect_uris: [loopback, 'http://evil.test/'] }),
  'redirects to a web of old': async () =>
    Response.json({ ...document, redirect_uris: [loopback, 'ftp://agent.example.test/'] }),
  'runs a script': async () => Response.json({ ...document, redirect_uris: ['javascript:x'] }),
}

for (const [what, answer] of Object.entries(bad))
  test(`a document that ${what} is refused`, () =>
    withDocument(answer, async (world) => {
      refused(await ask(world))
      assert.deepEqual(world.failures, [])
    }))

test('a client id that is no plain https address is never fetched', () =>
  withDocument(
    async () => Response.json(document),
    async (world, asked) => {
      for (const id of [
        'http://agent.example.test/client.json',
        'https://user@agent.example.test/client.json',
        'https://agent.example.test/client.json#x',
        'https://agent.example.test/a/../client.json',
        'file:///etc/passwd',
      ])
        refused(await ask(world, id))
      assert.deepEqual(asked, [])
    },
  ))

test('a redirect address that is not in the document is never redirected to', () =>
  withDocument(
    async () => Response.json(document),
    async (world) => {
      const over = { redirect_uri: 'https://evil.test/callback' }
      const reply = await authorize(world, { clientId, challenge: makePkce().challenge, over })
      assert.equal(reply.status, 400)
      assert.equal(reply.headers.location, undefined)
    },
  ))

test('one address makes us fetch twenty documents a minute at most, and is told to wait', () =>
  withDocument(
    async () => new Response(null, { status: 404 }),
    async (world, asked) => {
      for (let count = 0; count < 20; count += 1)
        refused(await ask(world, `https://agent.example.test/${count}.json`))
      assert.equal(asked.length, 20, 'each is fetched once, although it is refused')
      const reply = await ask(world, 'https://agent.example.test/20.json')
      assert.equal(reply.status, 429, reply.text)
      assert.equal(reply.headers['retry-after'], '60')
      assert.equal(asked.length, 20)
    },
  ))

test('at most 32 documents are fetched at once, whoever asks', async () => {
  const { promise, resolve } = Promise.withResolvers<Response>()
  const documents = makeClientDocuments(() => promise, systemClock)
  const hanging = Array.from({ length: 32 }, (_one, at) =>
    documents.fetch(`https://h${at}.example.test/client.json`),
  )
  await assert.rejects(documents.fetch(clientId), /too many documents/)
  assert.equal(documents.isKnown(clientId), false, 'it may be asked for again')
  resolve(new Response(null, { status: 404 }))
  await Promise.all(hanging.map((one) => assert.rejects(one, /status 404/)))
  await assert.rejects(documents.fetch(clientId), /status 404/)
})

test('a document that many ask for at once is fetched once, and whoever asks waits for that fetch', async () => {
  let asked = 0
  const arriving = Promise.withResolvers<void>()
  const documents = makeClientDocuments(
    async () => {
      asked += 1
      await arriving.promise
      throw new Error('away')
    },
    { now: () => 0 },
  )
  const url = 'https://agent.example/client.json'
  const waiting = Array.from({ length: 40 }, () => documents.fetch(url))
  assert.equal(documents.isKnown(url), true)
  arriving.resolve()
  const ends = await Promise.allSettled(waiting)
  assert.ok(ends.every((end) => end.status === 'rejected' && /away/.test(String(end.reason))))
  assert.equal(asked, 1)
})

test('through the real guard a private address is answered like a missing document', async () => {
  const agent = makeGuardedAgent({
    lookup: (_hostname, _options, callback) =>
      callback(null, [{ address: '169.254.169.254', family: 4 }]),
  })
  const options = { agent, maxBytes: 5120, timeoutMs: 1000 }
  await withDocument(
    (url) => fetchDocument(url, options),
    async (world) => {
      for (const id of [
        'https://127.0.0.1/client.json',
        'https://[::1]/client.json',
        'https://2130706433/client.json',
        'https://metadata.example.test/client.json',
        'https://agent.example.test:8443/client.json',
      ])
        refused(await ask(world, id))
    },
  )
  await agent.destroy()
})

test('a document that disappears before the decision ends the request without an internal error', async () => {
  let isThere = true
  await withDocument(
    async (url) =>
      isThere || url !== clientId
        ? Response.json({ ...document, client_id: url })
        : new Response(null, { status: 404 }),
    async (world) => {
      const jar = new Jar()
      const sent = await authorize(world, { clientId, challenge: makePkce().challenge }, jar)
      const consentUrl = world.url + String(sent.headers.location)
      const look = async () => (await send(consentUrl, { headers: jar.header(consentUrl) })).status
      assert.equal(await look(), 200)
      isThere = false
      // The engine keeps a hundred documents or two; after these it has to fetch again.
      for (let count = 0; count < 220; count += 1)
        await authorize(world, {
          clientId: `https://agent.example.test/${count}.json`,
          challenge: makePkce().challenge,
          headers: { 'x-test-address': `198.51.100.${count}` },
        })
      assert.equal(await look(), 410)
      assert.deepEqual(world.failures, [])
    },
  )
})

test('the list of agents says where the answer went', () =>
  withDocument(
    async () => Response.json(document),
    async (world) => {
      const person = await world.addPerson()
      const callback = 'https://agent.example.test/callback'
      const over = { redirect_uri: callback }
      const code = await getCode(world, person, { clientId, over })
      assert.equal((await redeem(world, code, over)).status, 200)
      const [agent] = await world.oauth.agents.list(person)
      assert.equal(agent?.redirectHost, 'agent.example.test')
    },
  ))
