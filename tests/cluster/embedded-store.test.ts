/**
 * One process with an embedded store and a Redis: nobody else reads that store, so a change of a user's rows
 * waits for no Redis, and what was read before it is not shown after it.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { request } from 'undici'
import { startService } from '#tests/support/service.ts'
import { isShared, timed, until } from './kv-stage.ts'
import { makeRedisServer } from './redis-server.ts'

async function start(t: TestContext) {
  const redis = await makeRedisServer()
  await redis.start()
  t.after(() => redis.close())
  const service = await startService({ env: { REDIS_URL: redis.url } })
  t.after(() => service.close())
  const user = await service.createUser()
  await service.link(user, 'decimals', 'fiskil')
  const list = () => service.get('/v1/accounts', user)
  const change = async (method: 'PUT' | 'DELETE', path: string, body?: object) => {
    const { statusCode, body: answer } = await request(`${service.adminUrl}/admin/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${service.adminToken}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    await answer.dump()
    assert.ok(statusCode < 300, `${path}: ${statusCode}`)
  }
  return { redis, service, user, list, change }
}

test('R10: over an embedded store a change is seen by the next request, whose answer was in Redis', async (t) => {
  const { user, list, change } = await start(t)
  assert.equal((await list()).headers['x-cache'], 'MISS')
  assert.equal((await list()).headers['x-cache'], 'HIT')
  const plan = { plan: 'professional', status: 'canceled' }
  await change('PUT', `users/${user.id}/plan`, plan)
  assert.equal((await list()).status, 403)
  await change('PUT', `users/${user.id}/plan`, { ...plan, status: 'active' })
  assert.equal((await list()).status, 200)
  await change('DELETE', `keys/${user.keyId}`)
  assert.equal((await list()).status, 401)
})

test('R10: over an embedded store a change waits for no Redis that is away, and is seen by the next request', async (t) => {
  const { redis, service, user, list, change } = await start(t)
  assert.equal((await list()).status, 200)
  await redis.kill()
  await until(() => !isShared(service.app.kv))
  assert.equal((await list()).headers['x-cache'], 'BYPASS')
  const { ms } = await timed(() => change('DELETE', `keys/${user.keyId}`))
  // A change that other processes may not have heard of takes 1.5 s longer.
  assert.ok(ms < 1400, `${ms} ms`)
  assert.equal((await list()).status, 401)
})
