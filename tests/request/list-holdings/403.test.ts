import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { PlanRow } from '#store/ports/users.ts'
import { linkBroker, position } from '#tests/support/broker.ts'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
after(() => service.close())

const refused: readonly Partial<PlanRow>[] = [
  { plan: 'developer', status: 'active' },
  { plan: 'developer', status: 'trialing' },
  { plan: 'professional', status: 'trialing' },
]

for (const path of ['/v1/holdings', '/v1/trades']) {
  for (const plan of refused) {
    test(`R26: ${path} needs Professional, active or past due, not ${plan.status} ${plan.plan}`, async () => {
      const user = await service.createUser(plan)
      // Judged before the parameters, which are all missing.
      const answer = await service.get(path, user)
      assert.equal(answer.status, 403)
      assert.equal(codeOf(answer), 'professional_required')
      assert.equal(answer.headers['x-cache'], 'BYPASS')
      assert.equal((await service.get('/v1/accounts', user)).status, 200)
    })
  }

  test(`R25, R26: without API access ${path} is refused without code, grandfathered is no brokerage plan`, async () => {
    const none = await service.createUser({ plan: 'none' })
    assert.equal(codeOf(await service.get(path, none)), undefined)
    const old = await service.createUser({ plan: 'none', grandfathered: true })
    assert.equal(codeOf(await service.get(path, old)), 'professional_required')
  })

  test(`R26: a past-due Professional reads ${path}; after a downgrade not even from the cache`, async () => {
    const plan = { plan: 'professional', status: 'past_due' } as const
    const user = await service.createUser(plan)
    const broker = await linkBroker(service, user, [{ positions: [position()] }])
    const url = `${path}?connectionId=${broker.connection.id}`
    assert.equal((await service.get(url, user)).status, 200)
    assert.equal((await service.get(url, user)).headers['x-cache'], 'HIT')
    const row = { ...plan, plan: 'developer', legacyUntil: null, grandfathered: false } as const
    await service.app.store.users.setPlan(user.id, row)
    assert.equal(codeOf(await service.get(url, user)), 'professional_required')
  })
}

test('R26: BROKERAGE_DURING_TRIAL turns to the other reading', async () => {
  const open = await startService({ env: { BROKERAGE_DURING_TRIAL: 'true' } })
  try {
    const trialing = await open.createUser({ plan: 'professional', status: 'trialing' })
    assert.equal(codeOf(await open.get('/v1/holdings', trialing)), 'invalid_params')
    const developer = await open.createUser({ plan: 'developer', status: 'trialing' })
    assert.equal(codeOf(await open.get('/v1/holdings', developer)), 'professional_required')
  } finally {
    await open.close()
  }
})
