/**
 * The official suite's authorization command: metadata, and a code grant that a person walks through the real
 * pages.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { type Person, signUp } from '#tests/support/person.ts'
import { type Service, startService } from '#tests/support/service.ts'
import { runSuite } from './official-suite.ts'

let service: Service
let person: Person
before(async () => {
  service = await startService()
  person = await signUp(service)
})
after(() => service.close())

/** A port that was free a moment ago. */
function findPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address !== null
          ? resolve(address.port)
          : reject(new Error('no port')),
      )
    })
  })
}

test('metadata and the code grant pass', async () => {
  const port = await findPort()
  const callback = `http://127.0.0.1:${port}/callback`
  const registered = await request(`${service.baseUrl}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Suite', redirect_uris: [callback] }),
  })
  const { client_id: clientId } = (await registered.body.json()) as { client_id: string }
  const run = runSuite([
    'authorization',
    '--url',
    service.baseUrl,
    '--client-id',
    clientId,
    '--resource',
    `${service.baseUrl}/mcp`,
    '--port',
    String(port),
  ])
  const address = await run.waitFor(/https?:\/\/\S*code_challenge=\S+/)
  const answer = await person.approve(address)
  assert.equal(`${answer.origin}${answer.pathname}`, callback)
  await (await request(answer)).body.dump()
  const { code, output } = await run.ended
  assert.equal(code, 0, output.slice(-4000))
})
