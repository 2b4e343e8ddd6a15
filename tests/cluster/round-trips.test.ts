/**
 * How often one request of a known caller goes to Redis, through either door, and in which order it is
 * refused there.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Redis } from 'ioredis'
import { modern, post, toolCall } from '#tests/support/agent.ts'
import { type Person, signUp } from '#tests/support/person.ts'
import {
  type Answer,
  type Service,
  type ServiceUser,
  startService,
} from '#tests/support/service.ts'
import { connectAgent } from '#tests/support/token.ts'
import { makeRedisServer, type RedisServer } from './redis-server.ts'

let redis: RedisServer
let service: Service
let client: Redis
let monitor: Redis
/** Every command that a client sent; not those that scripts call. */
let commands: string[] = []

before(async () => {
  redis = await makeRedisServer()
  await redis.start()
  service = await startService({
    env: {
      REDIS_URL: redis.url,
      RATE_LIMIT_CHEAP: '3',
      RATE_LIMIT_MID: '3',
      RATE_LIMIT_HEAVY: '3',
    },
  })
  client = new Redis(redis.url)
  monitor = await client.monitor()
  monitor.on('monitor', (_time: string, args: string[], source: string) => {
    if (source !== 'lua') commands.push(args.join(' '))
  })
})
beforeEach(() => {
  // No limit of an earlier test is left, and every key has to be looked up again.
  service.clock.advance(60_000)
})
after(async () => {
  monitor?.disconnect()
  client?.disconnect()
  await service?.close()
  await redis?.close()
})

/**
 * The commands about windows, places and answers that one request sent: all have names with the hash tag of a
 * user.
 */
async function tripsOf(ask: () => Promise<Answer>): Promise<{ answer: Answer; trips: number }> {
  await settle()
  commands = []
  const answer = await ask()
  await settle()
  return { answer, trips: commands.filter(isOfUser).length }
}

const isOfUser = (command: string) => /tributary:(?:window|lease|cache|cached):\{/.test(command)

/** Resolves once everything that was sent to Redis before was seen. */
async function settle(): Promise<void> {
  const mark = `mark-${Math.random()}`
  await redis.call('ECHO', mark)
  const over = Date.now() + 10_000
  while (!commands.some((command) => command.includes(mark))) {
    if (Date.now() > over) throw new Error('Redis reported nothing within ten seconds')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const remaining = ({ headers }: Answer) => Number(headers['x-ratelimit-remaining'])

async function makeReader(): Promise<{ user: ServiceUser; call: () => Promise<Answer> }> {
  const user = await service.createUser()
  return { user, call: () => post(service, toolCall('list_connections'), { as: user }) }
}

test('a cached GET of a known key goes to Redis once', async () => {
  const { user } = await makeReader()
  await service.get('/v1/connections', user)
  const { answer, trips } = await tripsOf(() => service.get('/v1/connections', user))
  assert.equal(answer.headers['x-cache'], 'HIT')
  assert.deepEqual([trips, remaining(answer)], [1, 1])
})

test('a cached call of a tool goes to Redis once, in both eras', async () => {
  const { user, call } = await makeReader()
  const later = modern('tools/call', { name: 'list_connections', arguments: {} })
  await call()
  for (const [ask, left] of [
    [call, 1],
    [() => post(service, later.payload, { as: user, headers: later.headers }), 0],
  ] as const) {
    const { answer, trips } = await tripsOf(ask)
    assert.deepEqual(answer.body.result.structuredContent, { data: [] })
    assert.deepEqual([trips, remaining(answer)], [1, left])
  }
})

test('a call that its window refuses goes to Redis once, and is refused before anything else is judged', async () => {
  const { user } = await makeReader()
  for (let count = 0; count < 3; count += 1) await service.get('/v1/holdings', user)
  const plan = {
    plan: 'developer',
    status: 'active',
    legacyUntil: null,
    grandfathered: false,
  } as const
  await service.app.store.users.setPlan(user.id, plan)
  const wrong = toolCall('list_holdings', { connectionId: 7 })
  const { answer, trips } = await tripsOf(() => post(service, wrong, { as: user }))
  assert.equal(answer.status, 429)
  assert.deepEqual([trips, remaining(answer)], [1, 0])
})

test('a call with wrong arguments goes to Redis once, and is counted', async () => {
  const { user } = await makeReader()
  await service.get('/v1/connections', user)
  const wrong = toolCall('list_holdings', { connectionId: 7 })
  const { answer, trips } = await tripsOf(() => post(service, wrong, { as: user }))
  assert.equal(answer.body.result.structuredContent.error.code, 'invalid_params')
  assert.deepEqual([trips, remaining(answer)], [1, 2])
})

test('a call beyond its plan, its scope and its arguments is counted once each time, and refused in this order', async () => {
  const person: Person = await signUp(service)
  const as = `Bearer ${(await connectAgent(service, person, { scopes: ['mcp:read'] })).accessToken}`
  const wrong = toolCall('list_holdings', { connectionId: 7 })
  const setPlan = (plan: 'developer' | 'professional') =>
    service.app.store.users.setPlan(person.id, {
      plan,
      status: 'active',
      legacyUntil: null,
      grandfathered: false,
    })
  const refusals: unknown[] = []
  for (const plan of ['developer', 'professional'] as const) {
    await setPlan(plan)
    await post(service, toolCall('list_connections'), { as })
    const { answer, trips } = await tripsOf(() => post(service, wrong, { as }))
    refusals.push([answer.body.error.code, trips, remaining(answer)])
  }
  assert.deepEqual(refusals, [
    ['professional_required', 1, 2],
    ['insufficient_scope', 1, 1],
  ])
})
