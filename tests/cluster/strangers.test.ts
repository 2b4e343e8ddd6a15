/**
 * What those who show nothing can do to others while PostgreSQL is slow: the connections to it are few, and
 * whoever has a good key or a good link is served all the same.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, type Dispatcher, request } from 'undici'
import { type CutLine, makeCutLine } from './cut-line.ts'
import { type Fleet, type FleetUser, startFleet } from './fleet.ts'
import { makePostgresGround, type PostgresGround } from './postgres-place.ts'

let ground: PostgresGround
let line: CutLine
let fleet: Fleet
let known: FleetUser
const agent = new Agent({ connections: 500 })

before(async () => {
  ground = await makePostgresGround()
  const url = new URL((await ground.makePlace()).databaseUrl)
  line = await makeCutLine({ host: url.hostname, port: Number(url.port || 5432) })
  url.hostname = '127.0.0.1'
  url.port = String(line.port)
  const databaseUrl = url.href.replaceAll('+', '%20')
  fleet = await startFleet({
    databaseUrl,
    env: { TRUST_PROXY: '127.0.0.1', RATE_LIMIT_TOKEN: '0' },
  })
  known = await fleet.createUser()
  // The doors are loaded when they are first asked.
  for (const make of Object.values(floods)) await ask(attacker, make())
})
beforeEach(async () => {
  assert.equal((await read(known)).statusCode, 200)
})
after(async () => {
  line?.delay(0)
  await fleet?.close()
  await line?.close()
  await ground?.remove()
  await agent.close()
})

const attacker = '198.51.100.66'
const delayMs = 50
const floodMs = 4_000
const atOnce = 400
const any = () => randomBytes(32).toString('base64url')

type Asked = Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'> & { path: string }

/** From this address, as the trusted proxy says. */
async function ask(address: string, { path, method = 'GET', headers = {}, body = null }: Asked) {
  const answer = await request(fleet.one.baseUrl + path, {
    ...{ dispatcher: agent, method, body },
    headers: { ...headers, 'x-forwarded-for': address } as Record<string, string>,
  })
  await answer.body.dump()
  return answer
}

const read = ({ key }: FleetUser) =>
  ask('198.51.100.7', {
    method: 'GET',
    path: '/v1/connections',
    headers: { authorization: `Bearer ${key}` },
  })

const floods: Readonly<Record<string, () => Asked>> = {
  'cookies of no session': () => ({
    method: 'GET',
    path: '/',
    headers: { cookie: `tributary=${any()}` },
  }),
  'links that nobody was sent': () => ({ method: 'GET', path: `/reset-password/${any()}` }),
  'tokens of no agent': () => ({
    method: 'POST',
    path: '/mcp',
    headers: {
      authorization: `Bearer ${any()}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  }),
  'claims of no program': () => ({ method: 'POST', path: `/simplefin/claim/${any()}` }),
  'clients that nobody registered': () => ({
    method: 'GET',
    path: `/authorize?client_id=${any()}&response_type=code&redirect_uri=http%3A%2F%2F127.0.0.1%3A9%2F`,
  }),
}

for (const [what, make] of Object.entries(floods))
  test(`a flood of ${what} costs no reader of another address an answer`, async () => {
    const fresh = await fleet.createUser()
    line.delay(delayMs)
    const end = performance.now() + floodMs
    const flood = Array.from({ length: atOnce }, async () => {
      while (performance.now() < end) await ask(attacker, make())
    })
    const answers: ReturnType<typeof read>[] = []
    await sleep(500)
    while (performance.now() < end) {
      // A key that was seen before, and one that is shown for the first time.
      answers.push(read(known), read(fresh))
      await sleep(100)
    }
    const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode)
    await Promise.all(flood)
    line.delay(0)
    assert.deepEqual(new Set(statuses), new Set([200]), String(statuses))
  })
