import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
after(() => service.close())

const bad = [
  'limit=0',
  'limit=-1',
  'limit=1.5',
  'limit=1e2',
  'limit=ten',
  'limit=',
  'limit=%20',
  'limit=+5',
  'limit=%D9%A3',
  'limit=0x10',
  'limit=1&limit=2',
  'limit=5&limit=5',
  'offset=-1',
  'offset=0.5',
  'offset=x',
  'offset=',
  'offset=2147483648',
  'offset=99999999999999999999',
  'offset=1&offset=1',
]

for (const query of bad) {
  test(`R11: ?${query} is refused with the name of the parameter`, async () => {
    const answer = await service.get(`/v1/accounts?${query}`, user)
    assert.equal(answer.status, 400)
    assert.equal(codeOf(answer), 'invalid_params')
    assert.equal(answer.body.error.message, 'Invalid request parameters')
    assert.equal(answer.body.error.details.length, 1)
    assert(answer.body.error.details[0].startsWith(`${query.split('=')[0]}: `))
    assert.equal(answer.headers['x-cache'], 'MISS')
  })
}

test('R11: all bad parameters are reported at once', async () => {
  const answer = await service.get('/v1/accounts?limit=0&offset=-1', user)
  assert.equal(answer.body.error.details.length, 2)
})

test('R11: unknown parameters are ignored, repeated and empty ones too', async () => {
  const answer = await service.get('/v1/accounts?page=2&page=3&cursor=&limits=0', user)
  assert.equal(answer.status, 200)
})

test('an error is never cached', async () => {
  for (let count = 0; count < 2; count += 1) {
    assert.equal((await service.get('/v1/accounts?limit=0', user)).headers['x-cache'], 'MISS')
  }
})
