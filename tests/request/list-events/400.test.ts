/** Cursors and parameters that are none. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
after(() => service.close())

async function assertRefused(query: string, as = user): Promise<void> {
  const answer = await service.get(`/v1/events?${query}`, as)
  assert.equal(answer.status, 400, query)
  assert.equal(codeOf(answer), 'invalid_params')
  assert.match(answer.body.error.details.join(), new RegExp(`^${query.split('=')[0]}: `))
}

test('R42: garbled cursors are refused, and no consumer is made for them', async () => {
  const stranger = await service.createUser()
  const { next } = (await service.get('/v1/events', user)).body
  const turned = `${next.slice(0, 20)}${next[20] === 'A' ? 'B' : 'A'}${next.slice(21)}`
  const last = `${next.slice(0, -1)}${next.endsWith('A') ? 'B' : 'A'}`
  for (const cursor of ['x', turned, last, `${next}A`, next.slice(1), 'Ä', '', 'a'.repeat(200)]) {
    await assertRefused(`after=${encodeURIComponent(cursor)}`, stranger)
  }
  assert.equal(await service.app.store.consumers.count(stranger.id), 0)
})

test('R42: a cursor of another person is refused', async () => {
  const { next } = (await service.get('/v1/events', user)).body
  await assertRefused(`after=${next}`, await service.createUser())
})

for (const query of [
  'types=transactions.deleted',
  'types=',
  'types=,',
  'consumer=',
  'consumer=a%20b',
  `consumer=${'a'.repeat(65)}`,
  'wait=-1',
  'wait=1.5',
  'wait=soon',
  'limit=0',
  'limit=x',
]) {
  test(`R42: ?${query} is refused`, () => assertRefused(query))
}
