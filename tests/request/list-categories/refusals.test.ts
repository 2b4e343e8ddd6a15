import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { codeOf, type Service, specified, startService } from '#tests/support/service.ts'

let service: Service
before(async () => {
  service = await startService({ env: specified })
})
after(() => service.close())

test('401 without a key and with a wrong one', async () => {
  assert.equal(codeOf(await service.get('/v1/categories')), 'missing_authorization')
  assert.equal(codeOf(await service.get('/v1/categories', 'Bearer nonsense')), 'invalid_token')
})

test('R25: 403 without code for a plan without API access, also while the answer is warm', async () => {
  const user = await service.createUser()
  assert.equal((await service.get('/v1/categories', user)).status, 200)
  await service.app.store.users.setPlan(user.id, {
    plan: 'none',
    status: 'active',
    legacyUntil: null,
    grandfathered: false,
  })
  const answer = await service.get('/v1/categories', user)
  assert.equal(answer.status, 403)
  assert.equal(codeOf(answer), undefined)
  assert.match(answer.body.error.message, /API access requires a Developer or Professional plan/)
})

test('R7: sixty cheap requests a minute, shared by connections, accounts and categories', async () => {
  const user = await service.createUser()
  const paths = ['/v1/categories', '/v1/connections', '/v1/accounts']
  for (let count = 0; count < 60; count += 1) {
    const answer = await service.get(paths[count % 3] ?? '', user)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['x-ratelimit-remaining'], String(59 - count))
  }
  const refused = await service.get('/v1/categories', user)
  assert.equal(refused.status, 429)
  assert.equal(refused.body.error.message, 'Too many requests')
  assert.equal(codeOf(refused), undefined)
  assert.equal(refused.headers['retry-after'], '60')
  assert.equal(refused.headers['x-cache'], 'BYPASS')
  service.clock.advance(60_000)
  assert.equal((await service.get('/v1/categories', user)).status, 200)
})
