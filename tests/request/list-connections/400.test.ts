/** What connections and accounts cannot include (reading R40). */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
after(() => service.close())

test('400: whatever else is to be included is named', async () => {
  const user = await service.createUser()
  for (const path of ['/v1/connections', '/v1/accounts']) {
    for (const query of ['include=', 'include=Freshness', 'include=x', 'include=freshness,x']) {
      const answer = await service.get(`${path}?${query}`, user)
      assert.deepEqual([answer.status, codeOf(answer)], [400, 'invalid_params'], query)
      assert.deepEqual(answer.body.error.details, ['include: must be freshness'])
    }
    const twice = await service.get(`${path}?include=freshness&include=freshness`, user)
    assert.equal(twice.status, 400)
  }
})
